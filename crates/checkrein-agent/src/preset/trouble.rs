//! Why a program ended that did not end well: what passes by itself, what a person can do about, and the rest.

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub said: String,
    pub source: Source,
}

/// How it is known what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The program says that its model answered with this status.
    Status(u16),
    /// The program says that the connection to its model broke, or that it never had one.
    Disconnected,
    /// The model answered with nothing at all.
    Silence,
    /// The program says something else.
    Program,
    /// The last lines of its output, which may be about anything.
    Output,
}

/// What becomes of the attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It passes: the attempt is made again after a while.
    Unavailable(String),
    /// A person has to do something first.
    Blocked(String),
    Failed(String),
}

impl Trouble {
    /// What a program says itself about a request to its model.
    pub fn told(said: &str) -> Trouble {
        let source = match status_in(said) {
            Some(status) => Source::Status(status),
            None if says(&said.to_lowercase(), &DISCONNECTED) => Source::Disconnected,
            None => Source::Program,
        };
        Trouble { said: said.to_owned(), source }
    }

    /// The same with the status it names, which says more than its words.
    pub fn with_status(said: &str, status: Option<u16>) -> Trouble {
        match status {
            Some(status) => Trouble { said: said.to_owned(), source: Source::Status(status) },
            None => Trouble::told(said),
        }
    }

    pub fn silence() -> Trouble {
        Trouble { said: "it answered nothing".to_owned(), source: Source::Silence }
    }
}

const NO_MONEY: [&str; 5] =
    ["credit balance", "billing", "insufficient_quota", "insufficient credits", "payment required"];
const NO_KEY: [&str; 5] = [
    "client option must be set",
    "no key is set",
    "no api keys were provided",
    "requires an openrouter api key",
    "not logged in",
];
const LATER: [&str; 10] = [
    "429",
    "rate limit",
    "rate_limit",
    "ratelimiterror",
    "too many requests",
    "usage limit",
    "resource_exhausted",
    "quota",
    "overloaded",
    "529",
];
const REFUSED: [&str; 13] = [
    "401",
    "403",
    "unauthorized",
    "invalid api key",
    "invalid x-api-key",
    "incorrect api key",
    "authentication",
    "authentication_error",
    "authenticationerror",
    "/login",
    "oauth token",
    "permission_error",
    "token expired",
];
const MAYBE_NO_KEY: [&str; 7] =
    ["api key", "api_key", "no auth", "auth method", "credentials", "not authenticated", "log in"];
const DISCONNECTED: [&str; 26] = [
    "econnrefused",
    "econnreset",
    "enotfound",
    "etimedout",
    "connection refused",
    "connection reset",
    "connection error",
    "connection failed",
    "cannot connect to api",
    "socket connection was closed",
    "socket hang up",
    "stream disconnected",
    "stream ended without a finish reason",
    "api error: terminated",
    "error sending request",
    "network error",
    "fetch failed",
    "temporary errors",
    "apiconnectionerror",
    "internalservererror",
    "internal server error",
    "serviceunavailableerror",
    "service unavailable",
    "badgatewayerror",
    "bad gateway",
    "gateway timeout",
];

pub(crate) fn judge(agent: &str, trouble: &Trouble) -> Ending {
    use Ending::{Blocked, Failed, Unavailable};
    let lower = trouble.said.to_lowercase();
    let says = |words: &[&str]| says(&lower, words);
    let what = trouble.said.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let what: String = what.trim_end_matches('.').chars().take(400).collect();
    let status = match trouble.source {
        Source::Status(status) => Some(status),
        _ => None,
    };
    let later = || format!("{agent} was told to come back later: {what}");
    let unreachable = || format!("{agent} cannot reach its model: {what}");
    match status {
        Some(503 | 529) if says(&["overloaded", "529"]) => return Unavailable(later()),
        Some(408 | 500..) => return Unavailable(unreachable()),
        _ => {}
    }
    if says(&NO_MONEY) || status == Some(402) {
        return Blocked(format!("{agent} cannot pay its model: {what}; top up the account, then resume"));
    }
    let no_key = || format!("{agent} has no key for its model: {what}; set the key or log in, then resume");
    if says(&NO_KEY) {
        return Blocked(no_key());
    }
    if status == Some(429) || says(&LATER) {
        return match trouble.source {
            Source::Output => Blocked(format!("{}; resume then, or use another model", later())),
            _ => Unavailable(later()),
        };
    }
    if matches!(status, Some(401 | 403)) || says(&REFUSED) {
        return Blocked(format!(
            "{agent} was refused by its model: {what}; log in again or look at its key, then resume"
        ));
    }
    match trouble.source {
        Source::Disconnected => return Unavailable(unreachable()),
        Source::Silence => return Unavailable(format!("{agent} got no answer from its model: {what}")),
        Source::Status(_) | Source::Program | Source::Output => {}
    }
    if says(&MAYBE_NO_KEY) {
        return Blocked(no_key());
    }
    if says(&DISCONNECTED) {
        return Blocked(format!("{}; look at the network, then resume", unreachable()));
    }
    Failed(trouble.said.clone())
}

