//! aider: `aider --message-file`, text. It has no tools of MCP, so its result is read from what its model says, which it
//! keeps in a file as it was said: what it prints is broken into lines and mixed with words of its own.

use std::path::{Path, PathBuf};

use checkrein_core::activity::Did;
use serde_json::json;

use super::trouble::Trouble;
use super::{Invocation, Prompt, Reader, path, program, raw};
use crate::regular;
use crate::task::AgentTask;

pub const VARIABLES: &[&str] = &[
    "OPENAI_API_KEY",
    "OPENAI_API_BASE",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_API_BASE",
    "ANTHROPIC_BASE_URL",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
    "AZURE_API_KEY",
    "AZURE_API_BASE",
    "AZURE_API_VERSION",
    "OLLAMA_API_BASE",
    "OLLAMA_API_KEY",
    "VERTEXAI_PROJECT",
    "VERTEXAI_LOCATION",
    "AIDER_MODEL",
    "AIDER_WEAK_MODEL",
    "AIDER_EDIT_FORMAT",
    "AIDER_CONFIG_FILE",
];

pub const CREDENTIALS: &[(&str, &str)] = &[
    (".aider.conf.yml", ".aider.conf.yml"),
    (".aider.model.settings.yml", ".aider.model.settings.yml"),
    (".aider.model.metadata.json", ".aider.model.metadata.json"),
    (".aider/oauth-keys.env", ".aider/oauth-keys.env"),
];

/// How it is told to hand in. Not in a fence: where a model writes whole files, aider takes whatever is fenced for one.
pub const HOW: &str = "\
You cannot write that file. Instead end your last answer with the JSON object, on lines of its own and not in a code \
block, in this way:

<checkrein-result>
{\"summary\": \"what you did\"}
</checkrein-result>

What you change is committed for you after each answer, and you run no commands.
";

/// What its model said, of one call.
const HISTORY: &str = "aider.llm.history";
const CHAT: &str = "aider.chat.history.md";
/// The directory it makes where it works; its name ends with the version of what is in it.
const CACHE: &str = ".aider.tags.cache.v4";
const CACHES: &str = ".aider.tags.cache.";
/// What a phase said before fits into this; more than that aider has its model shorten.
const CHAT_TOKENS_MAX: &str = "16000";

const ALONE: [&str; 13] = [
    "--yes-always",
    "--no-pretty",
    // Its counts of tokens are true where nothing is streamed, and what it prints then comes all at once.
    "--no-stream",
    "--no-fancy-input",
    "--no-check-update",
    "--no-show-release-notes",
    "--no-analytics",
    "--no-show-model-warnings",
    "--no-gitignore",
    "--no-detect-urls",
    "--no-suggest-shell-commands",
    "--no-notifications",
    "--disable-playwright",
];

pub fn invocation(task: &AgentTask, prompt: &Prompt<'_>) -> Invocation {
    let message = task.home.join("aider-message.md");
    let mut args = ALONE.map(str::to_owned).to_vec();
    args.extend(["--message-file".to_owned(), path(&message)]);
    let (chat, history) = (task.home.join(CHAT), task.home.join(HISTORY));
    for (option, file) in [
        ("--chat-history-file", &chat),
        ("--input-history-file", &task.home.join("aider.input.history")),
        ("--llm-history-file", &history),
    ] {
        args.extend([option.to_owned(), path(file)]);
    }
    // What it knows of the code it keeps among the files it works on; there it must not become part of them.
    let own = PathBuf::from(CACHE).join(".gitignore");
    let mut files =
        vec![(message, prompt.text.to_owned()), (history, String::new()), (own, "*\n".to_owned())];
    match prompt.session {
        Some(_) => args.extend(
            ["--restore-chat-history", "--max-chat-history-tokens", CHAT_TOKENS_MAX].map(str::to_owned),
        ),
        // It would go on with what it said in another phase.
        None => files.push((chat, String::new())),
    }
    if let Some(model) = task.spec.model(task.kind) {
        args.extend(["--model".to_owned(), model.to_owned()]);
    }
    args.extend(task.spec.args.iter().cloned());
    let mut env: Vec<(String, String)> = [
        // What it prints comes at once, and in lines as long as they are.
        ("PYTHONUNBUFFERED", "1"),
        ("COLUMNS", "1000000"),
        // It says yes to pages it offers to open, and nobody is there to look at them.
        ("BROWSER", "true"),
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    if task.sandboxed {
        env.push(("HOME".to_owned(), path(&task.home)));
    }
    Invocation { program: program(&task.spec, "aider"), args, env, stdin: String::new(), files }
}

/// The same for a directory of another version, which shows only when it is there.
pub fn tidy(place: &Path) {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(CACHES)) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = regular::replace(&entry.path().join(".gitignore"), b"*\n");
        }
    }
}

