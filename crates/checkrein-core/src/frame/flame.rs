//! A tree of frames as a flame graph: the root at the bottom, width by tokens or time, colour by status.
//!
//! The picture needs no script: it is the same in a file, in an image tag and in a page. What stands in
//! it comes from agents, so every text is escaped, and links are made of ids alone.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::escape;
use super::status::FrameStatus;
use super::tree::{Frame, FrameTree};
use crate::shown::one_line;

/// What the width of a frame stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlameWidth {
    /// Tokens spent in it and below it
    #[default]
    Tokens,
    /// How long it took
    Time,
}

impl FlameWidth {
    pub const ALL: [FlameWidth; 2] = [FlameWidth::Tokens, FlameWidth::Time];

    pub fn name(self) -> &'static str {
        match self {
            FlameWidth::Tokens => "tokens",
            FlameWidth::Time => "time",
        }
    }
}

/// How a picture is drawn.
#[derive(Clone, Copy, Debug)]
pub struct FlameStyle<'a> {
    pub width: FlameWidth,
    /// What a click on a frame leads to, before its id.
    pub link: Option<&'a str>,
    /// Only what contains this is shown in full colour.
    pub search: Option<&'a str>,
    pub now_ms: u64,
}

const PICTURE_WIDTH: f64 = 1200.0;
const ROW_HEIGHT: f64 = 22.0;
const MARGIN: f64 = 8.0;
const CHARACTER_WIDTH: f64 = 6.6;
/// What is narrower cannot be seen or clicked.
const NARROWEST: f64 = 0.4;
/// No screen is taller.
const ROWS_MAX: usize = 400;

/// The picture as SVG.
pub fn flame_graph(tree: &FrameTree, style: FlameStyle<'_>) -> String {
    let boxes = layout(tree, style);
    let rows = boxes.iter().map(|one| one.depth + 1).max().unwrap_or(1);
    let height = MARGIN * 2.0 + ROW_HEIGHT * rows as f64 + ROW_HEIGHT * 2.0;
    let full = PICTURE_WIDTH + MARGIN * 2.0;
    // What is in a picture is one thing to whoever does not see it; links have to be reached.
    let role = if style.link.is_some() { "group" } else { "img" };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {full} {height}\" width=\"{full}\" height=\"{height}\" \
         role=\"{role}\" aria-label=\"Flame graph of the frames, width by {}\" font-family=\"ui-monospace, monospace\" font-size=\"11\">\n\
         <title>Frames by {}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        style.width.name(),
        style.width.name()
    );
    let wanted = style.search.map(str::to_lowercase).filter(|search| !search.is_empty());
    for one in &boxes {
        let frame = one.frame;
        let (x, y) =
            (MARGIN + one.x, height - MARGIN - ROW_HEIGHT * 2.0 - ROW_HEIGHT * (one.depth + 1) as f64);
        let found = wanted.as_ref().is_none_or(|wanted| mentions(frame, wanted));
        let opacity = if found { "1" } else { "0.25" };
        let share = one.amount.map(|amount| amount_text(style.width, amount)).unwrap_or_default();
        let summary = frame.summary.as_deref().map(|text| format!("\n{text}")).unwrap_or_default();
        let title = escape::xml(&format!("{} {} ({}){share}{summary}", frame.id, frame.goal, frame.status));
        if let Some(link) = style.link {
            let _ = write!(svg, "<a href=\"{}{}\">", escape::xml(link), escape::xml(&frame.id));
        }
        let stroke =
            if one.current { " stroke=\"#111111\" stroke-width=\"2\"" } else { " stroke=\"#ffffff\"" };
        let _ = write!(
            svg,
            "<g class=\"frame\" data-frame=\"{}\" data-status=\"{}\" opacity=\"{opacity}\"><title>{title}</title>\
             <rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{}\" rx=\"2\"{stroke}/>",
            escape::xml(&frame.id),
            frame.status,
            one.width.max(NARROWEST),
            ROW_HEIGHT - 1.0,
            colour(frame.status)
        );
        let room = ((one.width - 6.0) / CHARACTER_WIDTH).floor();
        if room >= 3.0 {
            let label: String = one_line(&frame.goal).chars().take(room as usize).collect();
            let _ = write!(
                svg,
                "<text x=\"{:.2}\" y=\"{:.2}\" fill=\"#111111\">{}</text>",
                x + 3.0,
                y + ROW_HEIGHT * 0.68,
                escape::xml(&label)
            );
        }
        svg.push_str("</g>");
        svg.push_str(if style.link.is_some() { "</a>\n" } else { "\n" });
    }
    legend(&mut svg, height);
    svg.push_str("</svg>\n");
    svg
}

