//! The files on the branch of a review: directories, and files as they are.

use checkrein_core::run::RunId;
use checkrein_engine::{Act, BranchFile, Side};
use checkrein_forge::{EntryKind, TreeEntry};
use maud::{Markup, PreEscaped, html};

use super::below;
use crate::cockpit::link;
use crate::cockpit::mask::Mask;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{passage, shown};
use crate::cockpit::render::diff;
use crate::cockpit::render::markdown::{self, Links};
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};

pub fn page() -> Page {
    Page::get("/reviews/{id}/files", show).to(Act::FetchBranches)
}

/// Longer texts are shown without their colours.
const LINES_MAX: usize = 20_000;

async fn show(visit: Visit) -> Result<View, Problem> {
    let (engine, by) = (visit.engine(), visit.by()?);
    let reviewed = engine.review(by, visit.path("id")).await?;
    let id = reviewed.checkpoint.checkpoint.id.to_string();
    let path = visit.query.get("path").unwrap_or_default().trim_matches('/').to_owned();
    let base = visit.query.get("side") == Some("base");
    let side = if base { Side::Base } else { Side::Head };
    let tree = engine.review_files(by, &reviewed, side).await?;
    let is_file = tree.files.iter().any(|entry| entry.path.to_string() == path);
    let entries = listed(&tree.files, &path);
    let run = reviewed.view.run.id.clone();
    let body = if is_file {
        let file = engine.review_file(by, &reviewed, &path, side).await?;
        html! { (head(&visit, &id, &path, base)) (one(&visit, &id, &run, &file, reviewed.open && !base)) }
    } else if entries.is_empty() && !path.is_empty() {
        return Err(Problem::new(Kind::NotFound, format!("there is no file `{path}` on the branch"))
            .hint("it may have been deleted or renamed"));
    } else {
        html! { (head(&visit, &id, &path, base)) (directory(&visit, &id, &path, &entries, base, reviewed.open)) }
    };
    let title = if path.is_empty() { "Files".to_owned() } else { path.clone() };
    Ok(View::new(title, body).at(Place::Inbox).full_width().about(&run).with_file("review.css"))
}

/// What is in a directory: names, and whether each is one too.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    name: String,
    path: String,
    directory: bool,
    size_bytes: Option<u64>,
    kind: EntryKind,
}

fn listed(files: &[TreeEntry], directory: &str) -> Vec<Entry> {
    let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
    let mut entries: Vec<Entry> = Vec::new();
    for file in files {
        let path = file.path.to_string();
        let Some(rest) = path.strip_prefix(&prefix) else { continue };
        let (name, below) = rest.split_once('/').map_or((rest, false), |(name, _)| (name, true));
        if below && entries.iter().any(|entry| entry.directory && entry.name == name) {
            continue;
        }
        entries.push(Entry {
            name: name.to_owned(),
            path: format!("{prefix}{name}"),
            directory: below,
            size_bytes: file.size_bytes.filter(|_| !below),
            kind: file.kind,
        });
    }
    entries.sort_by(|one, other| (!one.directory, &one.name).cmp(&(!other.directory, &other.name)));
    entries
}

fn head(visit: &Visit, id: &str, path: &str, base: bool) -> Markup {
    let mut above = Vec::new();
    let mut so_far = String::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        so_far = if so_far.is_empty() { part.to_owned() } else { format!("{so_far}/{part}") };
        above.push((part.to_owned(), so_far.clone()));
    }
    let side = if base { "base" } else { "" };
    let last = above.len().saturating_sub(1);
    html! {
        div class="head" {
            p class="crumbs" {
                a href=(link::review(id)) { "Review" } " / "
                a href=(below(id, "files", &[("side", side)])) { "Files" }
                @for (index, (name, path)) in above.iter().enumerate() {
                    " / " @if index == last { (shown(name)) } @else { a href=(below(id, "files", &[("path", path), ("side", side)])) { (shown(name)) } }
                }
            }
            h1 { (shown(if path.is_empty() { "Files" } else { path })) }
            p class="meta" {
                @if base { "As it was before. " a href=(below(id, "files", &[("path", path)])) { "As it is on the branch" } }
                @else { "As it is on the branch. " a href=(below(id, "files", &[("path", path), ("side", "base")])) { "As it was before" } }
            }
        }
        @if visit.said.is_none() && base { p class="notice" { "You look at what was there before the change." } }
    }
}

