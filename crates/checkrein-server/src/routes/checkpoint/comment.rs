use checkrein_core::run::job::NewComment;
use checkrein_engine::Act;

use crate::answer::Created;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::review::{Comment, CommentBody};

pub fn route() -> Route {
    Route::post("/v1/checkpoints/{id}/comments", create)
        .about(
            "comment",
            "Comment on a line, a file or the whole of a review that is open, or reply; the agent gets it with the next request for changes or phase",
        )
        .to(Act::Reply)
        .more(&[("without `reply_to`", Act::Comment)])
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::AlreadyDecided, Kind::PreconditionFailed])
}

async fn create(call: Call, Json(body): Json<CommentBody>) -> Result<Created<Comment>, Problem> {
    let mut new = NewComment::try_from(body).map_err(|bad| Problem::new(Kind::Invalid, bad.to_string()))?;
    new.key = call.nonce().map(|nonce| nonce.uuid().to_string());
    let comment = call.engine().comment(call.by()?, call.path("id"), new, call.if_match()?).await?;
    Ok(Created::new(Comment::from(&comment)))
}
