use maud::{Markup, Render, html};

/// Text as it was written. It may be longer than its place, so the keyboard can go there to scroll it.
pub fn passage(label: &str, class: &str, text: impl Render) -> Markup {
    html! { pre class=(class) tabindex="0" role="group" aria-label=(label) { (text) } }
}
