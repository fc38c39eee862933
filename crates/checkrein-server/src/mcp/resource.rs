//! What a client may read: the tree of each session, and the log of each frame.

use checkrein_core::frame::tree_text;
use checkrein_core::principal::Principal;
use checkrein_engine::SessionWanted;
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceTemplate};

use super::Place;
use crate::error::Problem;

const SCHEME: &str = "checkrein://frames/";
const LOG: &str = "/log";
/// More sessions are read by their address.
const SESSIONS_MAX: usize = 20;
const LOGS_MAX: usize = 200;

pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{SCHEME}{{session}}"), "tree")
            .with_mime_type("text/plain")
            .with_description("The tree of frames of a session"),
        ResourceTemplate::new(format!("{SCHEME}{{session}}/{{frame}}{LOG}"), "log")
            .with_mime_type("text/plain")
            .with_description("The full log of a frame"),
    ]
}

/// The trees of the latest sessions, and the logs of the newest.
pub async fn all(place: &Place, by: &Principal) -> Result<Vec<Resource>, ErrorData> {
    let Some(engine) = &place.engine else { return Ok(Vec::new()) };
    let refused = |error| failed(&Problem::from(error));
    let directory = place.directory.as_deref();
    let sessions = engine.frame_sessions(by, directory, None, SESSIONS_MAX).await.map_err(refused)?.items;
    let mut resources = Vec::new();
    for item in &sessions {
        let goal = item.goal.clone().unwrap_or_else(|| "no frames yet".to_owned());
        let tree = Resource::new(format!("{SCHEME}{}", item.id), format!("tree of {}", item.id));
        resources.push(tree.with_description(goal).with_mime_type("text/plain"));
    }
    if let Some(newest) = sessions.first() {
        let wanted = SessionWanted { id: Some(newest.id.clone()), directory: None };
        let stored = engine.frame_session(by, &wanted).await.map_err(refused)?;
        let logged = stored.session.tree.frames().rev().filter(|frame| frame.log_path.is_some());
        for frame in logged.take(LOGS_MAX) {
            let log = Resource::new(
                format!("{SCHEME}{}/{}{LOG}", newest.id, frame.id),
                format!("log of {}", frame.id),
            );
            resources.push(log.with_description(frame.goal.clone()).with_mime_type("text/plain"));
        }
    }
    Ok(resources)
}

/// The text of a resource, and its kind.
pub async fn read(place: &Place, by: &Principal, uri: &str) -> Result<(String, &'static str), ErrorData> {
    let none = || ErrorData::resource_not_found(format!("there is no resource `{uri}`"), None);
    let (Some(engine), Some(rest)) = (&place.engine, uri.strip_prefix(SCHEME)) else { return Err(none()) };
    let refused = |error| failed(&Problem::from(error));
    let wanted = |id: &str| SessionWanted { id: Some(id.to_owned()), directory: None };
    match rest.split_once('/') {
        None => {
            let stored = engine.frame_session(by, &wanted(rest)).await.map_err(refused)?;
            Ok((tree_text(&stored.session.tree), "text/plain"))
        }
        Some((session, frame)) => {
            let frame = frame.strip_suffix(LOG).ok_or_else(none)?;
            let text = engine.frame_log(by, &wanted(session), Some(frame)).await.map_err(refused)?;
            Ok((text, "text/plain"))
        }
    }
}

fn failed(problem: &Problem) -> ErrorData {
    ErrorData::invalid_params(problem.detail.clone(), None)
}
