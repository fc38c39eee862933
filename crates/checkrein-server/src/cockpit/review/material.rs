//! What a page of a review shows, without what is secret.
//!
//! Secrets are taken out of the texts themselves: on the page a word may be in pieces, for its colours.

use checkrein_core::run::job::Repository;
use checkrein_engine::{ReviewMaterial, Reviewed, Round};
use serde_json::Value;

use crate::cockpit::mask::Mask;
use crate::cockpit::render::diff::View;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};
use crate::wire::diff::{ChangeWord, Diff, FileDiff};
use crate::wire::review::Review;

/// What is compared with the branch as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Since {
    /// What was there before the phase, or before the job.
    Base,
    Round(u32),
    /// A commit that somebody looked at before.
    Commit(String),
}

/// How Markdown is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prose {
    Rendered,
    Source,
}

pub struct Material {
    pub review: Review,
    pub rounds: Vec<Round>,
    pub since: Since,
    /// The commit the diff starts from.
    pub from: String,
    pub view: View,
    pub prose: Prose,
    /// Old and new texts of files of Markdown that changed, by their place in the diff.
    pub texts: Vec<(usize, String, String)>,
    /// Where the job's own files are.
    pub own: String,
    pub reviewed: Reviewed,
}

/// So many files are shown as what they say.
const PROSE_FILES_MAX: usize = 40;

impl Material {
    pub async fn load(visit: &Visit, id: &str) -> Result<Material, Problem> {
        let (engine, by) = (visit.engine(), visit.by()?);
        let reviewed = engine.review(by, id).await?;
        let material = engine.review_material(by, &reviewed).await?;
        let rounds = engine.review_rounds(by, &reviewed).await?;
        let clone_url = visit.call.clone_url(&reviewed.view.run.id);
        let mut review = Review::of(&reviewed, &material).elsewhere(clone_url);
        let (since, from) = since(visit, &review, &rounds)?;
        match &since {
            Since::Base => {}
            Since::Round(number) => {
                let diff = engine.review_changes(by, &reviewed, *number, review.round).await?;
                review.diff = Diff::of(&diff, &reviewed.marks);
            }
            Since::Commit(commit) => {
                let diff = engine.review_since(by, &reviewed, commit).await?;
                review.diff = Diff::of(&diff, &reviewed.marks);
            }
        }
        let mask = Mask::new(&visit.call.app, std::slice::from_ref(&reviewed.view.run.id));
        clean(&mut review, &mask);
        let prose = match visit.query.get("prose") {
            Some("source") => Prose::Source,
            _ => Prose::Rendered,
        };
        let view = match visit.query.get("view") {
            Some("split") => View::Split,
            _ => View::Unified,
        };
        let own = own_files(&reviewed);
        let mut loaded =
            Material { review, rounds, since, from, view, prose, texts: Vec::new(), own, reviewed };
        loaded.order();
        if prose == Prose::Rendered {
            loaded.read_texts(visit, &material, &mask).await?;
        }
        Ok(loaded)
    }

    /// A plan is read first where a plan is reviewed; otherwise the work comes first, and the job's own
    /// files after it.
    fn order(&mut self) {
        let plan = self.is_plan();
        let own = self.own.clone();
        let rank = |file: &FileDiff| match (own_name(&own, &file.path), plan) {
            (Some("plan.md"), true) => 0,
            (Some("todos.yaml"), true) => 1,
            (Some(_), true) => 2,
            (None, true) => 3,
            (None, false) => 0,
            (Some("plan.md"), false) => 1,
            (Some(_), false) => 2,
        };
        self.review.diff.files.sort_by_key(rank);
    }

    pub fn is_plan(&self) -> bool {
        self.review.phase_kind.as_str() == Some("strategic")
            && self.review.context.as_str() != Some("job_complete")
    }

    pub fn is_own(&self, path: &str) -> bool {
        own_name(&self.own, path).is_some()
    }

