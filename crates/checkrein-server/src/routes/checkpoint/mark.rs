use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::review::MarkWord;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileMarked {
    /// One that changed in the review
    file: String,
    mark: MarkWord,
    /// The commit that was looked at; refused if the file is another one by now
    #[serde(default, skip_serializing_if = "Option::is_none")]
    head: Option<String>,
}

pub fn route() -> Route {
    Route::post("/v1/checkpoints/{id}/files", mark)
        .about(
            "markFile",
            "Say of one file of a review that it is fine, or that it wants changes; approving then has to be confirmed",
        )
        .to(Act::GiveVerdict)
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::AlreadyDecided, Kind::StaleHead, Kind::PreconditionFailed])
}

async fn mark(call: Call, Json(asked): Json<FileMarked>) -> Result<Reply<FileMarked>, Problem> {
    let (id, expected) = (call.path("id"), call.if_match()?);
    let (mark, head) = (asked.mark.into(), asked.head.as_deref());
    call.engine().mark_file(call.by()?, id, &asked.file, mark, head, expected).await?;
    Ok(Reply::new(asked))
}
