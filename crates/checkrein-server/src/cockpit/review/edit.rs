//! Editing a file on the branch: a commit in the person's name, on the commit they looked at.

use checkrein_core::run::RunId;
use checkrein_engine::{Act, Edit, FileEdit, Reviewed, Side};
use maud::{Markup, html};
use serde_json::Value;

use super::below;
use super::conflict::rows;
use crate::cockpit::link;
use crate::cockpit::mask::Mask;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{passage, shown};
use crate::cockpit::said::Said;
use crate::cockpit::view::{See, Shown, View};
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};

pub fn page() -> Page {
    Page::get("/reviews/{id}/edit", show).to(Act::PushToBranches)
}

pub fn save_page() -> Page {
    Page::post("/reviews/{id}/edit", save).to(Act::PushToBranches)
}

/// What stands in the form.
struct Draft {
    path: String,
    new: bool,
    text: String,
    message: String,
    head: String,
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let (engine, by) = (visit.engine(), visit.by()?);
    let reviewed = engine.review(by, visit.path("id")).await?;
    open(&reviewed)?;
    let run = reviewed.view.run.id.clone();
    let head = head(&reviewed);
    let draft = match visit.query.filled("path") {
        Some(path) => {
            let file = engine.review_file(by, &reviewed, path, Side::Head).await?;
            let text = file.text().ok_or_else(|| not_here(path))?;
            let mask = Mask::new(&visit.call.app, std::slice::from_ref(&run));
            // What is masked on the page would be written back as its mask.
            if mask.string(text) != text {
                return Err(Problem::new(
                    Kind::Invalid,
                    format!("`{path}` has something that is secret here"),
                )
                .hint("edit it with git: clone the branch, change it and push"));
            }
            Draft { path: path.to_owned(), new: false, text: text.to_owned(), message: String::new(), head }
        }
        None => {
            let within = visit.query.get("new").unwrap_or_default().trim_matches('/');
            let path = if within.is_empty() { String::new() } else { format!("{within}/") };
            Draft { path, new: true, text: String::new(), message: String::new(), head }
        }
    };
    Ok(view(&visit, &run, &draft, None))
}

async fn save(visit: Visit) -> Result<Shown, Problem> {
    let form = &visit.form;
    let id = visit.path("id").to_owned();
    let path = form.get("path").unwrap_or_default().trim().to_owned();
    let new = form.get("new").is_some();
    let written = form.get("text").unwrap_or_default();
    // Browsers send every line break as two characters; a file that had them keeps them.
    let text = if form.get("crlf").is_some() { written.to_owned() } else { written.replace("\r\n", "\n") };
    let head = form.get("head").unwrap_or_default().to_owned();
    let message = form.get("message").unwrap_or_default().to_owned();
    let file = match (form.get("delete").is_some(), new) {
        (true, _) => FileEdit::Delete { path: path.clone() },
        (false, true) => FileEdit::Create { path: path.clone(), content: text.clone() },
        (false, false) => FileEdit::Write { path: path.clone(), content: text.clone() },
    };
    let deleted = matches!(file, FileEdit::Delete { .. });
    let edit = Edit { head, message: Some(message.clone()), files: vec![file] };
    let (engine, by) = (visit.engine(), visit.by()?);
    let problem = match engine.edit_files(by, &id, &edit).await {
        Ok(edited) => {
            let said = match (edited.changed, deleted) {
                (false, _) => Said::well(format!("{path} is as it was: nothing to save.")),
                (true, true) => Said::well(format!("{path} is deleted, in your name.")),
                (true, false) => Said::well(format!("{path} is saved as a commit in your name.")),
            };
            return Ok(See::to(link::review(&id)).saying(said).into());
        }
        Err(error) => Problem::from(error),
    };
    if !matches!(problem.kind, Kind::StaleHead | Kind::Invalid | Kind::RunRefused | Kind::NotFound) {
        return Err(problem);
    }
    let reviewed = engine.review(by, &id).await?;
    open(&reviewed)?;
    let draft = Draft { path: path.clone(), new, text, message, head: self::head(&reviewed) };
    let there = match problem.kind {
        Kind::StaleHead if !new => engine.review_file(by, &reviewed, &path, Side::Head).await.ok(),
        _ => None,
    };
    let there = there.as_ref().and_then(|file| file.text()).map(str::to_owned);
    let refused = Refused { problem, seen: edit.head, there };
    let run = reviewed.view.run.id.clone();
    Ok(view(&visit, &run, &draft, Some(&refused)).into())
}

