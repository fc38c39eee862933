use maud::{Markup, html};

/// The link to what follows in a list that begins with the oldest.
pub fn next_page(next: Option<String>, words: &str) -> Markup {
    html! {
        @if let Some(next) = next {
            p class="pager" { a rel="next" href=(next) { (words) } }
        }
    }
}

/// The links of a list that begins with the newest.
pub fn newer_and_older(newest: Option<String>, older: Option<String>) -> Markup {
    html! {
        @if newest.is_some() || older.is_some() {
            p class="pager" {
                @if let Some(newest) = newest { a href=(newest) { "Back to the newest" } }
                @if let Some(older) = older { a rel="next" href=(older) { "Older" } }
            }
        }
    }
}