    async fn read_texts(
        &mut self,
        visit: &Visit,
        material: &ReviewMaterial,
        mask: &Mask<'_>,
    ) -> Result<(), Problem> {
        let files = self.review.diff.files.iter().enumerate();
        let prose = files.filter(|(_, file)| is_prose(file)).take(PROSE_FILES_MAX);
        // Names with a secret in them are shown without it, and so not found; nobody has those.
        let found: Vec<(usize, String, String)> = prose
            .map(|(at, file)| (at, file.from.clone().unwrap_or_else(|| file.path.clone()), file.path.clone()))
            .collect();
        let (engine, by) = (visit.engine(), visit.by()?);
        let olds: Vec<String> = found.iter().map(|(_, old, _)| old.clone()).collect();
        let news: Vec<String> = found.iter().map(|(.., new)| new.clone()).collect();
        let head = material.head.to_string();
        let olds = engine.review_texts(by, &self.reviewed, &self.from, olds).await?;
        let news = engine.review_texts(by, &self.reviewed, &head, news).await?;
        for (((at, ..), old), new) in found.into_iter().zip(olds).zip(news) {
            let Some(new) = new else { continue };
            self.texts.push((at, cleaned(mask, old.unwrap_or_default()), cleaned(mask, new)));
        }
        Ok(())
    }
}

fn is_prose(file: &FileDiff) -> bool {
    let path = file.path.to_ascii_lowercase();
    !file.binary
        && file.change != ChangeWord::Deleted
        && (path.ends_with(".md") || path.ends_with(".markdown"))
}

fn since(visit: &Visit, review: &Review, rounds: &[Round]) -> Result<(Since, String), Problem> {
    if let Some(seen) = visit.query.filled("seen").filter(|seen| *seen != review.head) {
        return Ok((Since::Commit(seen.to_owned()), seen.to_owned()));
    }
    let Some(round) = visit.query.filled("since") else { return Ok((Since::Base, review.base.clone())) };
    let number: Option<u32> = round.parse().ok();
    let found = number.and_then(|number| rounds.iter().find(|known| known.number == number));
    let found = found.filter(|found| found.number < review.round).ok_or_else(|| {
        Problem::new(Kind::NotFound, format!("the review has no round `{round}` before this one"))
    })?;
    Ok((Since::Round(found.number), found.head.to_string()))
}

fn own_files(reviewed: &Reviewed) -> String {
    let job = reviewed.view.run.job();
    job.map(|(definition, _)| match &definition.repository {
        Repository::Own => String::new(),
        existing => existing.artefacts().to_owned(),
    })
    .unwrap_or_default()
}

/// The name of a file the job keeps for itself.
fn own_name<'p>(own: &str, path: &'p str) -> Option<&'p str> {
    let name = path.strip_prefix(own)?;
    let known = ["plan.md", "todos.yaml", "workspace.md", "feedback.md"].contains(&name)
        || name.starts_with("tools/")
        || name.starts_with("archive/");
    (known || !own.is_empty()).then_some(name)
}

fn cleaned(mask: &Mask<'_>, text: String) -> String {
    mask.string(&text)
}

fn clean(review: &mut Review, mask: &Mask<'_>) {
    let text = |text: &mut String| *text = cleaned(mask, std::mem::take(text));
    clean_diff(&mut review.diff, mask);
    review.artefacts.iter_mut().for_each(|artefact| text(&mut artefact.text));
    review.commits.iter_mut().for_each(|commit| text(&mut commit.message));
    review.comments.iter_mut().for_each(|comment| text(&mut comment.text));
    review.findings.iter_mut().for_each(|finding| text(&mut finding.text));
    review.because.iter_mut().for_each(text);
    for value in [
        &mut review.summary,
        &mut review.todos,
        &mut review.next_todos,
        &mut review.deliverables,
        &mut review.description,
        &mut review.conflict,
    ] {
        clean_value(value, mask);
    }
}

fn clean_diff(diff: &mut Diff, mask: &Mask<'_>) {
    for line in diff.files.iter_mut().flat_map(|file| &mut file.hunks).flat_map(|hunk| &mut hunk.lines) {
        let before = std::mem::take(&mut line.text);
        line.text = cleaned(mask, before.clone());
        if line.text != before {
            line.words.clear();
        }
    }
}

fn clean_value(value: &mut Value, mask: &Mask<'_>) {
    match value {
        Value::String(text) => *text = cleaned(mask, std::mem::take(text)),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_value(item, mask)),
        Value::Object(map) => map.values_mut().for_each(|item| clean_value(item, mask)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_files_are_the_jobs_own() {
        for (own, path, expected) in [
            ("", "plan.md", Some("plan.md")),
            ("", "docs/plan.md", None),
            ("", "archive/phase-1.md", Some("archive/phase-1.md")),
            ("", "src/main.rs", None),
            (".checkrein/job/", ".checkrein/job/plan.md", Some("plan.md")),
            (".checkrein/job/", "plan.md", None),
            (".checkrein/job/", ".checkrein/job/anything", Some("anything")),
        ] {
            assert_eq!(own_name(own, path), expected, "{own} {path}");
        }
    }
}
