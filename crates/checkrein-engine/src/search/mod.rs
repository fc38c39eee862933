//! Searching the workspace of a job: by words, by meaning, or both.

mod background;
mod index;
mod warm;

use std::time::{Duration, Instant};

use checkrein_core::config::Settings;
use checkrein_core::principal::Principal;
use checkrein_core::run::{HoldKind, RunId, RunStatus};
use checkrein_search::{Embedder, Endpoint, Snippet, Vector, fuse, nearest, snippet, terms, weight_by_words};
use checkrein_store::{FoundChunk, IndexPlace, SearchIndex};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::authority::{Act, require};
use crate::job::{JobPlace, blocking};
use crate::run::RunView;
use crate::{Engine, EngineError};
use background::Background;
pub(crate) use index::phase_of_title;
use warm::Warm;

/// What is searched for.
#[derive(Clone, Debug, Default)]
pub struct SearchRequest {
    pub query: String,
    pub by: SearchBy,
    /// A file, a directory, or a pattern such as `archive/**`.
    pub file: Option<String>,
    /// Files that this phase changed last: `phase-2-tactical`, or its number.
    pub phase: Option<String>,
    pub limit: usize,
    /// How long texts without a vector may be read before the answer.
    pub patience: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchBy {
    /// The two rankings made one.
    #[default]
    Both,
    Words,
    Meaning,
}

#[derive(Clone, Debug, Serialize)]
pub struct SearchAnswer {
    #[serde(rename = "run_id")]
    pub run: RunId,
    /// The commit that is searched.
    pub head: String,
    /// The phase that was held with it.
    pub phase: String,
    pub indexed_at: Timestamp,
    pub by: SearchBy,
    pub chunks: u64,
    /// Chunks that can be found by words alone until the model has read them.
    pub unread: u64,
    pub hits: Vec<SearchHit>,
    /// What whoever reads it should know.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SearchHit {
    pub file: String,
    pub phase: Option<String>,
    pub heading: String,
    pub first_line: u32,
    pub last_line: u32,
    #[serde(flatten)]
    pub snippet: Snippet,
    pub score: f32,
    /// Where it stood in each ranking, from 1.
    pub rank_by_words: Option<usize>,
    pub rank_by_meaning: Option<usize>,
}

/// What an engine keeps for searching.
pub(crate) struct Searching {
    embedder: Embedder,
    /// What is wrong with the endpoint that was named.
    trouble: Option<String>,
    warm: Warm,
    background: Background,
}

/// How much of each ranking is fused.
const RANKED: usize = 60;
const SNIPPET_CHARS: usize = 240;
/// More is no question.
const QUERY_CHARS_MAX: usize = 1_000;
pub(crate) const HITS_MAX: usize = 100;

impl Searching {
    pub fn new(settings: &Settings) -> Searching {
        let (embedder, trouble) = match settings.embeddings() {
            None => (Embedder::Builtin, None),
            Some(shape) => {
                let key = shape.key_env.as_ref().and_then(|name| settings.variable(name));
                // Whoever set another one up was first, which is as good.
                let _ = rustls::crypto::ring::default_provider().install_default();
                match Endpoint::new(&shape.url, &shape.model, key) {
                    Ok(endpoint) => (Embedder::Endpoint(endpoint), None),
                    Err(error) => (Embedder::Builtin, Some(error.to_string())),
                }
            }
        };
        let background = Background::new(embedder.clone());
        Searching { embedder, trouble, warm: Warm::default(), background }
    }
}

impl Engine {
    /// Searches the workspace a job was last held with. What was pushed since is taken in first.
    pub async fn search(
        &self,
        by: &Principal,
        run: &str,
        request: &SearchRequest,
    ) -> Result<SearchAnswer, EngineError> {
        require(by, Act::Read)?;
        let id = self.seen_run(by, run).await?;
        self.search_of(&self.load_run(&id).await?, request).await
    }

