//! Where a job is reviewed as well.

use checkrein_core::run::job::Settled;
use maud::{Markup, html};

/// A pull request by its number: a link where it has an address that a browser opens, words otherwise.
pub fn pull_request(number: u64, url: &str) -> Markup {
    html! {
        // An address of the forge the user named; anything else is a text.
        @if url.starts_with("https://") || url.starts_with("http://") {
            a href=(url) rel="noreferrer" { "Pull request " (number) }
        } @else { "Pull request " (number) }
    }
}

/// What became of it, behind its name; nothing while it is open.
pub const fn settled(settled: Option<Settled>) -> &'static str {
    match settled {
        None => "",
        Some(Settled::Merged) => ", merged",
        Some(Settled::Closed) => ", closed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_the_web_is_a_link() {
        for (url, is_link) in [
            ("https://forge.example/ann/letters/pulls/7", true),
            ("http://127.0.0.1:3000/x/pulls/7", true),
            ("javascript:alert(1)", false),
            ("//elsewhere.example", false),
            ("https://a.example/\" onclick=\"alert(1)", true),
        ] {
            let html = pull_request(7, url).into_string();
            assert_eq!(html.starts_with("<a href=\"http"), is_link, "{html}");
            assert!(!html.contains("\" onclick"), "{html}");
        }
    }
}
