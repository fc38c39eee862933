use checkrein_engine::Act;

use crate::answer::Written;
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

pub fn route() -> Route {
    Route::get("/metrics", metrics).about("metrics", "What the server does, for Prometheus").to(Act::Read)
}

async fn metrics(call: Call, _: Nothing) -> Result<Written, Problem> {
    let pending = call.engine().count_pending(call.by()?).await?;
    let text = call.app.metrics().written(pending);
    let text = text.ok_or_else(|| Problem::new(Kind::Internal, "the metrics cannot be written"))?;
    Ok(Written { media_type: "application/openmetrics-text; version=1.0.0; charset=utf-8", text })
}
