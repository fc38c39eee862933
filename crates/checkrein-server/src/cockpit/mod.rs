//! The cockpit: pages for people who look at what waits, and decide. Made on the server; every change is a
//! plain form, and a small script makes them live. It has no interface of its own: a page calls the methods
//! of the engine that the routes call.

mod page;
mod visit;

mod layout;
mod navigation;
mod view;

mod assets;
mod door;
mod fields;
mod mask;
mod problem;
mod said;
mod theme;

mod render;

mod link;
mod parts;

mod chat;
mod checkpoint;
mod frame;
mod inbox;
mod job;
mod people;
mod policy;
mod review;
mod run;
mod settings;
mod sign_in;
mod webhook;
mod workforce;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::routing::{MethodFilter, get, on};

use crate::app::App;
use page::Page;
pub use problem::{nothing_there, only_forms};

/// The one list of pages.
fn pages() -> Vec<Page> {
    vec![
        sign_in::start::page(),
        sign_in::start::sign_in(),
        sign_in::begin::page(),
        sign_in::end::page(),
        theme::page(),
        inbox::show::page(),
        checkpoint::show::page(),
        checkpoint::decide::page(),
        checkpoint::decide_several::page(),
        run::list::page(),
        run::show::page(),
        run::output::page(),
        run::report::page(),
        run::audit::page(),
        run::download::page(),
        run::cancel::page(),
        run::pause::page(),
        run::message::page(),
        run::resume::page(),
        run::rerun::page(),
        run::level::page(),
        chat::show::page(),
        chat::before::page(),
        chat::before::begin_page(),
        chat::before::ask_page(),
        chat::ask::page(),
        chat::settle::page(),
        job::new::page(),
        job::create::page(),
        policy::show::page(),
        people::show::page(),
        people::create_token::page(),
        people::revoke_token::page(),
        people::end_session::page(),
        webhook::list::page(),
        webhook::show::page(),
        webhook::create::page(),
        webhook::change::test(),
        webhook::change::enable(),
        webhook::change::rotate(),
        webhook::change::retry(),
        webhook::change::remove(),
        workforce::show::page(),
        settings::show::page(),
        frame::list::page(),
        frame::show::page(),
        review::show::page(),
        review::now::page(),
        review::decide::page(),
        review::comment::page(),
        review::resolve::page(),
        review::mark::page(),
        review::settle::page(),
        review::browse::page(),
        review::search::page(),
        review::edit::page(),
        review::edit::save_page(),
    ]
}

/// Adds the pages, and the files they load, to the routes.
pub fn add(mut router: Router, app: &App) -> Router {
    for page in pages() {
        let filter = if page.method == Method::POST { MethodFilter::POST } else { MethodFilter::GET };
        let (app, page) = (app.clone(), Arc::new(page));
        let path = page.path;
        let handler = move |request: Request| page::answer(app.clone(), Arc::clone(&page), request);
        router = router.route(path, on(filter, handler));
    }
    router.route(assets::PATH, get(assets::answer))
}
