//! Notices what others commit: the server tells, and where it did not, a look at the log finds it.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::watch as notice;
use tokio::task::AbortHandle;
use tokio_postgres::AsyncMessage;

use super::server::Server;
use super::{PATIENCE, Pause};
use crate::StoreError;

/// How long a commit may go unseen whose notice was lost.
const UNSEEN_MAX: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Watcher(AbortHandle);

impl Watcher {
    /// Counts foreign commits in `changed` until it is dropped. Whatever is committed after this returns
    /// is counted.
    pub fn start(server: &Arc<Server>, changed: notice::Sender<u64>) -> Result<Watcher, StoreError> {
        let (ready, readied) = mpsc::channel();
        let own = Arc::clone(server);
        let listening = server.runtime().spawn(async move {
            let mut ready = Some(ready);
            let mut pause = Pause::default();
            loop {
                match listen(&own, &changed, &mut ready).await {
                    // Nobody knows what happened meanwhile.
                    Ok(()) => {
                        changed.send_modify(|count| *count += 1);
                        pause = Pause::default();
                    }
                    Err(error) if ready.is_some() && !matches!(error, StoreError::Unreachable { .. }) => {
                        if let Some(ready) = ready.take() {
                            let _ = ready.send(Err(error));
                        }
                        return;
                    }
                    Err(_) => {}
                }
                tokio::time::sleep(pause.next()).await;
            }
        });
        let watcher = Watcher(listening.abort_handle());
        match readied.recv_timeout(PATIENCE) {
            Ok(Ok(())) => Ok(watcher),
            Ok(Err(error)) => Err(error),
            Err(_) => {
                let reason = "it does not answer".to_owned();
                Err(StoreError::Unreachable { address: server.address().to_string(), reason })
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Listens until the connection ends.
async fn listen(
    server: &Server,
    changed: &notice::Sender<u64>,
    ready: &mut Option<mpsc::Sender<Result<(), StoreError>>>,
) -> Result<(), StoreError> {
    let (client, mut connection) = server.connect().await?;
    let (own, told) = (server.instance.clone(), changed.clone());
    let carrying = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message
                && notification.payload() != own
            {
                told.send_modify(|count| *count += 1);
            }
        }
    });
    let lost = |error: tokio_postgres::Error| super::session::explain(&error, &server.address().to_string());
    client.batch_execute(&format!("LISTEN {}", server.channel())).await.map_err(lost)?;
    let last = async || -> Result<i64, StoreError> {
        let row = client.query_one("SELECT coalesce(max(position), 0) FROM events", &[]).await;
        row.and_then(|row| row.try_get(0)).map_err(lost)
    };
    let mut seen = last().await?;
    match ready.take() {
        Some(ready) => drop(ready.send(Ok(()))),
        // After a time without a connection.
        None => changed.send_modify(|count| *count += 1),
    }
    while !carrying.is_finished() {
        tokio::time::sleep(UNSEEN_MAX).await;
        let Ok(now) = last().await else { break };
        // Whatever else was counted meanwhile may have been another commit than the one whose notice was lost.
        if now != seen {
            changed.send_modify(|count| *count += 1);
        }
        seen = now;
    }
    carrying.abort();
    Ok(())
}
