//! The files that changed, one card each.

use checkrein_core::run::job::FileMark;
use checkrein_engine::Act;
use maud::{Markup, PreEscaped, html};

use super::aside::mark;
use super::material::{Material, Since};
use super::show::at;
use super::thread::{here, thread};
use crate::cockpit::link;
use crate::cockpit::parts::{count, shown};
use crate::cockpit::render::diff;
use crate::cockpit::render::markdown::{self, Links};
use crate::cockpit::visit::Visit;
use crate::wire::diff::{ChangeWord, FileDiff};
use crate::wire::review::Thread;

/// A file with more lines is folded until somebody wants it.
const LINES_SHOWN_MAX: usize = 600;
/// So many lines are on the page at first.
const LINES_AT_ONCE_MAX: usize = 3_000;

pub fn all(visit: &Visit, material: &Material) -> Markup {
    let only = visit.query.filled("file");
    let mut lines = 0;
    let files = &material.review.diff.files;
    let mut cards = Vec::with_capacity(files.len());
    let mut own = false;
    for (index, file) in files.iter().enumerate() {
        if only.is_some_and(|only| only != file.path) {
            continue;
        }
        let length = file.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>();
        let large = length > LINES_SHOWN_MAX || lines + length > LINES_AT_ONCE_MAX;
        let folded = large && only.is_none();
        lines += if folded { 0 } else { length };
        // Behind the work, where that comes first.
        let begins = !material.is_plan() && !own && material.is_own(&file.path);
        own |= begins;
        cards.push(html! {
            @if begins { h2 class="own" { "The job's own files" } }
            (card(visit, material, index, file, if folded { Fold::Folded(length) } else { Fold::Open }))
        });
    }
    html! {
        @if let Some(only) = only {
            p class="notice" { "Only " code { (shown(only)) } ". " a href=(at(material, &[])) { "Show all files" } }
        }
        @for card in cards { (card) }
    }
}

enum Fold {
    Open,
    /// With so many lines.
    Folded(usize),
}

fn card(visit: &Visit, material: &Material, index: usize, file: &FileDiff, fold: Fold) -> Markup {
    let review = &material.review;
    let threads: Vec<&Thread> = review
        .threads
        .iter()
        .filter(|thread| thread.file.as_deref() == Some(file.path.as_str()) && thread.phase.is_none())
        .collect();
    let anchor = format!("f-{index}");
    let whole = at(material, &[]);
    let joined = if whole.contains('?') { '&' } else { '?' };
    let alone = format!("{whole}{joined}file={}", link::encoded(&file.path));
    html! {
        section class="file card" id=(anchor) data-file=(file.path) data-folded=[matches!(fold, Fold::Folded(_)).then_some("")] {
            header {
                h3 { (mark(file)) " "
                    @if let Some(from) = &file.from { span class="quiet" { (shown(from)) " → " } }
                    (shown(&file.path)) }
                (facts(material, file))
                div class="tools" {
                    a href=(super::below(&review.id, "files", &[("path", &file.path)])) { "View" }
                    @if review.open && is_text(file) && visit.may(Act::PushToBranches) {
                        a href=(super::below(&review.id, "edit", &[("path", &file.path)])) data-edit="" { "Edit" }
                    }
                    @if review.open && visit.may(Act::GiveVerdict) && material.since == Since::Base {
                        (marks(visit, material, file, &anchor))
                    }
                }
            }
            div class="body" {
                @match fold {
                    Fold::Open => { (content(visit, material, index, file, &threads)) }
                    Fold::Folded(lines) => { p class="fold" {
                        a class="button" href=(alone) data-unfold="" { "Show " (count(lines as u64, "line")) }
                        span class="quiet" { " It is folded because it is long." }
                    } }
                }
            }
            @for one in threads.iter().filter(|thread| thread.line.is_none()) { (thread(visit, material, one)) }
            @if review.open && visit.may(Act::Comment) { (comment_form(visit, material, index, file)) }
        }
    }
}

/// Whether it can be edited on a page: an image, a link or what is deleted cannot.
fn is_text(file: &FileDiff) -> bool {
    !file.binary && matches!(file.new_mode.as_deref(), Some("100644" | "100755"))
}

/// What is to be known of a file beside its lines.
fn facts(material: &Material, file: &FileDiff) -> Markup {
    let protected = material.review.protected.as_array().into_iter().flatten();
    let protected = protected.filter_map(serde_json::Value::as_str).any(|path| path == file.path);
    let modes = match (&file.old_mode, &file.new_mode) {
        (Some(old), Some(new)) if old != new => Some(format!("{} became {}", kind(old), kind(new))),
        (None, Some(new)) if new != "100644" => Some(kind(new).to_owned()),
        _ => None,
    };
    html! {
        p class="facts" {
            span class="badge" { (change(file.change)) }
            @if let Some(modes) = modes { " " span class="badge waits" { (modes) } }
            @if let Some(target) = &file.link_target { " " span class="badge waits" { "link to " (shown(target)) } }
            @if file.mark_lapsed { " " span class="badge waits" { "no longer approved: it has changed since" } }
            @if protected { " " span class="badge waits" { "protected by the policy" } }
            " " span class="plus" { "+" (file.added) } " " span class="minus" { "−" (file.removed) }
        }
    }
}

