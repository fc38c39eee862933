//! Why a program ended that did not end well: what a person can do about is told apart from the rest.

/// What a person has to see to before it can go on; none where it is something else.
pub fn blocked(agent: &str, said: &str) -> Option<String> {
    let lower = said.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| has_word(&lower, word));
    let what = said.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let what: String = what.trim_end_matches('.').chars().take(400).collect();
    if says(&["credit balance", "billing", "insufficient_quota", "insufficient credits", "payment required"])
    {
        return Some(format!("{agent} cannot pay its model: {what}; top up the account, then resume"));
    }
    if says(&[
        "client option must be set",
        "no key is set",
        "no api keys were provided",
        "requires an openrouter api key",
        "not logged in",
    ]) {
        return Some(no_key(agent, &what));
    }
    if says(&[
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
    ]) {
        return Some(format!(
            "{agent} was told to come back later: {what}; resume then, or use another model"
        ));
    }
    if says(&[
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
    ]) {
        return Some(format!(
            "{agent} was refused by its model: {what}; log in again or look at its key, then resume"
        ));
    }
    if says(&["api key", "api_key", "no auth", "auth method", "credentials", "not authenticated", "log in"]) {
        return Some(no_key(agent, &what));
    }
    if says(&[
        "econnrefused",
        "enotfound",
        "connection refused",
        "connection error",
        "stream disconnected",
        "network error",
        "fetch failed",
        "apiconnectionerror",
        "internalservererror",
        "internal server error",
        "serviceunavailableerror",
        "service unavailable",
        "badgatewayerror",
        "bad gateway",
    ]) {
        return Some(format!("{agent} cannot reach its model: {what}; look at the network, then resume"));
    }
    None
}

fn no_key(agent: &str, what: &str) -> String {
    format!("{agent} has no key for its model: {what}; set the key or log in, then resume")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_can_do_something_about() {
        for (said, expected) in [
            ("API Error: 401 {\"error\":…}", "was refused by its model"),
            ("Invalid API key · Please run /login", "was refused by its model"),
            ("exceeded retry limit, last status: 429 Too Many Requests", "was told to come back later"),
            ("Your credit balance is too low", "cannot pay its model"),
            ("Missing environment variable: `OPENAI_API_KEY`.\nset api_key", "has no key for its model"),
            ("connect ECONNREFUSED 127.0.0.1:9", "cannot reach its model"),
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
            (
                "litellm.RateLimitError: RateLimitError: OpenAIException - slow down",
                "was told to come back later",
            ),
            ("litellm.InternalServerError: OpenAIException - Connection error.", "cannot reach its model"),
        ] {
            let told = blocked("claude", said).unwrap_or_default();
            assert!(told.starts_with(&format!("claude {expected}")), "{said}: {told}");
        }
        for said in ["panicked at line 1401", "", "the tests fail"] {
            assert_eq!(blocked("claude", said), None, "{said}");
        }
    }
}
