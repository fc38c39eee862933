//! Vectors of the workspaces that were searched last, in memory.

use std::sync::{Arc, Mutex, PoisonError};

use checkrein_core::run::RunId;
use checkrein_search::Vector;
use checkrein_store::SearchIndex;

use crate::EngineError;

/// Four workspaces of 10,000 chunks take 16 MB.
const KEPT_MAX: usize = 4;

#[derive(Default)]
pub(super) struct Warm(Mutex<Vec<Kept>>);

struct Kept {
    run: RunId,
    /// An index that was taken away and made again is another one.
    identity: (u64, u64),
    generation: u64,
    model: String,
    vectors: Arc<Vec<Known>>,
}

pub(super) struct Known {
    pub chunk: i64,
    pub file: i64,
    pub vector: Vector,
}

impl Warm {
    pub fn vectors(
        &self,
        run: &RunId,
        index: &SearchIndex,
        model: &str,
    ) -> Result<Arc<Vec<Known>>, EngineError> {
        let (identity, generation) = (index.identity()?, index.generation()?);
        let same = |kept: &&Kept| {
            kept.run == *run
                && kept.identity == identity
                && kept.generation == generation
                && kept.model == model
        };
        if let Some(kept) = self.lock().iter().find(same) {
            return Ok(Arc::clone(&kept.vectors));
        }
        let known = index.vectors(model)?.into_iter().filter_map(|row| {
            Vector::from_bytes(&row.vector).map(|vector| Known { chunk: row.chunk, file: row.file, vector })
        });
        let vectors = Arc::new(known.collect::<Vec<_>>());
        let mut all = self.lock();
        all.retain(|kept| kept.run != *run);
        all.truncate(KEPT_MAX - 1);
        let (model, kept) = (model.to_owned(), Arc::clone(&vectors));
        all.insert(0, Kept { run: run.clone(), identity, generation, model, vectors: kept });
        Ok(vectors)
    }

    pub fn forget(&self, run: &RunId) {
        self.lock().retain(|kept| kept.run != *run);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
