use checkrein_engine::{Act, Edit};

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::file::{EditBody, Edited};

pub fn route() -> Route {
    Route::post("/v1/checkpoints/{id}/edits", edit)
        .about(
            "editFiles",
            "Write, create or delete files on the branch of a review that is open, as one commit in your name",
        )
        .to(Act::PushToBranches)
        .refuses(&[Kind::NotFound, Kind::RunRefused, Kind::AlreadyDecided, Kind::StaleHead])
}

async fn edit(call: Call, Json(body): Json<EditBody>) -> Result<Reply<Edited>, Problem> {
    let edit = Edit::try_from(body).map_err(|bad| Problem::new(Kind::Invalid, bad.to_string()))?;
    let edited = call.engine().edit_files(call.by()?, call.path("id"), &edit).await?;
    Ok(Reply::new(Edited::from(&edited)))
}