    pub(crate) async fn search_of(
        &self,
        view: &RunView,
        request: &SearchRequest,
    ) -> Result<SearchAnswer, EngineError> {
        let query: String = request.query.chars().take(QUERY_CHARS_MAX).collect();
        if query.trim().is_empty() {
            return Err(EngineError::Empty("query"));
        }
        let run = &view.run;
        if run.job().is_none() {
            return Err(EngineError::NotAJob(run.id.clone()));
        }
        if let Err(error) = self.index_held(view).await {
            // What was indexed before is better than nothing.
            if !self.index_place(&run.id).is_there()? {
                return Err(error);
            }
        }
        let model = self.searching.embedder.name();
        let mut index = self.existing_index(view)?;
        let state = self.searching.warm.state(&run.id, &index, &model)?;
        let state = state.ok_or_else(|| no_index(view))?;
        let mut notes: Vec<String> = self.searching.trouble.clone().into_iter().collect();
        let mut unread = state.missing;
        if unread > 0 && request.by != SearchBy::Words {
            drop(index);
            unread = self.read_unread(&run.id, request.patience, unread, &mut notes).await;
            index = self.existing_index(view)?;
        }
        let files = files_wanted(&index, request)?;
        let words = terms(&query);
        let by_words = match request.by {
            SearchBy::Meaning => Vec::new(),
            _ => index.by_words(&words, files.as_deref(), RANKED)?,
        };
        drop(index);
        let asked = match request.by {
            SearchBy::Words => None,
            _ => Some(self.asked(&query).await),
        };
        let index = self.existing_index(view)?;
        let (mut used, mut by_meaning) = (request.by, Vec::new());
        match asked {
            None => {}
            Some(Ok(asked)) => by_meaning = self.near(&run.id, &index, &model, &asked, files.as_deref())?,
            Some(Err(error)) if request.by == SearchBy::Both => {
                notes.push(format!("found by words alone: {error}"));
                used = SearchBy::Words;
            }
            Some(Err(error)) => return Err(error),
        }
        if unread > 0 && used != SearchBy::Words {
            notes.push(format!(
                "{unread} of {} passages are found by their words alone until the model has read them",
                state.chunks
            ));
        }
        for (path, why) in &state.unreadable {
            notes.push(format!("`{path}` is not searched: {why}"));
        }
        let hits = hits(&index, &words, &by_words, &by_meaning, request.limit.clamp(1, HITS_MAX))?;
        Ok(SearchAnswer {
            run: run.id.clone(),
            head: state.head.clone(),
            phase: state.phase.clone(),
            indexed_at: state.built_at,
            by: used,
            chunks: state.chunks,
            unread,
            hits,
            notes,
        })
    }

    /// The vector of a question.
    async fn asked(&self, query: &str) -> Result<Vector, EngineError> {
        let asked = match self.searching.embedder.clone() {
            // It takes a while, and blocks the thread it is on.
            Embedder::Builtin => {
                let query = query.to_owned();
                blocking(move || {
                    let model = checkrein_search::Model::builtin();
                    Ok(model.map(|model| model.embed(&query)))
                })
                .await?
            }
            endpoint => {
                let found = endpoint.embed(&[query], 1).await;
                found.map_err(|error| EngineError::Embedding(error.to_string()))?.pop()
            }
        };
        asked.ok_or_else(|| EngineError::Embedding("the model has no answer".to_owned()))
    }

    /// The nearest chunks, as far as they have vectors.
    fn near(
        &self,
        id: &RunId,
        index: &SearchIndex,
        model: &str,
        asked: &Vector,
        files: Option<&[i64]>,
    ) -> Result<Vec<i64>, EngineError> {
        let numbers: Vec<f32> = asked.numbers().collect();
        if let Some(found) = index.nearest(model, &numbers, files, RANKED)? {
            return Ok(found);
        }
        let vectors = self.searching.warm.vectors(id, index, model)?;
        let among = vectors.iter().filter(|known| files.is_none_or(|files| files.contains(&known.file)));
        let found = nearest(asked, among.map(|known| (known.chunk, &known.vector)), RANKED);
        Ok(found.into_iter().map(|(chunk, _)| chunk).collect())
    }

    /// Lets the model read what it has not, as long as there is patience; what is left is read in the background.
    async fn read_unread(&self, id: &RunId, patience: Duration, unread: u64, notes: &mut Vec<String>) -> u64 {
        let mut unread = unread;
        if !patience.is_zero() {
            let (place, embedder, until) =
                (self.index_place(id), self.searching.embedder.clone(), Instant::now() + patience);
            let reading = tokio::task::spawn_blocking(move || {
                background::read(&place, &embedder, &mut || Instant::now() < until)
            });
            match reading.await {
                Ok(Ok(left)) => unread = left,
                Ok(Err(error)) => notes.push(error.to_string()),
                Err(error) => notes.push(error.to_string()),
            }
        }
        if unread > 0 {
            self.searching.background.ask(self.index_place(id));
        }
        unread
    }

    fn index_place(&self, id: &RunId) -> IndexPlace {
        self.store.index(id.as_str(), &JobPlace::of(&self.store, id).index())
    }

    fn existing_index(&self, view: &RunView) -> Result<SearchIndex, EngineError> {
        self.index_place(&view.run.id).open_existing()?.ok_or_else(|| no_index(view))
    }

    /// What is over is not searched any more (L13); what failed is kept for whoever asks why (X20).
    pub(crate) fn forget_index_of(&self, run: &checkrein_core::run::Run) {
        let over = matches!(
            run.state.status,
            RunStatus::Completed | RunStatus::CompletedWithWarnings | RunStatus::Cancelled
        );
        if over && run.job().is_some() {
            self.forget_index(&run.id);
        }
    }

