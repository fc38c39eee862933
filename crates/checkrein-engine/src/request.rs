//! Requests that carry a key, so that sending one again does nothing again (`Idempotency-Key`).
//!
//! The key is taken before anything is done, and the answer is kept after it. Whoever dies in between
//! leaves a key without an answer; the request is then done again, which makes nothing new: ids of new
//! things are made of what was noted with the key, and everything else may be done twice.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use checkrein_core::deliverable::Digest;
use checkrein_core::principal::Principal;
use checkrein_store::{KeptAnswer, KeyedRequest};
use jiff::Timestamp;
use uuid::Uuid;

use crate::{Engine, EngineError};

/// How long an answer is given again.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// What ids of new things are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce {
    pub at: Timestamp,
    pub bytes: [u8; 16],
}

impl Nonce {
    pub(crate) fn new(at: Timestamp) -> Nonce {
        Nonce { at, bytes: *Uuid::new_v4().as_bytes() }
    }

    pub fn uuid(self) -> Uuid {
        uuid::Builder::from_random_bytes(self.bytes).into_uuid()
    }
}

/// Where a request with a key stands.
pub enum Begun<'e> {
    /// It is to be done.
    Now(UnderWay<'e>),
    /// It is being done right now.
    Already,
    /// The key stands for another request.
    Otherwise,
    Answered(KeptAnswer),
}

/// A request with a key that is being done.
pub struct UnderWay<'e> {
    engine: &'e Engine,
    by: String,
    key: String,
    pub nonce: Nonce,
}

/// What this engine is doing under a key.
pub(crate) type Requests = Mutex<HashSet<(String, String)>>;

impl Engine {
    /// Takes a key for a request; `digest` is of everything that makes it the same one.
    pub async fn begin_request(
        &self,
        by: &Principal,
        key: &str,
        digest: Digest,
    ) -> Result<Begun<'_>, EngineError> {
        // Two tokens of one name are two programs, and know nothing of each other's keys.
        let whose = by.token.as_ref().map_or_else(|| by.name.clone(), |token| format!("token {token}"));
        let pair = (whose, key.to_owned());
        if !self.requests.lock().unwrap_or_else(PoisonError::into_inner).insert(pair.clone()) {
            return Ok(Begun::Already);
        }
        let now = self.now();
        let (by, key) = pair;
        let nonce = Nonce::new(now);
        let mut under_way = UnderWay { engine: self, by, key, nonce };
        let request = KeyedRequest {
            by: under_way.by.clone(),
            key: under_way.key.clone(),
            digest,
            nonce: nonce.bytes,
            at: now,
        };
        let old_before = now.checked_sub(KEPT).unwrap_or(Timestamp::MIN);
        Ok(match self.store.begin_request(request, old_before).await? {
            None => Begun::Now(under_way),
            Some(known) if known.request.digest != digest => Begun::Otherwise,
            Some(known) => match known.answer {
                Some(answer) => Begun::Answered(answer),
                // Whoever began it is gone.
                None => {
                    under_way.nonce = Nonce { at: known.request.at, bytes: known.request.nonce };
                    Begun::Now(under_way)
                }
            },
        })
    }
}

impl UnderWay<'_> {
    /// Keeps the answer, to give it again.
    pub async fn answered(self, answer: KeptAnswer) -> Result<(), EngineError> {
        Ok(self.engine.store.finish_request(self.by.clone(), self.key.clone(), answer).await?)
    }

    /// Nothing was done; the key is free again.
    pub async fn refused(self) -> Result<(), EngineError> {
        Ok(self.engine.store.forget_request(self.by.clone(), self.key.clone()).await?)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let pair = (std::mem::take(&mut self.by), std::mem::take(&mut self.key));
        self.engine.requests.lock().unwrap_or_else(PoisonError::into_inner).remove(&pair);
    }
}
