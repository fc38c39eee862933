//! When, in words; the exact time is in the element, and the script keeps the words true.

use jiff::{Timestamp, Unit};
use maud::{Markup, html};

pub use checkrein_core::report::duration_words;

/// How long ago something was.
pub fn ago(at: Timestamp, now: Timestamp) -> Markup {
    let exact = at.round(Unit::Second).unwrap_or(at).to_string();
    html! { time datetime=(exact) title=(exact) data-ago="" { (words(at, now)) } }
}

/// A length of time.
pub fn duration(ms: u64) -> String {
    duration_words(ms)
}

fn words(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(at.as_second()).max(0);
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..172_800 => "yesterday".to_owned(),
        172_800..2_592_000 => format!("{} days ago", seconds / 86_400),
        _ => at.strftime("%Y-%m-%d").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_by_how_far_they_are() {
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        for (seconds, expected) in [
            (-5, "just now"),
            (59, "just now"),
            (60, "1 min ago"),
            (7_300, "2 h ago"),
            (90_000, "yesterday"),
            (400_000, "4 days ago"),
            (40_000_000, "2022-08-08"),
        ] {
            let at = Timestamp::from_second(1_700_000_000 - seconds).unwrap();
            assert_eq!(words(at, now), expected, "{seconds}");
        }
    }
}
