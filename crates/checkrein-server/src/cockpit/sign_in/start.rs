//! The first page: it leads on whoever is known, and tells everybody else how to sign in.

use maud::html;

use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::problem::sentence;
use crate::cockpit::view::{See, Shown, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::get("/", show).open()
}

/// The same where people look for it; the form of it is sent there.
pub fn sign_in() -> Page {
    Page::get("/sign-in", show).open()
}

async fn show(visit: Visit) -> Result<Shown, Problem> {
    Ok(match visit.guest {
        Some(_) => See::to("/inbox").into(),
        None => view(&visit, None).into(),
    })
}

/// How to sign in. Whoever wanted another page is led there afterwards.
pub fn view(visit: &Visit, problem: Option<&Problem>) -> View {
    let wanted = visit.form.get("next").unwrap_or(&visit.here);
    let next = if link::is_local(wanted) && !wanted.starts_with("/sign-") { wanted } else { "/" };
    let failed = problem.filter(|_| visit.form.get("token").is_some());
    View::new(
        "Sign in",
        html! {
            section class="card sign-in" {
                h1 { "Sign in to Checkrein" }
                p { "Checkrein holds the work of agents until a person has looked at it." }
                @if let Some(problem) = failed {
                    div class="notice bad" role="alert" {
                        p { (sentence(&problem.detail)) }
                        @if let Some(hint) = &problem.hint { p class="hint" { (sentence(hint)) } }
                    }
                } @else if next != "/" {
                    p class="notice" { "Sign in to see this page." }
                }
                form method="post" action="/sign-in" id="sign-in" {
                    input type="hidden" name="next" value=(next);
                    label for="token" { "Token, or the code of a sign-in link" }
                    input id="token" name="token" type="password" autocomplete="current-password" required
                        autocapitalize="off" spellcheck="false";
                    button class="primary" { "Sign in" }
                }
                h2 { "Where do I get one?" }
                ul {
                    li {
                        "The first time: " code { "checkrein serve" }
                        " prints a link that signs one browser in. Open it, or paste what follows "
                        code { "#sign-in=" } " above."
                    }
                    li {
                        "On the server's machine: " code { "checkrein token create --role reviewer --name NAME" }
                        " makes a token."
                    }
                    li { "Elsewhere: ask an administrator; they make one on the page " em { "People" } "." }
                }
            }
        },
    )
}
