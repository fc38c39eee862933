use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::Problem;
use crate::route::Route;
use crate::wire::policy::Classified;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Texts {
    texts: Vec<String>,
}

pub fn route() -> Route {
    Route::post("/v1/policies/classify", classify)
        .about("classify", "Which severity and category texts have, and by which word")
        .to(Act::Read)
        .changes_nothing()
}

async fn classify(call: Call, Json(Texts { texts }): Json<Texts>) -> Result<Reply<Vec<Classified>>, Problem> {
    let mut all = Vec::new();
    for text in &texts {
        all.push(Classified::of(text, &call.engine().classify(call.by()?, text)?));
    }
    Ok(Reply::new(all))
}