struct Drawn<'t> {
    frame: &'t Frame,
    depth: usize,
    x: f64,
    width: f64,
    amount: Option<u64>,
    current: bool,
}

/// Every frame gets its share of its parent's width; what a frame did itself stays free above it.
fn layout<'t>(tree: &'t FrameTree, style: FlameStyle<'_>) -> Vec<Drawn<'t>> {
    let weights = weights(tree, style);
    let weight = |id: &str| weights.get(id).copied().unwrap_or(1.0);
    let current = tree.current().map(|frame| frame.id.as_str());
    let mut boxes = Vec::new();
    let roots: Vec<&Frame> = tree.roots().collect();
    let total: f64 = roots.iter().map(|root| weight(&root.id)).sum();
    let mut open = Vec::new();
    let mut x = 0.0;
    for root in roots {
        let width = PICTURE_WIDTH * weight(&root.id) / total.max(f64::MIN_POSITIVE);
        open.push((root, 0, x, width));
        x += width;
    }
    while let Some((frame, depth, x, width)) = open.pop() {
        if width < NARROWEST || depth >= ROWS_MAX {
            continue;
        }
        let amount = own_amount(frame, style);
        boxes.push(Drawn { frame, depth, x, width, amount, current: Some(frame.id.as_str()) == current });
        let mut left = x;
        for child in tree.children(&frame.id) {
            let share = width * weight(&child.id) / weight(&frame.id).max(f64::MIN_POSITIVE);
            open.push((child, depth + 1, left, share));
            left += share;
        }
    }
    boxes
}

/// Of each frame with everything below it, children last to first, so that no recursion is needed.
fn weights<'t>(tree: &'t FrameTree, style: FlameStyle<'_>) -> std::collections::HashMap<&'t str, f64> {
    let mut weights: std::collections::HashMap<&str, f64> = std::collections::HashMap::new();
    let mut below: std::collections::HashMap<&str, f64> = std::collections::HashMap::new();
    for frame in tree.frames().rev() {
        let children = below.get(frame.id.as_str()).copied().unwrap_or(0.0);
        let own = own_amount(frame, style).unwrap_or(0) as f64;
        // Time of a frame contains its children's, tokens do not; a frame that did nothing is still seen.
        let whole = match style.width {
            FlameWidth::Tokens => own.max(1.0) + children,
            FlameWidth::Time => own.max(children).max(1.0),
        };
        weights.insert(frame.id.as_str(), whole);
        if let Some(parent) = frame.parent.as_deref() {
            *below.entry(parent).or_default() += whole;
        }
    }
    weights
}

fn own_amount(frame: &Frame, style: FlameStyle<'_>) -> Option<u64> {
    match style.width {
        FlameWidth::Tokens => Some(frame.signals.tokens),
        FlameWidth::Time => {
            let began = frame.began_at_ms?;
            Some(frame.ended_at_ms.unwrap_or(style.now_ms).saturating_sub(began))
        }
    }
}

fn amount_text(width: FlameWidth, amount: u64) -> String {
    match width {
        FlameWidth::Tokens => format!(", {amount} tokens"),
        FlameWidth::Time => format!(", {} s", amount / 1000),
    }
}

fn mentions(frame: &Frame, wanted: &str) -> bool {
    let texts = [Some(&frame.id), Some(&frame.goal), frame.summary.as_ref(), frame.agent.as_ref()];
    texts.into_iter().flatten().any(|text| text.to_lowercase().contains(wanted))
}

/// Far enough apart also for eyes that see no red or green, and dark enough for black text on them.
fn colour(status: FrameStatus) -> &'static str {
    match status {
        FrameStatus::Planned => "#e0e0e0",
        FrameStatus::InProgress => "#8ab8ff",
        FrameStatus::Completed => "#8fd19e",
        FrameStatus::Failed => "#ff9a8a",
        FrameStatus::Blocked => "#ffd166",
        FrameStatus::Invalidated => "#c9b8d6",
    }
}

