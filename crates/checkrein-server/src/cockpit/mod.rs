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

mod link;
mod parts;

mod checkpoint;
mod inbox;
mod sign_in;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::routing::{MethodFilter, get, on};

use crate::app::App;
use page::Page;
pub use problem::nothing_there;

/// The one list of pages.
fn pages() -> Vec<Page> {
    vec![
        sign_in::start::page(),
        sign_in::begin::page(),
        sign_in::end::page(),
        theme::page(),
        inbox::show::page(),
        checkpoint::show::page(),
        checkpoint::decide::page(),
        checkpoint::decide_several::page(),
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