/// What it prints, told apart: its own words, and those of its model, which are taken from its file.
pub struct Lines {
    agent: String,
    history: PathBuf,
    begun: bool,
    /// Lines that may be words of its model; what they are shows when these are counted.
    held: Vec<String>,
    answers: Vec<String>,
    edits: usize,
    usage: Usage,
    trouble: Option<String>,
    hopeless: bool,
}

impl Lines {
    pub fn new(agent: &str, home: &Path) -> Lines {
        Lines {
            agent: agent.to_owned(),
            history: home.join(HISTORY),
            begun: false,
            held: Vec::new(),
            answers: Vec::new(),
            edits: 0,
            usage: Usage::default(),
            trouble: None,
            hopeless: false,
        }
    }

    fn begin(&mut self, model: Option<&str>) -> Vec<Did> {
        if std::mem::replace(&mut self.begun, true) {
            return Vec::new();
        }
        // What it said is in files of its own; going on needs no name.
        let session = Some(self.agent.clone());
        vec![Did::Began { agent: self.agent.clone(), model: model.map(str::to_owned), session }]
    }

    /// What its model said since it was last asked, and what of the lines that are held it did not say.
    fn answered(&mut self) -> Vec<Did> {
        let history = regular::read(&self.history).unwrap_or_default();
        let all = answers(&String::from_utf8_lossy(&history));
        let said = |line: &str| all.iter().flat_map(|answer| answer.lines()).any(|one| one.trim() == line);
        let mut did: Vec<Did> = std::mem::take(&mut self.held)
            .iter()
            .filter(|line| !line.trim().is_empty() && !said(line.trim()))
            .flat_map(|line| raw(line))
            .collect();
        let new = all.iter().skip(self.answers.len());
        did.extend(new.map(|answer| Did::Said { text: answer.clone() }));
        self.answers = all;
        did
    }

    fn told(&mut self, line: &str) -> Option<Vec<Did>> {
        if let Some(model) =
            line.strip_prefix("Main model: ").or_else(|| line.strip_prefix("Model: ")).filter(|_| !self.begun)
        {
            return Some(self.begin(model.split_whitespace().next()));
        }
        if let Some(used) = self.usage.read(line) {
            // What went wrong before did not stay so.
            self.trouble = None;
            let mut did = self.answered();
            did.push(used);
            return Some(did);
        }
        if let Some(file) = line.strip_prefix("Applied edit to ") {
            self.edits += 1;
            let (id, tool) = (format!("edit-{}", self.edits), "edit".to_owned());
            return Some(vec![Did::Called { id, tool, input: json!({"path": file}), command: None }]);
        }
        if line.starts_with("litellm.") && line.split(':').next().is_some_and(|name| !name.contains(' ')) {
            self.trouble = Some(line.to_owned());
            return Some(raw(line));
        }
        if let Some(seconds) = line.strip_prefix("Retrying in ").and_then(|rest| rest.split(' ').next()) {
            let seconds = seconds.parse::<f64>().ok()?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a time that is waited"
            )]
            let wait_ms = (seconds.max(0.0) * 1e3) as u64;
            return Some(vec![Did::Waited { why: self.trouble.clone().unwrap_or_default(), wait_ms }]);
        }
        if line.starts_with("Model ") && line.ends_with(" has hit a token limit!") {
            self.trouble = Some(line.to_owned());
            return Some(raw(line));
        }
        // It would now wait for minutes for somebody to log in with a browser.
        if line.starts_with("No LLM model was specified") || line.contains("requires an OpenRouter API key") {
            self.trouble = Some(line.to_owned());
            self.hopeless = true;
            return Some(raw(line));
        }
        if line.starts_with("Commit ") {
            // A message for a commit is asked for beside the work; without one it commits all the same.
            self.trouble = None;
            return Some(raw(line));
        }
        let own = ["Aider v", "Weak model: ", "Git repo: ", "Repo-map: "];
        own.iter().any(|word| line.starts_with(word)).then(|| raw(line))
    }
}