fn directory(visit: &Visit, id: &str, path: &str, entries: &[Entry], base: bool, open: bool) -> Markup {
    let side = if base { "base" } else { "" };
    html! {
        @if open && !base && visit.may(Act::PushToBranches) {
            p { a class="button" href=(below(id, "edit", &[("new", if path.is_empty() { "/" } else { path })])) { "New file" } }
        }
        @if entries.is_empty() { p class="empty" { "There is no file yet." } }
        ul class="tree card" {
            @for entry in entries {
                li {
                    span aria-hidden="true" { (if entry.directory { "▸" } else { "·" }) } " "
                    a href=(below(id, "files", &[("path", &entry.path), ("side", side)])) {
                        (shown(&entry.name)) @if entry.directory { "/" }
                    }
                    @if !entry.directory {
                        @match entry.kind {
                            EntryKind::Executable => { " " span class="badge" { "executable" } }
                            EntryKind::Link => { " " span class="badge waits" { "link" } }
                            EntryKind::Submodule => { " " span class="badge waits" { "another repository" } }
                            EntryKind::File => {}
                        }
                    }
                    @if let Some(size) = entry.size_bytes { span class="meta size" { (bytes(size)) } }
                }
            }
        }
    }
}

pub fn bytes(size: u64) -> String {
    match size {
        0..1_024 => format!("{size} B"),
        1_024..1_048_576 => format!("{} KiB", size.div_ceil(1_024)),
        _ => format!("{} MiB", size.div_ceil(1_048_576)),
    }
}

fn one(visit: &Visit, id: &str, run: &RunId, file: &BranchFile, editable: bool) -> Markup {
    let mask = Mask::new(&visit.call.app, std::slice::from_ref(run));
    let text = file.text().map(|text| mask.string(text));
    let prose = file.path.to_ascii_lowercase().ends_with(".md") && visit.query.get("as") != Some("source");
    let directory = file.path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let address = |path: &str| below(id, "files", &[("path", path)]);
    let links = Links { directory, file: Some(&address) };
    let plain = matches!(file.kind, EntryKind::File | EntryKind::Executable);
    html! {
        p class="actions" {
            @if editable && plain && text.is_some() && visit.may(Act::PushToBranches) {
                a class="button" href=(below(id, "edit", &[("path", &file.path)])) data-edit="" { "Edit" }
            }
            @if file.path.to_ascii_lowercase().ends_with(".md") {
                @if prose { a class="button" href=(below(id, "files", &[("path", &file.path), ("as", "source")])) { "Source" } }
                @else { a class="button" href=(below(id, "files", &[("path", &file.path)])) { "Rendered" } }
            }
            span class="meta" { (bytes(file.content.size_bytes)) }
        }
        section class="card file" {
            @match (&text, file.kind) {
                (_, EntryKind::Link) => { p { "A link to " code { (shown(&String::from_utf8_lossy(&file.content.bytes))) } } }
                (_, EntryKind::Submodule) => { p { "A commit of another repository." } }
                (None, _) => { p class="quiet" { "It is no text, or longer than what is shown here. Clone the branch to look at it." } }
                (Some(text), _) if prose => { div class="md prose" { (PreEscaped(markdown::render(text, &links))) } }
                (Some(text), _) if text.lines().count() > LINES_MAX => { (passage("Content of the file", "text", shown(text))) }
                (Some(text), _) => { (PreEscaped(diff::source(&file.path, text, &mut |_| None))) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use checkrein_forge::{Oid, TreePath};

    use super::*;

    #[test]
    fn a_directory_lists_what_is_right_in_it() {
        let oid = Oid::parse(&"a".repeat(40)).unwrap();
        let entry = |path: &str| TreeEntry {
            path: TreePath::from(path),
            kind: EntryKind::File,
            oid: oid.clone(),
            size_bytes: Some(1),
        };
        let files = ["a.md", "b/c.md", "b/d/e.md", "b.md"].map(entry);
        let names = |directory: &str| -> Vec<String> {
            let names = listed(&files, directory).into_iter().map(|entry| (entry.name, entry.directory));
            names.map(|(name, directory)| if directory { format!("{name}/") } else { name }).collect()
        };
        assert_eq!(names(""), ["b/", "a.md", "b.md"]);
        assert_eq!(names("b"), ["d/", "c.md"]);
        assert_eq!(names("none"), Vec::<String>::new());
    }
}
