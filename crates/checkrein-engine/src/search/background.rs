//! Texts become vectors beside everything else: on a thread that begins when there is something to read, leaves a
//! core free, and ends with its engine.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use checkrein_search::Embedder;
use checkrein_store::{IndexPlace, NewVector};

use crate::EngineError;

/// A command that ends at once has better things to do.
const BEGIN_AFTER: Duration = Duration::from_millis(500);
/// What becomes durable together.
const TEXTS_AT_ONCE: usize = 96;

pub(super) struct Background {
    shared: Arc<Shared>,
    embedder: Embedder,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    woken: Condvar,
}

#[derive(Default)]
struct Waiting {
    indexes: VecDeque<IndexPlace>,
    stop: bool,
}

impl Background {
    pub fn new(embedder: Embedder) -> Background {
        Background { shared: Arc::default(), embedder, thread: Mutex::default() }
    }

    /// Has an index read; asking twice is asking once.
    pub fn ask(&self, index: IndexPlace) {
        let mut waiting = self.shared.lock();
        if waiting.stop || waiting.indexes.iter().any(|known| known.job() == index.job()) {
            return;
        }
        waiting.indexes.push_back(index);
        drop(waiting);
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let (shared, embedder) = (Arc::clone(&self.shared), self.embedder.clone());
            let work = move || work(&shared, &embedder);
            // Without it texts are read when somebody searches.
            *thread = std::thread::Builder::new().name("checkrein-reads".to_owned()).spawn(work).ok();
        }
        self.shared.woken.notify_all();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.woken.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next index, none at the end.
    fn next(&self) -> Option<IndexPlace> {
        let mut waiting = self.lock();
        loop {
            if waiting.stop {
                return None;
            }
            if !waiting.indexes.is_empty() {
                break;
            }
            waiting = self.woken.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        let (mut waiting, _) = self
            .woken
            .wait_timeout_while(waiting, BEGIN_AFTER, |waiting| !waiting.stop)
            .unwrap_or_else(PoisonError::into_inner);
        if waiting.stop { None } else { waiting.indexes.pop_front() }
    }
}

fn work(shared: &Shared, embedder: &Embedder) {
    while let Some(index) = shared.next() {
        // What cannot be read now is read when somebody searches, who is then told why.
        let _ = read(&index, embedder, &mut || !shared.lock().stop);
    }
}

/// Makes vectors of what has none as long as it may; how many are left.
pub(super) fn read(
    place: &IndexPlace,
    embedder: &Embedder,
    may: &mut dyn FnMut() -> bool,
) -> Result<u64, EngineError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| EngineError::Embedding(error.to_string()))?;
    let (model, threads) = (embedder.name(), checkrein_search::threads());
    while may() {
        // Opened anew each time: it may have been taken away.
        let Some(index) = place.open_existing()? else { return Ok(0) };
        let missing = index.missing(&model, TEXTS_AT_ONCE)?;
        drop(index);
        if missing.is_empty() {
            return Ok(0);
        }
        let texts: Vec<&str> = missing.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = runtime.block_on(embedder.embed(&texts, threads));
        let vectors = vectors.map_err(|error| EngineError::Embedding(error.to_string()))?;
        let rows: Vec<NewVector> = missing
            .iter()
            .zip(vectors)
            .map(|((digest, _), vector)| NewVector {
                digest: *digest,
                bytes: vector.to_bytes(),
                numbers: vector.numbers().collect(),
            })
            .collect();
        let Some(mut index) = place.open_existing()? else { return Ok(0) };
        index.put_vectors(&model, &rows)?;
    }
    let left = place.open_existing()?.map(|index| index.state(&model)).transpose()?.flatten();
    Ok(left.map_or(0, |state| state.missing))
}
