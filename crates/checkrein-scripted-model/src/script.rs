//! What a model says, and when.

use serde::Deserialize;
use serde_json::Value;

/// A script, as tests write it in JSON:
///
/// ```json
/// {"answers": [
///    {"says": "Phase 1 (strategic)", "turns": [
///       {"calls": [{"run": "echo plan > plan.md"}]},
///       {"text": "I plan.", "calls": [{"tool": "next_phase_todos", "input": {"todos": ["write it"]}}]},
///       {"text": "done", "usage": {"input": 100, "output": 20}}]}],
///  "otherwise": "ok", "context_bytes_max": 100000}
/// ```
///
/// The newest message of a person for which an answer is there decides; how many turns the model had since then says
/// which of its turns comes now. So a request that is sent again gets the same answer, and what agents ask
/// beside their work (a title for it) is answered with `otherwise`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    pub answers: Vec<Answer>,
    /// What is said where no answer fits, or no turn is left.
    pub otherwise: Option<String>,
    /// A longer request is refused as more than the model's context holds.
    pub context_bytes_max: Option<usize>,
    /// Every request with another key is refused.
    pub key: Option<String>,
    /// What `POST …/embeddings` answers.
    pub embeddings: Embeddings,
}

/// Vectors of texts: one dimension for each group of words, and some more in which all other words are counted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Embeddings {
    /// Words that mean the same.
    pub alike: Vec<Vec<String>>,
    /// Every request is refused with this status.
    pub status: Option<u16>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answer {
    /// Texts that are all in the message.
    pub says: Texts,
    /// Texts of which none is in the message.
    pub without: Texts,
    /// A text that is somewhere in the whole request.
    pub anywhere: Option<String>,
    pub turns: Vec<Turn>,
    /// Whether the last turn comes again and again.
    pub forever: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    pub text: Option<String>,
    pub calls: Vec<Call>,
    pub usage: Option<Usage>,
    pub fault: Option<Fault>,
    /// How long it takes to answer.
    pub delay_ms: u64,
}

/// A tool that is called.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Call {
    /// A shell command, by whichever tool the agent has for that.
    Run { run: String },
    /// A tool by its name, or by how its name ends: `mcp__checkrein__todo_list` is also `todo_list`.
    Tool {
        tool: String,
        #[serde(default)]
        input: Value,
        /// The arguments as they are sent, which need not be JSON.
        #[serde(default)]
        raw: Option<String>,
    },
}

/// Something that goes wrong instead of the answer, `times` times.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// An HTTP status.
    #[serde(default)]
    pub status: Option<u16>,
    #[serde(default)]
    pub retry_after: Option<u64>,
    /// The stream ends in the middle.
    #[serde(default)]
    pub cut: bool,
    /// The connection is closed without an answer.
    #[serde(default)]
    pub drop: bool,
    /// The answer has nothing in it.
    #[serde(default)]
    pub empty: bool,
    /// How often; always, if absent.
    #[serde(default)]
    pub times: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
}

/// One text, or several.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "OneOrMore")]
pub struct Texts(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl From<OneOrMore> for Texts {
    fn from(texts: OneOrMore) -> Texts {
        Texts(match texts {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(texts) => texts,
        })
    }
}

impl Script {
    pub fn read(text: &str) -> Result<Script, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The same from what `serde_json::json!` makes.
    pub fn of(value: Value) -> Result<Script, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }
}

impl Answer {
    pub(crate) fn fits(&self, message: &str, whole: &str) -> bool {
        self.says.0.iter().all(|text| message.contains(text.as_str()))
            && !self.without.0.iter().any(|text| message.contains(text.as_str()))
            && self.anywhere.as_ref().is_none_or(|text| whole.contains(text.as_str()))
    }

    pub(crate) fn turn(&self, number: usize) -> Option<(usize, &Turn)> {
        let last = self.turns.len().checked_sub(1)?;
        let number = if self.forever { number.min(last) } else { number };
        self.turns.get(number).map(|turn| (number, turn))
    }
}
