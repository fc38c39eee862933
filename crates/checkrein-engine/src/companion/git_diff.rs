use std::fmt::Write as _;

use checkrein_core::principal::Principal;
use checkrein_forge::{Change, Diff, DiffLimits, FileDiff, Hunk, LineKind, Oid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::{Lines, lines};
use super::workspace::clean;
use super::{ReadTool, told};
use crate::search::is_of;
use crate::{Engine, EngineError};

/// What is compared.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct DiffWanted {
    /// The older one: `base` (the default: what the phase was cut from), `main`, `start`, a branch, a phase or a commit
    pub from: Option<String>,
    /// The newer one, `head` by default
    pub to: Option<String>,
    #[serde(flatten)]
    pub part: DiffPart,
}

/// Which part of a diff.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct DiffPart {
    /// Only this file, this directory, or files of this pattern
    pub file: Option<String>,
    /// The line of the diff to begin with, from 1
    #[schemars(range(min = 1))]
    pub first_line: Option<usize>,
    /// How many lines of it at most, 400 by default
    #[schemars(range(min = 1, max = 2000))]
    pub lines: Option<usize>,
}

/// What differs between two commits.
#[derive(Clone, Debug, Serialize)]
pub struct GitDiff {
    pub from: String,
    pub to: String,
    #[serde(flatten)]
    pub diffed: Diffed,
}

/// Files that differ, and some lines of how.
#[derive(Clone, Debug, Serialize)]
pub struct Diffed {
    pub added: u64,
    pub removed: u64,
    pub files: Vec<DiffedFile>,
    /// There are more files than these.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub files_cut: bool,
    /// A part of the diff as git writes it.
    pub diff: Lines,
}

#[derive(Clone, Debug, Serialize)]
pub struct DiffedFile {
    pub path: String,
    /// `added`, `deleted`, `modified`, `retyped` or `renamed`.
    pub change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    pub added: u64,
    pub removed: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// Whether lines of it, or the ends of some, are left out
    pub cut: bool,
}

/// So many files are named.
const FILES_MAX: usize = 300;

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<DiffWanted>(
        "git_diff",
        "What differs between two commits of the job: the files, and the lines as a diff. Without arguments it is what the \
         phase under way changed.",
        |engine, by, job, wanted| Box::pin(async move { told(&engine.git_diff(by, job, &wanted).await?) }),
    )
}

impl Engine {
    pub async fn git_diff(
        &self,
        by: &Principal,
        job: &str,
        wanted: &DiffWanted,
    ) -> Result<GitDiff, EngineError> {
        let (older, newer) = (wanted.from.clone(), wanted.to.clone());
        let (run, from, to, diff) = self
            .in_workspace(by, job, move |workspace| {
                let from = workspace.commit(Some(older.as_deref().unwrap_or("base")))?;
                let to = workspace.commit(newer.as_deref())?;
                let diff = workspace.repository.bare.diff(&from, &to, &DiffLimits::default())?;
                Ok((workspace.run.id.clone(), from, to, diff))
            })
            .await?;
        let diffed = wanted.part.of(diff, |text| clean(self, &run, text.as_bytes()));
        Ok(GitDiff { from: from.to_string(), to: to.to_string(), diffed })
    }
}

impl DiffPart {
    pub(super) fn of(&self, diff: Diff, clean: impl Fn(&str) -> String) -> Diffed {
        let mut files = diff.files;
        if let Some(pattern) = self.file.as_deref().filter(|pattern| !pattern.is_empty()) {
            files.retain(|file| is_of(pattern, &file.path.to_string()));
        }
        let mut text = String::new();
        for file in &files {
            write_file(&mut text, file);
        }
        Diffed {
            added: files.iter().map(|file| file.added).sum(),
            removed: files.iter().map(|file| file.removed).sum(),
            files_cut: files.len() > FILES_MAX,
            files: files.iter().take(FILES_MAX).map(DiffedFile::of).collect(),
            diff: lines(&clean(&text), self.first_line, self.lines),
        }
    }
}

impl DiffedFile {
    fn of(file: &FileDiff) -> DiffedFile {
        let (change, renamed_from) = match &file.change {
            Change::Added => ("added", None),
            Change::Deleted => ("deleted", None),
            Change::Modified => ("modified", None),
            Change::Retyped => ("retyped", None),
            Change::Renamed { from, .. } => ("renamed", Some(from.to_string())),
        };
        DiffedFile {
            path: file.path.to_string(),
            change,
            renamed_from,
            added: file.added,
            removed: file.removed,
            binary: file.binary,
            cut: file.is_cut(),
        }
    }
}

/// A file of a diff as git writes it.
fn write_file(text: &mut String, file: &FileDiff) {
    let new = file.path.to_string();
    let old = match &file.change {
        Change::Renamed { from, .. } => from.to_string(),
        _ => new.clone(),
    };
    let _ = writeln!(text, "diff --git a/{old} b/{new}");
    let old_side = if file.change == Change::Added { "/dev/null".to_owned() } else { format!("a/{old}") };
    let new_side = if file.change == Change::Deleted { "/dev/null".to_owned() } else { format!("b/{new}") };
    if file.binary {
        let _ = writeln!(text, "Binary files {old_side} and {new_side} differ");
        return;
    }
    if !file.hunks.is_empty() {
        let _ = writeln!(text, "--- {old_side}\n+++ {new_side}");
    }
    for hunk in &file.hunks {
        write_hunk(text, hunk);
    }
    if file.cut {
        text.push_str("… more of this file is left out: read it with read_workspace_file\n");
    }
}

fn write_hunk(text: &mut String, hunk: &Hunk) {
    let count = |without: LineKind| hunk.lines.iter().filter(|line| line.kind != without).count();
    let old = hunk.lines.iter().find_map(|line| line.old_number).unwrap_or(0);
    let new = hunk.lines.iter().find_map(|line| line.new_number).unwrap_or(0);
    let (olds, news) = (count(LineKind::Added), count(LineKind::Removed));
    let heading = if hunk.heading.is_empty() { String::new() } else { format!(" {}", hunk.heading) };
    let _ = writeln!(text, "@@ -{old},{olds} +{new},{news} @@{heading}");
    for line in &hunk.lines {
        let sign = match line.kind {
            LineKind::Same => ' ',
            LineKind::Added => '+',
            LineKind::Removed => '-',
        };
        let cut = match line.cut_bytes {
            0 => String::new(),
            bytes => format!("… {bytes} more bytes of this line are left out"),
        };
        let _ = writeln!(text, "{sign}{}{cut}", line.text);
        if line.no_line_break {
            text.push_str("\\ No newline at end of file\n");
        }
    }
}

/// What a commit changed, beside its first parent.
pub(super) fn parent_or_nothing(bare: &checkrein_forge::Bare, parents: &[Oid]) -> Result<Oid, EngineError> {
    Ok(match parents.first() {
        Some(parent) => parent.clone(),
        None => bare.empty_tree()?,
    })
}
