//! What was found in a workspace, as programs see it.

use checkrein_engine::{SearchAnswer, SearchBy};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How texts are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// By words and by meaning, made one ranking.
    #[default]
    Both,
    Words,
    Meaning,
}

impl From<By> for SearchBy {
    fn from(by: By) -> SearchBy {
        match by {
            By::Both => SearchBy::Both,
            By::Words => SearchBy::Words,
            By::Meaning => SearchBy::Meaning,
        }
    }
}

impl From<SearchBy> for By {
    fn from(by: SearchBy) -> By {
        match by {
            SearchBy::Both => By::Both,
            SearchBy::Words => By::Words,
            SearchBy::Meaning => By::Meaning,
        }
    }
}

/// What was found in the workspace of a job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Search {
    pub run_id: String,
    /// The commit that was searched
    pub head: String,
    /// The phase that was held with it
    pub phase: String,
    pub indexed_at: Timestamp,
    pub by: By,
    /// Passages in the index
    pub chunks: u64,
    /// Passages that are found by their words alone until the model has read them
    pub unread: u64,
    /// The best first
    pub hits: Vec<Hit>,
    /// What is worth knowing about this answer
    pub notes: Vec<String>,
}

/// A passage that was found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    pub file: String,
    /// The phase that changed the file last
    pub phase: Option<String>,
    /// The headings above it, outermost first
    pub heading: String,
    pub first_line: u32,
    pub last_line: u32,
    /// The part of the passage that fits best
    pub snippet: String,
    /// Where words of the query are in the snippet, in characters: from, up to and without
    pub marks: Vec<(usize, usize)>,
    pub score: f32,
    /// Its place in the ranking by words, from 1
    pub rank_by_words: Option<usize>,
    /// Its place in the ranking by meaning, from 1
    pub rank_by_meaning: Option<usize>,
}

impl From<SearchAnswer> for Search {
    fn from(answer: SearchAnswer) -> Search {
        let hits = answer.hits.into_iter().map(|hit| Hit {
            file: hit.file,
            phase: hit.phase,
            heading: hit.heading,
            first_line: hit.first_line,
            last_line: hit.last_line,
            snippet: hit.snippet.text,
            marks: hit.snippet.marks,
            score: hit.score,
            rank_by_words: hit.rank_by_words,
            rank_by_meaning: hit.rank_by_meaning,
        });
        Search {
            run_id: answer.run.to_string(),
            head: answer.head,
            phase: answer.phase,
            indexed_at: answer.indexed_at,
            by: answer.by.into(),
            chunks: answer.chunks,
            unread: answer.unread,
            hits: hits.collect(),
            notes: answer.notes,
        }
    }
}
