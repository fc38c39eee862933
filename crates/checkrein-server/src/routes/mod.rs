//! The one list of routes. A verb of a noun is a file, and so is its test.

pub mod chat;
mod checkpoint;
mod event;
mod expert;
mod forge;
mod frame;
mod git;
pub mod job;
mod policy;
mod proposal;
pub mod run;
pub mod session;
mod suggestion;
mod system;
pub mod token;
mod verdict;
pub mod webhook;
mod worker;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, any, on};

use crate::app::App;
use crate::call;
use crate::cockpit;
use crate::door;
use crate::error::{Kind, Problem};
use crate::mcp::http::{self, Endpoint};
use crate::route::Route;
pub use checkpoint::list::Wanted as CheckpointsWanted;
pub use checkpoint::page as checkpoint_page;
pub use policy::Asked as PolicyAsked;
pub use policy::decide::{Asked as DecisionAsked, Decision};
pub use run::list::Wanted as RunsWanted;

pub fn all() -> Vec<Route> {
    vec![
        checkpoint::create::route(),
        checkpoint::list::route(),
        checkpoint::show::route(),
        checkpoint::wait::route(),
        checkpoint::verdict::route(),
        checkpoint::withdraw::route(),
        checkpoint::review::route(),
        checkpoint::comments::route(),
        checkpoint::comment::route(),
        checkpoint::resolve::route(),
        checkpoint::mark::route(),
        checkpoint::files::route(),
        checkpoint::file::route(),
        checkpoint::edit::route(),
        checkpoint::settle::route(),
        checkpoint::rounds::route(),
        checkpoint::changes::route(),
        verdict::give::route(),
        run::create::route(),
        run::list::route(),
        run::show::route(),
        run::definition::route(),
        run::resume::route(),
        run::rerun::route(),
        run::cancel::route(),
        run::pause::route(),
        run::message::route(),
        run::activity::route(),
        run::requests::route(),
        run::request::route(),
        run::report::route(),
        run::log::route(),
        run::output::route(),
        run::events::route(),
        run::search::route(),
        run::chat::route(),
        run::ask::route(),
        proposal::apply::route(),
        proposal::discard::route(),
        chat::begin::route(),
        chat::list::route(),
        chat::show::route(),
        chat::ask::route(),
        chat::draft::route(),
        job::create::route(),
        job::list::route(),
        job::show::route(),
        job::level::route(),
        git::advertise::route(),
        git::fetch::route(),
        git::push::route(),
        event::list::route(),
        policy::show::route(),
        policy::explain::route(),
        policy::decide::route(),
        policy::classify::route(),
        frame::should_push::route(),
        frame::should_pop::route(),
        frame::list::route(),
        frame::show::route(),
        frame::moves::route(),
        frame::context::route(),
        frame::stats::route(),
        frame::log::route(),
        frame::picture::route(),
        suggestion::list::route(),
        suggestion::feedback::route(),
        forge::hook::route(),
        expert::list::route(),
        expert::show::route(),
        worker::list::route(),
        worker::show::route(),
        token::create::route(),
        token::list::route(),
        token::revoke::route(),
        webhook::create::route(),
        webhook::list::route(),
        webhook::show::route(),
        webhook::enable::route(),
        webhook::rotate::route(),
        webhook::test::route(),
        webhook::deliveries::route(),
        webhook::retry::route(),
        webhook::remove::route(),
        session::begin::route(),
        session::show::route(),
        session::end::route(),
        session::list::route(),
        session::end_one::route(),
        system::health::route(),
        system::ready::route(),
        system::metrics::route(),
        system::openapi::route(),
    ]
}

pub fn router(app: &App) -> Router {
    let mut router = Router::new();
    for route in all() {
        let filter = match route.method {
            Method::POST => MethodFilter::POST,
            Method::DELETE => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        };
        let (app, route) = (app.clone(), Arc::new(route));
        let path = route.path;
        let handler = move |request: Request| call::answer(app.clone(), Arc::clone(&route), request);
        router = router.route(path, on(filter, handler));
    }
    let mcp = Endpoint::new(app);
    let (nowhere, forms) = (app.clone(), app.clone());
    cockpit::add(router, app)
        .route(http::PATH, any(move |request: Request| mcp.clone().answer(request)))
        .fallback(move |request: Request| async move {
            let (parts, _) = request.into_parts();
            if let Some(page) = cockpit::nothing_there(&nowhere, &parts).await {
                return page;
            }
            Problem::new(Kind::NotFound, format!("there is nothing at `{}`", parts.uri.path()))
                .hint("`GET /v1/openapi.json` lists what there is")
                .into_response()
        })
        .method_not_allowed_fallback(move |request: Request| async move {
            let (parts, _) = request.into_parts();
            if let Some(page) = cockpit::only_forms(&forms, &parts).await {
                return page;
            }
            let (method, path) = (&parts.method, parts.uri.path());
            Problem::new(Kind::MethodNotAllowed, format!("`{path}` does not take {method}")).into_response()
        })
        .layer(from_fn_with_state(app.clone(), door::pass))
}
