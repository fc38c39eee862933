use maud::{Markup, html};

/// A field of a form with its label, and what it is for.
pub fn field(id: &str, label: &str, hint: &str, control: Markup) -> Markup {
    html! {
        div class="field" {
            label for=(id) { (label) }
            (control)
            @if !hint.is_empty() { p class="hint" id={ (id) "-hint" } { (hint) } }
        }
    }
}

/// A list to choose from; each is a value and its words.
pub fn choice<'o>(
    id: &str,
    name: &str,
    chosen: &str,
    options: impl IntoIterator<Item = (&'o str, &'o str)>,
) -> Markup {
    html! {
        select id=(id) name=(name) {
            @for (value, words) in options {
                option value=(value) selected[value == chosen] { (words) }
            }
        }
    }
}
