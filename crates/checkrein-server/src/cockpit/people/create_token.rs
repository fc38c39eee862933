use checkrein_core::principal::Role;
use checkrein_engine::Act;
use maud::html;

use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::shown;
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};
use crate::routes::token::create::{Wanted, made};

pub fn page() -> Page {
    Page::post("/people/tokens", create).to(Act::ManageTokens)
}

/// Shows the secret once, so it does not lead elsewhere.
async fn create(visit: Visit) -> Result<View, Problem> {
    let word = visit.form.get("role").unwrap_or_default();
    let role =
        Role::parse(word).ok_or_else(|| Problem::new(Kind::Invalid, format!("`{word}` is no role")))?;
    let name = visit.form.get("name").unwrap_or_default().trim().to_owned();
    let expires = visit.form.filled("expires").map(str::to_owned);
    let token = made(&visit.call, Wanted { role, name, expires, worker: None }).await?;
    let body = html! {
        h1 { "A token for " (shown(&token.name)) }
        section class="card" {
            p { "Copy it now: it is shown this once." }
            p { code class="secret" id="secret" { (token.token) } }
            p { button type="button" data-copy="secret" hidden { "Copy" } }
            p class="hint" { "Whoever has it is " (shown(&token.name)) ", " (token.role) ". A person pastes it on the sign-in page; a program sends it as "
                code { "Authorization: Bearer …" } "." }
            p { a href="/people" { "Back to people and tokens" } }
        }
    };
    Ok(View::new("New token", body).at(Place::People).shows_secret())
}
