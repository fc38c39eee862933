//! Says to a shared store, and to what runs attempts, that this worker is there.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Instant;

use checkrein_store::block_on;

use super::{GIVE_UP_AFTER, Inner, RENEW_EVERY, TERM};

/// Ends with what it keeps.
pub(super) struct Keeper {
    _threads: [Sender<()>; 2],
}

impl Keeper {
    pub fn start(inner: &Arc<Inner>) -> Keeper {
        // One of its own: a store that is away keeps the other one waiting.
        Keeper { _threads: [every("checkrein-renew", inner, renew), every("checkrein-beat", inner, beat)] }
    }
}

/// Does something as long as the leases are there.
fn every(name: &str, inner: &Arc<Inner>, work: fn(&Inner)) -> Sender<()> {
    let (running, ended) = mpsc::channel::<()>();
    let inner: Weak<Inner> = Arc::downgrade(inner);
    let keep = move || {
        while ended.recv_timeout(RENEW_EVERY) == Err(RecvTimeoutError::Timeout) {
            let Some(inner) = inner.upgrade() else { return };
            work(&inner);
        }
    };
    // Without a thread every lease runs out, which is safe.
    let _ = thread::Builder::new().name(name.to_owned()).spawn(keep);
    running
}

fn renew(inner: &Inner) {
    let asked = Instant::now();
    let known: Vec<_> = inner.entries().iter().map(|(run, entry)| (run.clone(), entry.epoch)).collect();
    let Ok(answer) = block_on(inner.store.renew_leases(inner.worker.clone(), known.clone(), TERM)) else {
        return;
    };
    let mut entries = inner.entries();
    for (run, epoch) in known {
        // What was given back or taken anew meanwhile is looked at the next time.
        let Some(entry) = entries.get_mut(&run).filter(|entry| entry.epoch == epoch) else { continue };
        let of_ours = |list: &[(checkrein_core::run::RunId, u64)]| {
            list.iter().any(|(held, of)| *held == run && *of == epoch)
        };
        if !of_ours(&answer.held) {
            entry.state.send_modify(|fresh| fresh.lost = true);
            // Nobody says any more that it may go on.
            entry.pulses.iter().for_each(|pulse| pulse.beat(std::time::Duration::ZERO));
            entry.pulses.clear();
        } else if of_ours(&answer.renewed) && !entry.pinned {
            entry.state.send_modify(|fresh| fresh.until = Some(asked + GIVE_UP_AFTER));
            let left = GIVE_UP_AFTER.saturating_sub(asked.elapsed());
            entry.pulses.iter().for_each(|pulse| pulse.beat(left));
        }
    }
}

/// Where only this host can go on with a run, it is enough that this process is alive.
fn beat(inner: &Inner) {
    let entries = inner.entries();
    for entry in entries.values().filter(|entry| entry.pinned && !entry.state.borrow().lost) {
        entry.pulses.iter().for_each(|pulse| pulse.beat(GIVE_UP_AFTER));
    }
}
