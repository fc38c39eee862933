//! What stands over everything else until it is answered.

use checkrein_core::checkpoint::Verdict;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

use super::super::app::{App, Confirm, HELP, Purpose};
use super::super::input::Input;
use super::super::model::clean;
use crate::output::one_line;

pub fn help(frame: &mut Frame<'_>, body: Rect) {
    let lines: Vec<String> = HELP.iter().map(|(keys, what)| format!("{keys:<11}{what}")).collect();
    boxed(frame, body, "Keys", &lines, "any key closes this");
}

pub fn notice(frame: &mut Frame<'_>, body: Rect, text: &str) {
    boxed(frame, body, "Look again", &lines_of(text), "any key goes on");
}

pub fn confirm(frame: &mut Frame<'_>, body: Rect, app: &App, confirm: &Confirm) {
    let review = &app.review;
    let mut lines = Vec::new();
    let title = match confirm.verdict {
        Verdict::Approve => "Approve",
        Verdict::RequestChanges => "Request changes",
        Verdict::Reject => "Reject",
    };
    lines.push(format!("{}, round {}", review.phase, review.round));
    lines.push(format!("commit {}", review.head));
    lines.push(format!("digest {}", review.digest));
    let mut keys = "y yes   n no".to_owned();
    match confirm.verdict {
        Verdict::Approve if confirm.again => {
            lines.push(String::new());
            lines.extend(review.doubts());
            lines.push("Approve all the same?".to_owned());
        }
        Verdict::Approve => {}
        Verdict::RequestChanges => {
            let how = match confirm.start_over {
                false => "The agent goes on with the same branch.",
                true => "The agent starts over on a new branch.",
            };
            lines.push(how.to_owned());
            keys.push_str("   S start over");
        }
        Verdict::Reject => lines.push("The job is cancelled; its branches are kept.".to_owned()),
    }
    if !confirm.text.is_empty() {
        lines.push(String::new());
        lines.extend(lines_of(&confirm.text));
    }
    boxed(frame, body, title, &lines, &keys);
}

pub fn write(frame: &mut Frame<'_>, body: Rect, app: &App, purpose: &Purpose, input: &Input) {
    let title = match purpose {
        Purpose::Comment { file: None, .. } => "Comment on the whole".to_owned(),
        Purpose::Comment { file: Some(file), line: None } => format!("Comment on {}", one_line(file)),
        Purpose::Comment { file: Some(file), line: Some(line) } => {
            format!("Comment on {}:{line}", one_line(file))
        }
        Purpose::Reply { to } => format!("Reply to {to}"),
        Purpose::RequestChanges if app.review.waiting > 0 => {
            "What should change? (or see the comments)".into()
        }
        Purpose::RequestChanges => "What should change?".to_owned(),
        Purpose::Reject => "Why is it rejected?".to_owned(),
    };
    let area = centred(body, body.width.saturating_sub(4).min(76), (body.height / 2).clamp(5, 14));
    frame.render_widget(Clear, area);
    let block =
        Block::bordered().title(title).title_bottom("Ctrl-S or Alt-Enter sends   Esc keeps it for later");
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let (row, column) = input.cursor();
    let (width, height) = (usize::from(inside.width), usize::from(inside.height));
    let down = (row + 1).saturating_sub(height);
    let shown = |line: &String| line.replace('\t', " ");
    let typed = input.lines().get(row).map(|line| shown(line).chars().take(column).collect::<String>());
    let at = typed.unwrap_or_default().width();
    // The line with the cursor moves with it.
    let across = (at + 1).saturating_sub(width);
    let lines: Vec<Line<'static>> =
        input.lines().iter().skip(down).take(height).map(|line| Line::from(shown(line))).collect();
    let scroll = u16::try_from(across).unwrap_or(u16::MAX);
    frame.render_widget(Paragraph::new(lines).scroll((0, scroll)), inside);
    let x = inside.x.saturating_add(u16::try_from(at.saturating_sub(across)).unwrap_or(0));
    let y = inside.y.saturating_add(u16::try_from(row.saturating_sub(down)).unwrap_or(0));
    frame.set_cursor_position(Position::new(x, y));
}

fn lines_of(text: &str) -> Vec<String> {
    clean(text).lines().map(str::to_owned).collect()
}

fn boxed(frame: &mut Frame<'_>, body: Rect, title: &str, lines: &[String], keys: &str) {
    let widest = lines.iter().map(|line| line.width()).max().unwrap_or(0).max(keys.width()).max(30);
    let width = u16::try_from(widest + 4).unwrap_or(u16::MAX).min(body.width);
    let room = usize::from(width.saturating_sub(4)).max(1);
    let tall: usize = lines.iter().map(|line| line.width().div_ceil(room).max(1)).sum();
    let height = u16::try_from(tall + 2).unwrap_or(u16::MAX).min(body.height);
    let area = centred(body, width, height);
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(title.to_owned()).title_bottom(keys.to_owned());
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let inside = Rect { x: inside.x.saturating_add(1), width: inside.width.saturating_sub(2), ..inside };
    let lines: Vec<Line<'static>> = lines.iter().cloned().map(Line::from).collect();
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), inside);
}

fn centred(body: Rect, width: u16, height: u16) -> Rect {
    Rect {
        x: body.x + body.width.saturating_sub(width) / 2,
        y: body.y + body.height.saturating_sub(height) / 2,
        width: width.min(body.width),
        height: height.min(body.height),
    }
}
