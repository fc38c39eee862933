//! Telling the person at the client that something waits. What comes back is their client's word, which an
//! agent can forge: it never decides anything, it only says that somebody was told.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequiredResult, ProtocolVersion, ServerRequest,
};
use rmcp::service::PeerRequestOptions;
use serde::Serialize;

use super::asking::Asking;

/// Whether the person at the client was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    Accepted,
    Declined,
    Cancelled,
    /// Nobody answered, or the client cannot ask.
    NoAnswer,
}

impl From<ElicitationAction> for Notice {
    fn from(action: ElicitationAction) -> Notice {
        match action {
            ElicitationAction::Accept => Notice::Accepted,
            ElicitationAction::Decline => Notice::Declined,
            ElicitationAction::Cancel => Notice::Cancelled,
            _ => Notice::NoAnswer,
        }
    }
}

/// How it goes on.
pub enum Telling {
    Told(Notice),
    /// The client asks the person and calls again, with this as its state.
    Ask(Box<InputRequiredResult>),
}

const KEY: &str = "waits";
/// Clients give up on a call after a minute.
const PATIENCE: Duration = Duration::from_secs(45);

/// Tells the person at the client, where it can.
pub async fn tell(asking: &Asking, id: &str, message: String, link: Option<String>) -> Telling {
    if let Some(answers) = &asking.request.input_responses {
        let answer = answers.get(KEY).cloned();
        let answer = answer.and_then(|answer| serde_json::from_value::<ElicitResult>(answer).ok());
        return Telling::Told(answer.map_or(Notice::NoAnswer, |answer| answer.action.into()));
    }
    let capabilities = asking.context.client_capabilities();
    let Some(can) = capabilities.and_then(|capabilities| capabilities.elicitation) else {
        return Telling::Told(Notice::NoAnswer);
    };
    // Without a word about it, a client shows messages; one that only opens addresses needs one.
    let request = match (can.form.is_some() || can.url.is_none(), link) {
        (true, _) => ElicitRequestParams::FormElicitationParams {
            meta: None,
            message,
            requested_schema: ElicitationSchema::new(BTreeMap::new()),
        },
        (false, Some(url)) => ElicitRequestParams::UrlElicitationParams {
            meta: None,
            message,
            url,
            elicitation_id: id.to_owned(),
        },
        (false, None) => return Telling::Told(Notice::NoAnswer),
    };
    let request = ElicitRequest::new(request);
    let newest = asking.context.protocol_version();
    if newest.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()) {
        let requests = BTreeMap::from([(KEY.to_owned(), InputRequest::Elicitation(request))]);
        return Telling::Ask(Box::new(InputRequiredResult::new(Some(requests), Some(id.to_owned()))));
    }
    let options = PeerRequestOptions::with_timeout(PATIENCE);
    let asked = asking.context.peer.send_request_with_option(ServerRequest::ElicitRequest(request), options);
    let answer = match asked.await {
        Ok(handle) => handle.await_response().await.ok(),
        Err(_) => None,
    };
    Telling::Told(match answer {
        Some(ClientResult::ElicitResult(answer)) => answer.action.into(),
        _ => Notice::NoAnswer,
    })
}
