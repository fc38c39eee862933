//! What is known of the workspaces that were searched last, in memory: counting and reading it anew would take longer
//! than the search.

use std::sync::{Arc, Mutex, PoisonError};

use checkrein_core::run::RunId;
use checkrein_search::Vector;
use checkrein_store::{IndexState, SearchIndex};

use crate::EngineError;

/// Four workspaces of 10,000 chunks take 16 MB.
const KEPT_MAX: usize = 4;

#[derive(Default)]
pub(super) struct Warm(Mutex<Vec<Kept>>);

struct Kept {
    key: Key,
    state: Option<Arc<IndexState>>,
    vectors: Option<Arc<Vec<Known>>>,
}

/// One that is the same knows the same.
#[derive(Clone, PartialEq)]
struct Key {
    run: RunId,
    /// An index that was taken away and made again is another one.
    identity: (u64, u64),
    generation: u64,
    model: String,
}

pub(super) struct Known {
    pub chunk: i64,
    pub file: i64,
    pub vector: Vector,
}

impl Warm {
    /// What an index is of; none before anything was put there.
    pub fn state(
        &self,
        run: &RunId,
        index: &SearchIndex,
        model: &str,
    ) -> Result<Option<Arc<IndexState>>, EngineError> {
        let key = Key::of(run, index, model)?;
        if let Some(known) = self.known(&key, |kept| kept.state.clone()) {
            return Ok(Some(known));
        }
        let Some(state) = index.state(model)?.map(Arc::new) else { return Ok(None) };
        self.keep(key, |kept| kept.state = Some(Arc::clone(&state)));
        Ok(Some(state))
    }

    pub fn vectors(
        &self,
        run: &RunId,
        index: &SearchIndex,
        model: &str,
    ) -> Result<Arc<Vec<Known>>, EngineError> {
        let key = Key::of(run, index, model)?;
        if let Some(known) = self.known(&key, |kept| kept.vectors.clone()) {
            return Ok(known);
        }
        let known = index.vectors(model)?.into_iter().filter_map(|row| {
            Vector::from_bytes(&row.vector).map(|vector| Known { chunk: row.chunk, file: row.file, vector })
        });
        let vectors = Arc::new(known.collect::<Vec<_>>());
        self.keep(key, |kept| kept.vectors = Some(Arc::clone(&vectors)));
        Ok(vectors)
    }

    pub fn forget(&self, run: &RunId) {
        self.lock().retain(|kept| kept.key.run != *run);
    }

    fn known<T>(&self, key: &Key, what: impl Fn(&Kept) -> Option<T>) -> Option<T> {
        self.lock().iter().find(|kept| kept.key == *key).and_then(what)
    }

    /// What was known of an older state of the same workspace is forgotten.
    fn keep(&self, key: Key, put: impl FnOnce(&mut Kept)) {
        let mut all = self.lock();
        let place = all.iter().position(|kept| kept.key == key);
        let mut kept = match place {
            Some(place) => all.remove(place),
            None => Kept { key, state: None, vectors: None },
        };
        put(&mut kept);
        all.retain(|other| other.key.run != kept.key.run);
        all.truncate(KEPT_MAX - 1);
        all.insert(0, kept);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Key {
    /// The generation is read first: what is read after it may be newer, and is then not taken for it again.
    fn of(run: &RunId, index: &SearchIndex, model: &str) -> Result<Key, EngineError> {
        let generation = index.generation()?;
        Ok(Key { run: run.clone(), identity: index.identity()?, generation, model: model.to_owned() })
    }
}