const fn change(change: ChangeWord) -> &'static str {
    match change {
        ChangeWord::Added => "new",
        ChangeWord::Deleted => "deleted",
        ChangeWord::Modified => "changed",
        ChangeWord::Retyped => "became something else",
        ChangeWord::Renamed => "renamed",
    }
}

fn kind(mode: &str) -> &'static str {
    match mode {
        "100755" => "an executable",
        "120000" => "a link",
        "160000" => "another repository",
        _ => "a plain file",
    }
}

fn marks(visit: &Visit, material: &Material, file: &FileDiff, anchor: &str) -> Markup {
    let action = link::to(&["reviews", &material.review.id, "marks"]);
    let pressed = |mark: FileMark| if file.mark == Some(mark) { "true" } else { "false" };
    let value = |mark: FileMark| if file.mark == Some(mark) { "none" } else { mark.name() };
    html! {
        form method="post" action=(action) class="marks" data-quiet="" {
            (visit.proof())
            (here(material))
            input type="hidden" name="file" value=(file.path);
            input type="hidden" name="head" value=(material.review.head);
            input type="hidden" name="anchor" value=(anchor);
            button name="mark" value=(value(FileMark::Approved)) aria-pressed=(pressed(FileMark::Approved)) data-mark="approved" { "✓ Fine" }
            button name="mark" value=(value(FileMark::ChangesRequested)) aria-pressed=(pressed(FileMark::ChangesRequested)) data-mark="changes_requested" { "✗ Needs changes" }
        }
    }
}

fn content(visit: &Visit, material: &Material, index: usize, file: &FileDiff, threads: &[&Thread]) -> Markup {
    let review = &material.review;
    let text = material.texts.iter().find(|(at, ..)| *at == index);
    let at_lines = |from: u32, to: u32| -> Option<String> {
        let here =
            threads.iter().filter(|thread| thread.line.is_some_and(|line| (from..=to).contains(&line)));
        let html: String = here.map(|one| thread(visit, material, one).into_string()).collect();
        (!html.is_empty()).then_some(html)
    };
    if let Some((_, old, new)) = text {
        let directory = file.path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let address = |path: &str| super::below(&review.id, "files", &[("path", path)]);
        let links = Links { directory, file: Some(&address) };
        let mut below = at_lines;
        let rendered = if old.is_empty() {
            Some(markdown::render_with(new, &links, &mut below))
        } else {
            markdown::render_changes(old, new, &links, &mut below)
        };
        if let Some(rendered) = rendered {
            return html! { div class="md prose" { (PreEscaped(rendered)) } };
        }
    }
    html! {
        @if file.binary {
            p class="quiet" { "It is not text. " a href=(super::below(&review.id, "files", &[("path", &file.path)])) { "Look at the file" } }
        } @else if file.hunks.is_empty() && !file.cut {
            p class="quiet" { "Its lines are as they were." }
        } @else {
            (PreEscaped(diff::table(file, material.view, &mut |line| at_lines(line, line))))
        }
        @if file.cut {
            p class="notice waits" { "Not all of it is shown here. " a href=(super::below(&review.id, "files", &[("path", &file.path)])) { "Look at the whole file" } }
        }
        (off_lines(visit, material, file, threads))
    }
}

/// Threads on lines that the diff does not show.
fn off_lines(visit: &Visit, material: &Material, file: &FileDiff, threads: &[&Thread]) -> Markup {
    let gone = file.change == ChangeWord::Deleted;
    let has = |line: u32| {
        let mut lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.any(|own| if gone { own.old == Some(line) } else { own.new == Some(line) })
    };
    html! {
        @for one in threads.iter().filter(|thread| thread.line.is_some_and(|line| !has(line))) {
            p class="meta" { "Line " (one.line.unwrap_or_default()) }
            (thread(visit, material, one))
        }
    }
}

/// To say something about the file, or one of its lines. The script puts a copy of it below a line.
fn comment_form(visit: &Visit, material: &Material, index: usize, file: &FileDiff) -> Markup {
    let action = link::to(&["reviews", &material.review.id, "comments"]);
    html! {
        details class="say" id={ "say-" (index) } {
            summary { "Comment on this file" }
            form method="post" action=(action) data-quiet="" class="comment-form" {
                (visit.proof())
                (here(material))
                input type="hidden" name="file" value=(file.path);
                input type="hidden" name="anchor" value={ "f-" (index) };
                label class="line" { "Line (none: the whole file)" input name="line" inputmode="numeric" pattern="[0-9]*"; }
                label { "Comment" textarea name="text" rows="3" required data-draft={ "file-" (file.path) } {} }
                p class="actions" { button { "Comment" } }
            }
        }
    }
}