fn legend(svg: &mut String, height: f64) {
    let y = height - MARGIN - ROW_HEIGHT;
    let mut x = MARGIN;
    for status in FrameStatus::ALL {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{:.0}\" y=\"{:.0}\" fill=\"#111111\">{status}</text>",
            colour(status),
            x + 17.0,
            y + 10.0
        );
        x += 130.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Fold, PopStatus};

    fn style(width: FlameWidth) -> FlameStyle<'static> {
        FlameStyle { width, link: Some("?frame="), search: None, now_ms: 10_000 }
    }

    fn sample() -> FrameTree {
        let mut tree = FrameTree::default();
        for (id, goal, tokens, began) in
            [("f1", "<script>alert(1)</script>", 100, 0), ("f2", "parse \"it\" & more", 300, 1_000)]
        {
            tree.push(id.into(), goal.into()).unwrap();
            let frame = tree.frame_mut(id).unwrap();
            (frame.signals.tokens, frame.began_at_ms) = (tokens, Some(began));
        }
        let fold = Fold {
            status: PopStatus::Failed,
            summary: Some("no ]]> luck".into()),
            artifacts: vec![],
            decisions: vec![],
            log_path: None,
        };
        tree.pop(fold).unwrap();
        tree.frame_mut("f2").unwrap().ended_at_ms = Some(6_000);
        tree.plan("f3".into(), "later".into(), None).unwrap();
        tree
    }

    fn widths(svg: &str) -> Vec<(String, f64)> {
        let document = roxmltree::Document::parse(svg).unwrap();
        let mut widths: Vec<(String, f64)> = document
            .descendants()
            .filter(|node| node.attribute("class") == Some("frame"))
            .map(|node| {
                let drawn = node.children().find(|child| child.has_tag_name("rect")).unwrap();
                (
                    node.attribute("data-frame").unwrap().to_owned(),
                    drawn.attribute("width").unwrap().parse().unwrap(),
                )
            })
            .collect();
        widths.sort_by(|one, other| one.0.cmp(&other.0));
        widths
    }

    #[test]
    fn widths_follow_tokens_or_time_and_children_fit_into_their_parents() {
        let tokens = widths(&flame_graph(&sample(), style(FlameWidth::Tokens)));
        assert_eq!(tokens[0], ("f1".into(), 1200.0));
        assert!((tokens[1].1 - 1200.0 * 300.0 / 401.0).abs() < 0.01, "{tokens:?}");
        let time = widths(&flame_graph(&sample(), style(FlameWidth::Time)));
        assert_eq!(time[..2], [("f1".into(), 1200.0), ("f2".into(), 600.0)]);
    }

    #[test]
    fn nothing_in_a_picture_is_more_than_text() {
        let svg = flame_graph(&sample(), style(FlameWidth::Tokens));
        let document = roxmltree::Document::parse(&svg).unwrap();
        assert!(!document.descendants().any(|node| node.has_tag_name("script")));
        assert!(svg.contains("data-status=\"failed\"") && svg.contains("href=\"?frame=f2\""));
        assert!(svg.contains("no ]]&gt; luck"), "{svg}");
        let labels = document.descendants().filter(|node| node.has_tag_name("text"));
        assert!(labels.filter_map(|node| node.text()).any(|label| label == "parse \"it\" & more"), "{svg}");
    }

    #[test]
    fn what_was_not_looked_for_fades() {
        let svg = flame_graph(&sample(), FlameStyle { search: Some("PARSE"), ..style(FlameWidth::Tokens) });
        assert!(svg.contains("data-frame=\"f2\" data-status=\"failed\" opacity=\"1\""));
        assert!(svg.contains("data-frame=\"f1\" data-status=\"in_progress\" opacity=\"0.25\""));
    }

    #[test]
    fn a_deep_or_an_empty_tree_is_no_danger() {
        assert!(flame_graph(&FrameTree::default(), style(FlameWidth::Time)).ends_with("</svg>\n"));
        let mut tree = FrameTree::default();
        for number in 0..5_000 {
            tree.push(format!("f{number}"), "deeper".into()).unwrap();
        }
        let svg = flame_graph(&tree, style(FlameWidth::Tokens));
        assert!(roxmltree::Document::parse(&svg).is_ok());
    }
}
