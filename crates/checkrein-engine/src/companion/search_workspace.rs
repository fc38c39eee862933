use checkrein_core::principal::Principal;
use checkrein_forge::Letters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::shortened;
use super::workspace::clean;
use super::{ReadTool, told};
use crate::search::is_of;
use crate::{Engine, EngineError};

/// What is looked for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct TextWanted {
    /// A text as it stands in a line, not a pattern
    #[schemars(length(min = 1))]
    pub text: String,
    /// Whether large and small letters differ
    #[serde(default)]
    pub exact_case: bool,
    /// Only in this file, this directory, or files of this pattern
    pub file: Option<String>,
    /// In this commit: `head` (the default), `base`, `main`, `start`, a branch, a phase or a commit
    pub at: Option<String>,
    /// Leave out so many of the first, as an answer names it in `next`
    pub after: Option<usize>,
    /// How many at most, 50 by default
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<usize>,
}

/// Lines with a text in them, in the order of paths.
#[derive(Clone, Debug, Serialize)]
pub struct TextFound {
    pub commit: String,
    pub hits: Vec<TextHit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
    /// There are more than were looked at: ask for less.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct TextHit {
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    pub text: String,
}

/// So much of git's answer is read.
const BYTES_MAX: usize = 4 << 20;
const LINE_CHARS_MAX: usize = 400;

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<TextWanted>(
        "search_workspace",
        "Finds every line of the job's workspace that has a text in it, letter by letter, in all text files. For a \
         question or words that may stand otherwise there, vector_search is better.",
        |engine, by, job, wanted| {
            Box::pin(async move { told(&engine.text_in_workspace(by, job, &wanted).await?) })
        },
    )
}

impl Engine {
    pub async fn text_in_workspace(
        &self,
        by: &Principal,
        job: &str,
        wanted: &TextWanted,
    ) -> Result<TextFound, EngineError> {
        if wanted.text.trim().is_empty() {
            return Err(EngineError::Empty("text"));
        }
        if wanted.text.contains(['\n', '\r', '\0']) {
            let reason = "`text` has to be one line".to_owned();
            return Err(EngineError::Arguments { tool: "search_workspace", reason });
        }
        let letters = if wanted.exact_case { Letters::AsTheyAre } else { Letters::Either };
        let (text, at) = (wanted.text.clone(), wanted.at.clone());
        let (run, commit, found) = self
            .in_workspace(by, job, move |workspace| {
                let commit = workspace.commit(at.as_deref())?;
                let found = workspace.repository.bare.grep(&commit, &text, letters, BYTES_MAX)?;
                Ok((workspace.run.id.clone(), commit, found))
            })
            .await?;
        let same = |line: &str| match letters {
            Letters::AsTheyAre => line.contains(&wanted.text),
            Letters::Either => line.to_lowercase().contains(&wanted.text.to_lowercase()),
        };
        let in_file = |path: &str| {
            wanted.file.as_deref().is_none_or(|pattern| pattern.is_empty() || is_of(pattern, path))
        };
        let hits = found.found.into_iter().filter_map(|hit| {
            let file = hit.path.to_string();
            if !in_file(&file) {
                return None;
            }
            // Whoever looks for a part of a secret must not learn that it is there.
            let clean = clean(self, &run, hit.text.as_bytes());
            (clean == hit.text || same(&clean)).then_some(TextHit { file, line: hit.line, text: clean })
        });
        let (skip, limit) = (wanted.after.unwrap_or(0), wanted.limit.unwrap_or(50).clamp(1, 500));
        let mut hits = hits.skip(skip);
        let page: Vec<TextHit> = hits
            .by_ref()
            .take(limit)
            .map(|hit| TextHit { text: shortened(&hit.text, LINE_CHARS_MAX), ..hit })
            .collect();
        let next = hits.next().map(|_| skip.saturating_add(limit));
        Ok(TextFound { commit: commit.to_string(), hits: page, next, cut: found.cut })
    }
}
