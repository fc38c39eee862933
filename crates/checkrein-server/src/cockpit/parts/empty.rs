use maud::{Markup, html};

/// Nothing to show, and what to do next.
pub fn empty(heading: &str, next: Markup) -> Markup {
    html! {
        section class="empty" {
            h2 { (heading) }
            (next)
        }
    }
}