impl Reader for Lines {
    fn read(&mut self, line: &str) -> Vec<Did> {
        self.told(line).unwrap_or_else(|| {
            self.held.push(line.to_owned());
            Vec::new()
        })
    }

    fn end(&mut self) -> Vec<Did> {
        let mut did = self.begin(None);
        did.extend(self.answered());
        did
    }

    fn trouble(&self) -> Option<Trouble> {
        self.trouble.as_deref().map(Trouble::told)
    }

    fn is_hopeless(&self) -> bool {
        self.hopeless
    }

    fn said(&self) -> Option<String> {
        (!self.answers.is_empty()).then(|| self.answers.join("\n"))
    }

    fn is_text(&self) -> bool {
        true
    }
}

/// The answers in the file it keeps: a line with the time begins each of them, and every line of it is marked.
fn answers(history: &str) -> Vec<String> {
    let mut answers: Vec<Vec<&str>> = Vec::new();
    let mut inside = false;
    for line in history.lines() {
        if line.starts_with("LLM RESPONSE ") {
            inside = true;
            answers.push(Vec::new());
        } else if let Some(words) = line.strip_prefix("ASSISTANT").filter(|_| inside) {
            if let Some(answer) = answers.last_mut() {
                answer.push(words.strip_prefix(' ').unwrap_or(words));
            }
        } else {
            inside = false;
        }
    }
    let answers = answers.into_iter().map(|lines| lines.join("\n").trim_end().to_owned());
    answers.filter(|answer| !answer.is_empty()).collect()
}

/// What it says that was used: `Tokens: 2.4k sent, 36 received. Cost: $0.01 message, $0.02 session.`
#[derive(Debug, Default)]
pub struct Usage {
    tokens: u64,
    cost: Option<f64>,
}

impl Usage {
    /// All that was used so far, if the line tells of more.
    pub fn read(&mut self, line: &str) -> Option<Did> {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("Tokens: ") {
            let (tokens, _) = rest.split_once(" received")?;
            // What was read from a cache was sent as well, and is said a second time.
            let pieces = tokens.split(", ").filter(|piece| !piece.ends_with(" cache hit"));
            let total: f64 = pieces.filter_map(|piece| count(piece.split(' ').next()?)).sum();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of tokens")]
            let total = total.max(0.0) as u64;
            self.tokens = self.tokens.saturating_add(total);
        } else if !line.starts_with("Cost: $") {
            return None;
        }
        let cost = line.split_once("Cost: ").and_then(|(_, cost)| cost.rsplit('$').next());
        let cost = cost.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
        self.cost = cost.or(self.cost);
        Some(Did::Used { tokens: self.tokens, cost: self.cost })
    }
}