/// Why it was not saved; what was written stays in the form.
struct Refused {
    problem: Problem,
    /// The commit they looked at.
    seen: String,
    /// The file as it is now.
    there: Option<String>,
}

fn head(reviewed: &Reviewed) -> String {
    reviewed.asked().get("head").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn open(reviewed: &Reviewed) -> Result<(), Problem> {
    if reviewed.open {
        return Ok(());
    }
    Err(Problem::new(Kind::AlreadyDecided, "the review is over, so its branch is not edited here any more")
        .hint("go back to the review to see what became of it"))
}

fn not_here(path: &str) -> Problem {
    Problem::new(Kind::Invalid, format!("`{path}` is no text, or too long to be edited here"))
        .hint("clone the branch, change it and push")
}

fn view(visit: &Visit, run: &RunId, draft: &Draft, refused: Option<&Refused>) -> View {
    let title = if draft.new { "New file".to_owned() } else { format!("Edit {}", draft.path) };
    let status = refused.map_or(axum::http::StatusCode::OK, |refused| refused.problem.kind.status());
    View::new(title, body(visit, draft, refused))
        .at(Place::Inbox)
        .full_width()
        .about(run)
        .status(status)
        .with_file("review.css")
        .with_file("review.js")
}

fn body(visit: &Visit, draft: &Draft, refused: Option<&Refused>) -> Markup {
    let id = visit.path("id");
    let action = link::to(&["reviews", id, "edit"]);
    html! {
        div class="head" {
            p class="crumbs" { a href=(link::review(id)) { "Review" } " / " a href=(below(id, "files", &[])) { "Files" } }
            h1 { @if draft.new { "New file" } @else { "Edit " (shown(&draft.path)) } }
        }
        @if let Some(refused) = refused { (why(id, refused)) }
        form method="post" action=(action) class="card edit" data-review=(id) {
            (visit.proof())
            input type="hidden" name="head" value=(draft.head);
            @if draft.text.contains("\r\n") { input type="hidden" name="crlf" value="yes"; }
            @if draft.new {
                input type="hidden" name="new" value="yes";
                label for="path" { "Path" }
                input id="path" name="path" value=(draft.path) required autocomplete="off";
            } @else {
                input type="hidden" name="path" value=(draft.path);
            }
            label for="text" { "Text" }
            textarea id="text" name="text" class="code" rows=(rows(&draft.text)) spellcheck="false" data-draft={ "edit-" (draft.path) } { "\n" (draft.text) }
            label for="message" { "What did you change? (the message of the commit)" }
            input id="message" name="message" value=(draft.message) maxlength="500" autocomplete="off";
            p class="actions" {
                button class="primary" { "Save as a commit in my name" }
                a class="button" href=(link::review(id)) { "Leave it" }
            }
        }
        @if !draft.new {
            form method="post" action=(action) class="card" {
                (visit.proof())
                input type="hidden" name="head" value=(draft.head);
                input type="hidden" name="path" value=(draft.path);
                input type="hidden" name="text" value="";
                label class="check" { input type="checkbox" name="delete" value="yes" required; span { "Delete this file from the branch" } }
                p { button class="bad" { "Delete" } }
            }
        }
    }
}

fn why(id: &str, refused: &Refused) -> Markup {
    let problem = &refused.problem;
    html! {
        div class="notice bad" {
            @if problem.kind == Kind::StaleHead {
                p { strong { "It is not saved: somebody changed the branch since you opened the file." }
                    " What you wrote is still in the form. "
                    a href=(link::with_query(&link::review(id), &[("seen", &refused.seen)])) { "See what is new" } }
                p { "If you save now, the file becomes what you wrote." }
            } @else {
                p { strong { "It is not saved: " (shown(&problem.detail)) "." } }
                @if let Some(hint) = &problem.hint { p class="hint" { (hint) } }
            }
        }
        @if let Some(there) = &refused.there {
            details class="card" open { summary { "The file as it is on the branch now" } (passage("The file as it is on the branch now", "text", shown(there))) }
        }
    }
}
