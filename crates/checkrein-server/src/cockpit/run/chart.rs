//! Bars drawn on the server. Each is a row of a table, so that it reads without seeing.

use maud::{Markup, html};

/// A row: what it is of, and its parts, each with the name of its colour.
pub struct Bar {
    pub label: String,
    pub parts: Vec<(&'static str, u64)>,
}

/// Bars of one scale. `names` says what the colours stand for.
pub fn bars(heading: &str, names: &[(&'static str, &'static str)], bars: &[Bar]) -> Markup {
    let total = |bar: &Bar| bar.parts.iter().map(|(_, count)| count).sum::<u64>();
    let most = bars.iter().map(total).max().unwrap_or(0).max(1);
    html! {
        section class="card chart" {
            h2 { (heading) }
            p class="legend" aria-hidden="true" {
                @for (tone, name) in names { span class={ "key " (tone) } { (name) } " " }
            }
            table {
                thead class="unseen" {
                    tr {
                        th scope="col" { (heading) }
                        @for (_, name) in names { th scope="col" { (name) } }
                    }
                }
                tbody {
                    @for bar in bars {
                        tr {
                            th scope="row" { (bar.label) }
                            td class="drawn" aria-hidden="true" { (drawn(bar, most)) }
                            @for (_, count) in &bar.parts { td class="number" { (count) } }
                        }
                    }
                }
            }
        }
    }
}

fn drawn(bar: &Bar, most: u64) -> Markup {
    #[expect(clippy::cast_precision_loss, reason = "a bar is not that long")]
    let share = |count: u64| count as f64 * 100.0 / most as f64;
    let mut at = 0.0;
    let parts: Vec<(&str, f64, f64)> = bar
        .parts
        .iter()
        .map(|(tone, count)| {
            let (begin, width) = (at, share(*count));
            at += width;
            (*tone, begin, width)
        })
        .collect();
    html! {
        svg viewBox="0 0 100 10" preserveAspectRatio="none" class="bar" focusable="false" {
            rect class="ground" width="100" height="10" {}
            @for (tone, begin, width) in parts {
                @if width > 0.0 {
                    rect class=(tone) x=(format!("{begin:.2}")) width=(format!("{width:.2}")) height="10" {}
                }
            }
        }
    }
}
