use checkrein_core::omission::{Omission, listed};
use maud::{Markup, html};

use super::shown;

/// What is asked about and not shown: all of it, folded where it is long (R17).
pub fn omitted(omissions: &[Omission]) -> Markup {
    const OPEN_MAX: usize = 5;
    html! {
        @if omissions.len() > OPEN_MAX {
            details class="notice waits" {
                summary { "Not shown: " (shown(&listed(omissions))) "." }
                ul { @for omission in omissions { li { (shown(&omission.to_string())) } } }
            }
        } @else if !omissions.is_empty() {
            p class="notice waits" { "Not shown: " (shown(&listed(omissions))) "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_named_however_many_there_are() {
        let of = |count: u32| {
            let part = |line| Omission { file: Some("<a>".into()), line: Some(line), text: "cut".into() };
            omitted(&(1..=count).map(part).collect::<Vec<_>>()).into_string()
        };
        assert_eq!(of(0), "");
        assert!(of(5).contains("&lt;a&gt;:5: cut") && !of(5).contains("<details"));
        for line in 1..=9 {
            assert!(of(9).contains(&format!("<li>&lt;a&gt;:{line}: cut</li>")), "{}", of(9));
        }
    }
}
