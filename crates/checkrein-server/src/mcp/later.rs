//! A store that is not there when a client connects. Looking at tools makes none; the first call that changes
//! something does (R14).

use std::sync::{Arc, Mutex, PoisonError};

use checkrein_engine::Engine;

use super::tool::Effect;
use crate::error::{Kind, Problem};

type OpenEngine = dyn Fn(Effect) -> Result<Option<Engine>, String> + Send + Sync;

/// Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct LaterStore {
    open: Arc<OpenEngine>,
    opened: Arc<Mutex<Option<Arc<Engine>>>>,
}

impl LaterStore {
    /// `open` says what there is now, and for a change makes it.
    pub fn new(
        open: impl Fn(Effect) -> Result<Option<Engine>, String> + Send + Sync + 'static,
    ) -> LaterStore {
        LaterStore { open: Arc::new(open), opened: Arc::default() }
    }

    pub(super) fn opened(&self) -> Option<Arc<Engine>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has the store ready for a call, where it is there or has to be.
    pub(super) fn open(&self, effect: Effect) -> Result<(), Problem> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.is_none() {
            let engine = (self.open)(effect).map_err(|reason| Problem::new(Kind::Unavailable, reason))?;
            *opened = engine.map(Arc::new);
        }
        Ok(())
    }
}
