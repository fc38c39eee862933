//! What was said here shows in the forge, once: each text carries a key, and one that is there is not written.

use std::collections::HashSet;

use checkrein_core::run::RunEvent;
use checkrein_core::run::job::{Comment, ForgeNews, Pull};
use checkrein_forge::{NewRemark, Remark, key_of, marked};

use super::LookError;
use super::connect::Connected;
use crate::run::RunView;

/// Writes what is not there yet: comments of people and replies of the agent, then verdicts.
pub(super) async fn tell(
    view: &RunView,
    connected: &Connected,
    pull: &Pull,
    remarks: &[Remark],
) -> Result<(), LookError> {
    let Some((_, job)) = view.run.job() else { return Ok(()) };
    let ours = remarks.iter().filter(|remark| remark.by.eq_ignore_ascii_case(&connected.login));
    let there: HashSet<&str> = ours.clone().filter_map(|remark| key_of(&remark.body)).collect();
    let head = job.phase.work.as_ref().map(|work| work.head.as_str()).unwrap_or_default();
    for comment in &job.comments {
        let key = format!("{}/{}", view.run.id, comment.id);
        if comment.origin.is_some() || comment.phase != pull.phase || there.contains(key.as_str()) {
            continue;
        }
        let body = marked(&words(comment, &job.comments), &key);
        let above = comment.reply_to.as_ref().and_then(|id| job.comments.iter().find(|one| one.id == *id));
        let above = above.and_then(|above| {
            let own = format!("{}/{}", view.run.id, above.id);
            let by_key =
                || ours.clone().find(|one| key_of(&one.body) == Some(&own)).map(|one| one.id.clone());
            // What was said in a pull request that was closed is answered in words alone.
            let here = |id: &String| remarks.iter().any(|one| one.id == *id);
            above.origin.clone().or_else(by_key).filter(here)
        });
        let at = comment.file.as_deref().zip(comment.line).map(|(file, line)| (file, line, head));
        let new = NewRemark { body: &body, at, reply_to: above.as_deref() };
        connected.remote.remark(pull.number, &new).await?;
    }
    for (key, text) in verdicts(view, pull) {
        if !there.contains(key.as_str()) {
            let body = marked(&text, &key);
            connected
                .remote
                .remark(pull.number, &NewRemark { body: &body, at: None, reply_to: None })
                .await?;
        }
    }
    Ok(())
}

/// Who wrote it, and where, for whoever reads it there.
fn words(comment: &Comment, all: &[Comment]) -> String {
    let by = if comment.from_agent { "The agent".to_owned() } else { comment.by.clone() };
    let above = comment.reply_to.as_ref().and_then(|id| all.iter().find(|one| one.id == *id));
    let quoted = above.map(|above| {
        let text = above.text.lines().map(|line| format!("> {line}\n")).collect::<String>();
        format!("> **{}** wrote:\n{text}\n", above.by)
    });
    let place = match (&comment.file, comment.line) {
        (Some(file), Some(line)) => format!(" on `{file}` line {line}"),
        (Some(file), None) => format!(" on `{file}`"),
        (None, _) => String::new(),
    };
    format!("{}**{by}**{place}:\n\n{}", quoted.unwrap_or_default(), comment.text)
}

/// Verdicts on this pull request that were given here. One that was given in the forge is recorded together
/// with what was heard, right before it.
fn verdicts(view: &RunView, pull: &Pull) -> Vec<(String, String)> {
    let mut told = Vec::new();
    let (mut open, mut heard, mut round) = (false, false, 0);
    for (_, _, event) in &view.history {
        match event {
            RunEvent::Forge(news) => match &**news {
                ForgeNews::PullOpened { pull: opened } => open = opened.number == pull.number,
                ForgeNews::Heard { .. } => {
                    heard = true;
                    continue;
                }
                _ => {}
            },
            RunEvent::RunHeld { round: now, .. } => round = *now,
            RunEvent::HoldReleased { by, .. } if open && !heard => {
                told.push((format!("approved-{round}"), format!("**{by}** approved this in Checkrein.")));
            }
            RunEvent::ChangesRequested { by, reason, start_over: false, .. } if open && !heard => {
                let why = reason.as_deref().unwrap_or("see the comments");
                let text = format!("**{by}** requested changes in Checkrein:\n\n{why}");
                told.push((format!("changes-{round}"), text));
            }
            RunEvent::PhaseEnded { .. } => open = false,
            _ => {}
        }
        heard = false;
    }
    told.into_iter().map(|(key, text)| (format!("{}/{key}-{}", view.run.id, pull.number), text)).collect()
}
