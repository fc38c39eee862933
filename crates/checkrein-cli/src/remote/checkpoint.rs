use std::time::{Duration, Instant};

use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_engine::NewCheckpoint;
use checkrein_server::wire::checkpoint::{Checkpoint, CheckpointRequest, WholeCheckpoint};

use super::Remote;
use crate::error::CliError;

/// How long one request waits; the server ends it at a minute.
const WAIT: Duration = Duration::from_secs(30);

impl Remote {
    pub fn create_checkpoint(&self, new: NewCheckpoint) -> Result<Checkpoint, CliError> {
        self.post(&["checkpoints"], &CheckpointRequest::from(new))
    }

    pub fn checkpoint(&self, id: &str) -> Result<WholeCheckpoint, CliError> {
        self.get(&["checkpoints", id], &[])
    }

    /// Waits until it is settled, for whoever does something else meanwhile.
    pub async fn settled_checkpoint(&self, id: &str) -> Result<Checkpoint, CliError> {
        let query = [("timeout", format!("{}ms", WAIT.as_millis()))];
        loop {
            match self.get_async::<WholeCheckpoint>(&["checkpoints", id, "wait"], &query).await {
                Ok(seen) if seen.checkpoint.status != CheckpointStatus::Pending => return Ok(seen.checkpoint),
                Ok(_) => {}
                Err(error) if error.is_unreachable() => tokio::time::sleep(AWAY).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits as long as wanted, request by request. A server that is away for a moment is asked again.
    pub fn wait_for_checkpoint(
        &self,
        id: &str,
        timeout: Option<Duration>,
    ) -> Result<WholeCheckpoint, CliError> {
        let begun = Instant::now();
        let mut seen = self.checkpoint(id)?;
        let mut away = 0;
        loop {
            let left = timeout.map(|timeout| timeout.saturating_sub(begun.elapsed()));
            if seen.checkpoint.status != CheckpointStatus::Pending || left.is_some_and(|left| left.is_zero())
            {
                return Ok(seen);
            }
            let part = left.map_or(WAIT, |left| left.min(WAIT));
            let query = [("timeout", format!("{}ms", part.as_millis()))];
            match self.get(&["checkpoints", id, "wait"], &query) {
                Ok(now) => (seen, away) = (now, 0),
                Err(error) if error.is_unreachable() && away < AWAY_MAX => {
                    away += 1;
                    std::thread::sleep(Duration::from_secs(away).min(part));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// How long a server that cannot be reached is left alone.
const AWAY: Duration = Duration::from_secs(5);

/// How often in a row a server that cannot be reached is asked again: about a minute.
const AWAY_MAX: u64 = 10;