fn says(lower: &str, words: &[&str]) -> bool {
    words.iter().any(|word| has_word(lower, word))
}

/// As a word of its own: `1401` is not `401`.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        let part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        !part(before) && !part(after)
    })
}

/// The HTTP status a text names: `API Error: 500`, `last status: 503`, `status code 502`, `"code":503`.
pub(crate) fn status_in(said: &str) -> Option<u16> {
    let lower = said.to_lowercase();
    ["api error", "status code", "statuscode", "status", "http", "code"].iter().find_map(|word| {
        lower.match_indices(word).find_map(|(at, _)| {
            let rest = lower.get(at + word.len()..)?;
            let rest = rest.trim_start_matches([' ', ':', '=', '"', '\'', '(']);
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            rest.get(..end)?.parse().ok().filter(|status| (400..600).contains(status))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_can_do_something_about() {
        for (said, expected) in [
            ("API Error: 401 {\"error\":…}", "was refused by its model"),
            ("Invalid API key · Please run /login", "was refused by its model"),
            ("Your credit balance is too low", "cannot pay its model"),
            ("Missing environment variable: `OPENAI_API_KEY`.\nset api_key", "has no key for its model"),
            (
                "litellm.AuthenticationError: AuthenticationError: OpenAIException - Incorrect API key provided: sk-x",
                "was refused by its model",
            ),
            (
                "litellm.AuthenticationError: AuthenticationError: OpenAIException - The api_key client option must be set either by passing api_key",
                "has no key for its model",
            ),
            (
                "Not logged in · Please run /login",
                "has no key for its model: Not logged in · Please run /login; set",
            ),
            (
                "Missing environment variable: `OPENAI_API_KEY`.",
                "has no key for its model: Missing environment variable: `OPENAI_API_KEY`; set",
            ),
            ("No LLM model was specified and no API keys were provided.", "has no key for its model"),
        ] {
            let Ending::Blocked(reason) = judge("claude", &Trouble::told(said)) else { panic!("{said}") };
            assert!(reason.starts_with(&format!("claude {expected}")), "{said}: {reason}");
        }
        for said in ["panicked at line 1401", "", "the tests fail", "it ended with exit status: 101"] {
            assert_eq!(judge("claude", &Trouble::told(said)), Ending::Failed(said.to_owned()), "{said}");
        }
    }

    #[test]
    fn what_passes_by_itself() {
        for (said, status, expected) in [
            ("exceeded retry limit, last status: 429 Too Many Requests", None, "was told to come back later"),
            ("litellm.RateLimitError: OpenAIException - slow down", None, "was told to come back later"),
            ("Overloaded", Some(529), "was told to come back later"),
            ("connect ECONNREFUSED 127.0.0.1:9", None, "cannot reach its model"),
            (
                "litellm.InternalServerError: OpenAIException - Connection error.",
                None,
                "cannot reach its model",
            ),
            ("unexpected status 502 Bad Gateway: upstream", None, "cannot reach its model"),
            // A status says more than the words beside it.
            ("the billing service does not answer", Some(500), "cannot reach its model"),
            ("authentication is down", Some(503), "cannot reach its model"),
        ] {
            let trouble = Trouble::with_status(said, status);
            let Ending::Unavailable(reason) = judge("claude", &trouble) else { panic!("{said}") };
            assert!(reason.starts_with(&format!("claude {expected}")), "{said}: {reason}");
        }
    }

    /// The output of a command may be about a server of the person's own, so nothing is tried again because of it.
    #[test]
    fn what_a_command_prints_is_looked_at_by_a_person() {
        let printed = |said: &str| judge("mine", &Trouble { said: said.to_owned(), source: Source::Output });
        for said in ["GET / says 429", "connection refused"] {
            assert!(matches!(printed(said), Ending::Blocked(_)), "{said}");
        }
        assert_eq!(printed("the page has status 500"), Ending::Failed("the page has status 500".to_owned()));
    }
}