fn count(word: &str) -> Option<f64> {
    match (word.strip_suffix('k'), word.strip_suffix('M')) {
        (Some(thousands), _) => Some(thousands.parse::<f64>().ok()? * 1e3),
        (_, Some(millions)) => Some(millions.parse::<f64>().ok()? * 1e6),
        _ => word.replace(',', "").parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it printed, with what is in its file by then; and what was made of it.
    fn heard(history: &str, printed: &str) -> (Vec<Did>, Lines) {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(HISTORY), history).unwrap();
        let mut lines = Lines::new("aider", home.path());
        let mut did: Vec<Did> = printed.lines().flat_map(|line| lines.read(line)).collect();
        did.extend(lines.end());
        (did, lines)
    }

    const HISTORY_OF_TWO: &str = "\
TO LLM 2026-01-01T00:00:00
USER <checkrein-result>
LLM RESPONSE 2026-01-01T00:00:01
ASSISTANT I look.
ASSISTANT 
ASSISTANT <checkrein-result>
ASSISTANT {\"summary\": \"a long line\"}
ASSISTANT </checkrein-result>
TO LLM 2026-01-01T00:00:02
USER I added these files to the chat: a.md
LLM RESPONSE 2026-01-01T00:00:03
ASSISTANT Thank you.
";

    #[test]
    fn the_words_of_its_model_are_told_apart_from_its_own() {
        let printed = "\n\nAider v0.86.2\nMain model: gpt-4o with diff edit format\nWeak model: gpt-4o-mini\n\na.md\nI look.\n\n\
            <checkrein-result>\n{\"summary\": \"a long\nline\"}\n</checkrein-result>\n\nTokens: 1.0k sent, 20 received.\n\
            Thank you.\nTokens: 1.1k sent, 5 received.\nApplied edit to plan.md\nCommit 80262f3 docs: write the plan\n";
        let (did, lines) = heard(HISTORY_OF_TWO, printed);
        let began = Did::Began {
            agent: "aider".to_owned(),
            model: Some("gpt-4o".to_owned()),
            session: Some("aider".to_owned()),
        };
        assert!(did.contains(&began), "{did:?}");
        let said: Vec<&str> = did
            .iter()
            .filter_map(|did| match did {
                Did::Said { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("I look.\n\n<checkrein-result>\n{\"summary\": \"a long line\"}"));
        assert_eq!(said[1], "Thank you.");
        assert!(lines.said().unwrap().contains("{\"summary\": \"a long line\"}"));
        // Nothing its model said is told as something else, and nothing else is lost.
        for (text, expected) in [("I look.", 0), ("Thank you.", 0), ("a.md", 1), ("Aider v0.86.2", 1)] {
            let times = did.iter().filter(|did| **did == Did::Raw { text: text.to_owned() }).count();
            assert_eq!(times, expected, "{text}: {did:?}");
        }
        assert!(did.contains(&Did::Used { tokens: 2125, cost: None }), "{did:?}");
        let edit = did.iter().any(|did| matches!(did, Did::Called { tool, input, .. } if tool == "edit" && input["path"] == "plan.md"));
        assert!(edit, "{did:?}");
        assert_eq!((lines.trouble(), lines.is_hopeless()), (None, false));
    }

    #[test]
    fn what_went_wrong_is_heard_though_it_ends_well() {
        let refused =
            "litellm.AuthenticationError: AuthenticationError: OpenAIException - Incorrect API key provided";
        let limited = "litellm.RateLimitError: RateLimitError: OpenAIException - slow down";
        let used = "Tokens: 1.0k sent, 20 received.";
        for (printed, trouble, hopeless) in [
            (format!("{refused}\nThe API provider is not able to authenticate you.\n"), Some(refused), false),
            (format!("{limited}\nRetrying in 0.2 seconds...\n{limited}\n"), Some(limited), false),
            (format!("{limited}\nRetrying in 0.2 seconds...\n{used}\n"), None, false),
            (format!("{used}\n{limited}\nCommit 1234567 (no commit message provided)\n"), None, false),
            (
                format!("{used}\nModel gpt-4o has hit a token limit!\n"),
                Some("Model gpt-4o has hit a token limit!"),
                false,
            ),
            (
                "No LLM model was specified and no API keys were provided.\n".to_owned(),
                Some("No LLM model was specified and no API keys were provided."),
                true,
            ),
        ] {
            let (did, lines) = heard("", &printed);
            assert_eq!(lines.trouble().map(|trouble| trouble.said).as_deref(), trouble, "{printed}");
            assert_eq!(lines.is_hopeless(), hopeless, "{printed}");
            let waits = did.iter().filter(|did| matches!(did, Did::Waited { wait_ms: 200, .. })).count();
            assert_eq!(waits, printed.matches("Retrying").count(), "{printed}");
        }
    }

    #[test]
    fn what_it_says_about_tokens() {
        for (lines, expected) in [
            ("Tokens: 2.4k sent, 36 received.", Some((2436, None))),
            ("Tokens: 1,234 sent, 5 received. Cost: $0.01 message, $0.02 session.", Some((1239, Some(0.02)))),
            (
                "Tokens: 12k sent, 1.0k cache write, 2.0k cache hit, 1.5k received.\nCost: $0.0027 message, $0.0027 session.",
                Some((14_500, Some(0.0027))),
            ),
            (
                "Tokens: 10 sent, 5 received. Cost: $0.01 message, $0.01 session.\nTokens: 10 sent, 5 received. Cost: $0.01 message, $0.02 session.",
                Some((30, Some(0.02))),
            ),
            ("Tokens are fun", None),
            ("Tokens: many", None),
        ] {
            let mut usage = Usage::default();
            let last = lines.lines().filter_map(|line| usage.read(line)).last();
            assert_eq!(last, expected.map(|(tokens, cost)| Did::Used { tokens, cost }), "{lines}");
        }
    }
}