    /// What is left behind because the store cannot be reached can be found by nobody who looks for it, and goes when
    /// the job is forgotten.
    pub(crate) fn forget_index(&self, id: &RunId) {
        let _ = self.index_place(id).remove();
        self.searching.warm.forget(id);
    }
}

/// Why there is nothing to search.
fn no_index(view: &RunView) -> EngineError {
    let why = match view.run.state.status {
        RunStatus::Completed | RunStatus::CompletedWithWarnings | RunStatus::Cancelled => {
            "an index goes when its job is over"
        }
        _ => "it was not held for a review yet",
    };
    EngineError::NoIndex { id: view.run.id.clone(), why }
}

fn hits(
    index: &SearchIndex,
    words: &[String],
    by_words: &[i64],
    by_meaning: &[i64],
    limit: usize,
) -> Result<Vec<SearchHit>, EngineError> {
    let weighted = index.chunks(by_words)?;
    let weight = |chunk: &FoundChunk| weight_by_words(&format!("{} {}", chunk.heading, chunk.text), words);
    let weighted: Vec<(i64, f32)> = if by_meaning.is_empty() {
        by_words.iter().map(|id| (*id, 1.0)).collect()
    } else {
        weighted.iter().map(|chunk| (chunk.id, weight(chunk))).collect()
    };
    let near: Vec<(i64, f32)> = by_meaning.iter().map(|id| (*id, 1.0)).collect();
    let fused = fuse(&[&weighted, &near]);
    let ids: Vec<i64> = fused.iter().take(limit).map(|(chunk, _)| *chunk).collect();
    let rank = |ranking: &[i64], id: i64| ranking.iter().position(|known| *known == id).map(|rank| rank + 1);
    let found = index.chunks(&ids)?;
    Ok(found
        .into_iter()
        .map(|chunk| SearchHit {
            score: fused.iter().find(|(id, _)| *id == chunk.id).map_or(0.0, |(_, score)| *score),
            rank_by_words: rank(by_words, chunk.id),
            rank_by_meaning: rank(by_meaning, chunk.id),
            snippet: snippet(&chunk.text, words, SNIPPET_CHARS),
            file: chunk.path,
            phase: chunk.phase,
            heading: chunk.heading,
            first_line: chunk.first_line,
            last_line: chunk.last_line,
        })
        .collect())
}

/// The files a search is restricted to; none where it is not.
fn files_wanted(index: &SearchIndex, request: &SearchRequest) -> Result<Option<Vec<i64>>, EngineError> {
    if request.file.is_none() && request.phase.is_none() {
        return Ok(None);
    }
    let files = index.files()?;
    let wanted = files.iter().filter(|file| {
        request.file.as_deref().is_none_or(|pattern| is_of(pattern, &file.path))
            && request.phase.as_deref().is_none_or(|phase| is_phase(phase, file.phase.as_deref()))
    });
    Ok(Some(wanted.map(|file| file.id).collect()))
}

/// Whether a run waits for a review of its workspace.
fn waits_for_review(view: &RunView) -> bool {
    view.run.state.status == RunStatus::Held
        && view.run.state.hold.as_ref().is_some_and(|hold| hold.kind == HoldKind::Review)
}

pub(crate) fn is_of(pattern: &str, path: &str) -> bool {
    let pattern = pattern.trim_start_matches("./");
    let directory = pattern.trim_end_matches('/');
    path == pattern
        || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
        || path.rsplit('/').next() == Some(pattern)
        || (pattern.contains(['*', '?', '[', '{']) && fast_glob::glob_match(pattern, path))
}

pub(crate) fn is_phase(wanted: &str, phase: Option<&str>) -> bool {
    phase.is_some_and(|phase| {
        phase == wanted
            || phase.strip_prefix("phase-").and_then(|rest| rest.split('-').next()) == Some(wanted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_path_name_directory_or_pattern() {
        for (pattern, path, expected) in [
            ("plan.md", "plan.md", true),
            ("plan.md", ".checkrein/job/plan.md", true),
            ("./docs", "docs/a.md", true),
            ("docs/", "docs/a.md", true),
            ("doc", "docs/a.md", false),
            ("**/*.md", "docs/a.md", true),
            ("*.yaml", "todos.yaml", true),
            ("*.yaml", "plan.md", false),
        ] {
            assert_eq!(is_of(pattern, path), expected, "{pattern} {path}");
        }
        assert!(
            is_phase("2", Some("phase-2-tactical")) && is_phase("phase-2-tactical", Some("phase-2-tactical"))
        );
        assert!(!is_phase("2", Some("phase-22-tactical")) && !is_phase("2", None));
    }
}
