use maud::html;

use crate::cockpit::link::is_local;
use crate::cockpit::page::Page;
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::Problem;
use crate::routes::session::begin::{Proof, SignedIn, signed_in};

pub fn page() -> Page {
    Page::post("/sign-in", begin).open().harmless()
}

/// The one page that has the secret for changes: the script keeps it, and leads on.
async fn begin(visit: Visit) -> Result<View, Problem> {
    let said = visit.form.get("token").unwrap_or_default().trim();
    // A link is pasted whole, or only what is behind its `#`.
    let secret = said.rsplit("#sign-in=").next().unwrap_or_default().to_owned();
    let proof = if secret.starts_with(checkrein_engine::TOKEN_PREFIX) {
        Proof::Token(secret)
    } else {
        Proof::Link(secret)
    };
    let SignedIn { by, session, cookie } = signed_in(&visit.call, proof).await?;
    let next = visit.form.get("next").filter(|next| is_local(next)).unwrap_or("/");
    let body = html! {
        section class="card sign-in" id="signed-in" data-for-changes=(session.for_changes) data-next=(next) {
            h1 { "You are signed in as " (by.name) }
            p { a class="button primary" href=(next) { "Continue" } }
            noscript {
                p class="hint" { "Scripts are off: each change will ask for your token again." }
            }
        }
    };
    let mut view = View::new("Signed in", body).shows_secret();
    view.cookies.push(cookie);
    Ok(view)
}
