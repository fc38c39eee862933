//! The screen of a review: a function of the state alone.

mod popup;
mod text;

use checkrein_core::run::job::FileMark;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph};
use unicode_width::UnicodeWidthStr;

use super::app::{App, Colours, Entry, Mode, Pane};
use super::content::{Ink, Which};

pub use text::height;

pub fn draw(frame: &mut Frame<'_>, app: &App) {
    let [head, body, foot] = areas(frame.area());
    let [list, content] = panes(body);
    frame.render_widget(Paragraph::new(title(app)).style(Style::new().add_modifier(Modifier::BOLD)), head);
    draw_list(frame, app, list);
    draw_content(frame, app, content);
    frame.render_widget(Paragraph::new(footer(app, foot.width)), foot);
    match &app.mode {
        Mode::Browse => {}
        Mode::Help => popup::help(frame, body),
        Mode::Notice(text) => popup::notice(frame, body, text),
        Mode::Write { purpose, input } => popup::write(frame, body, app, purpose, input),
        Mode::Confirm(confirm) => popup::confirm(frame, body, app, confirm),
    }
}

/// Columns and rows that content has.
pub fn content_size(app: &App) -> (usize, usize) {
    let [_, body, _] = areas(Rect::new(0, 0, app.size.0, app.size.1));
    let [_, content] = panes(body);
    (usize::from(content.width), usize::from(content.height))
}

fn areas(area: Rect) -> [Rect; 3] {
    Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]).areas(area)
}

/// The list takes a third, but not more than names need and not less than they can be told apart by.
fn panes(body: Rect) -> [Rect; 2] {
    let list = (body.width / 3).clamp(20, 40).min(body.width / 2);
    Layout::horizontal([Constraint::Length(list), Constraint::Min(1)]).areas(body)
}

fn title(app: &App) -> String {
    let review = &app.review;
    let shown = match app.which {
        Which::Whole => review.status.to_string(),
        Which::SinceLastRound => "since last round".to_owned(),
    };
    format!("{} · {} · round {} · {shown}", review.id, review.phase, review.round)
}

fn draw_list(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let block = Block::new().borders(Borders::RIGHT).border_style(style(Ink::Faint, app.colours));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let (width, height) = (usize::from(inside.width), usize::from(inside.height));
    // The entry that is looked at stays on the screen, with the ones around it.
    let most = app.entries.len().saturating_sub(height);
    let first = app.entry.saturating_sub(height / 2).min(most);
    let lines = app.entries.iter().enumerate().skip(first).take(height).map(|(index, entry)| {
        let line = entry_line(app, entry, width);
        if index != app.entry {
            return line;
        }
        line.style(match app.pane {
            Pane::List => Style::new().add_modifier(Modifier::REVERSED),
            Pane::Content => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        })
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), inside);
}

fn entry_line(app: &App, entry: &Entry, width: usize) -> Line<'static> {
    let named = |name: &str, number: usize| {
        let number = if number == 0 { String::new() } else { number.to_string() };
        let gap = width.saturating_sub(name.width() + number.width()).max(1);
        Line::from(format!("{name}{}{number}", " ".repeat(gap)))
    };
    match entry {
        Entry::Overview => named("Overview", 0),
        Entry::Conflict => named("Conflict", app.review.conflict.as_ref().map_or(0, |c| c.files.len())),
        Entry::Artefacts => named("Plan and documents", 0),
        Entry::Commits => named("Commits", app.review.commits.len()),
        Entry::Conversation => named("Conversation", app.review.conversation().count()),
        Entry::File(index) => {
            let Some(file) = app.review.files_of(app.which).get(*index) else { return Line::default() };
            let (mark, ink) = match file.mark {
                None if file.mark_lapsed => ('!', Ink::Warning),
                None => (' ', Ink::Plain),
                Some(FileMark::Approved) => ('✓', Ink::Added),
                Some(FileMark::ChangesRequested) => ('✗', Ink::Removed),
            };
            let comments = match app.review.comments_of(&file.path) {
                0 => String::new(),
                comments => format!(" {comments}c"),
            };
            let (added, removed) = (format!(" +{}", file.added), format!(" -{}", file.removed));
            let taken = 3 + comments.width() + added.width() + removed.width();
            let name = text::ending(&file.name, width.saturating_sub(taken));
            let gap = width.saturating_sub(taken + name.width());
            let span = |ink: Ink, text: String| Span::styled(text, style(ink, app.colours));
            Line::from(vec![
                span(Ink::Faint, file.letter().to_string()),
                span(ink, format!("{mark} ")),
                span(if file.protected { Ink::Warning } else { Ink::Plain }, name),
                Span::raw(" ".repeat(gap)),
                span(Ink::Person, comments),
                span(Ink::Added, added),
                span(Ink::Removed, removed),
            ])
        }
    }
}

fn draw_content(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let mut lines: Vec<Line<'static>> = Vec::new();
    for (index, row) in app.rows.iter().enumerate().skip(app.top) {
        if lines.len() >= height {
            break;
        }
        let here = index == app.cursor && app.pane == Pane::Content;
        for line in text::row_lines(row, width, app.is_diff(), app.colours) {
            lines.push(if here { text::selected(line, width) } else { line });
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn footer(app: &App, width: u16) -> Line<'static> {
    if let Some(said) = &app.said {
        return Line::styled(said.clone(), style(Ink::Warning, app.colours));
    }
    let keys = match (app.review.open, width) {
        (false, _) => "j/k move  Tab pane  n/p file  ]/[ hunk  d since last round  ? help  q leave",
        (true, ..116) => "c comment R reply m mark  a approve r changes x reject  ? help q leave",
        (true, _) => {
            "j/k move  Tab pane  n/p file  c comment  R reply  m mark  a approve  r request changes  x reject  ? help  q leave"
        }
    };
    Line::styled(keys, style(Ink::Faint, app.colours))
}

/// Without colours, what matters is told by weight.
pub fn style(ink: Ink, colours: Colours) -> Style {
    let plain = Style::new();
    if colours == Colours::Off {
        return match ink {
            Ink::Plain | Ink::Added | Ink::Removed | Ink::Agent => plain,
            Ink::Faint | Ink::Hunk => plain.add_modifier(Modifier::DIM),
            Ink::Heading | Ink::Person | Ink::Warning => plain.add_modifier(Modifier::BOLD),
            Ink::AddedWord | Ink::RemovedWord => plain.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        };
    }
    match ink {
        Ink::Plain => plain,
        Ink::Faint => plain.add_modifier(Modifier::DIM),
        Ink::Heading => plain.add_modifier(Modifier::BOLD),
        Ink::Hunk => plain.fg(Color::Cyan),
        Ink::Added => plain.fg(Color::Green),
        Ink::AddedWord => plain.fg(Color::Black).bg(Color::Green),
        Ink::Removed => plain.fg(Color::Red),
        Ink::RemovedWord => plain.fg(Color::Black).bg(Color::Red),
        Ink::Person => plain.fg(Color::Yellow).add_modifier(Modifier::BOLD),
        Ink::Agent => plain.fg(Color::Magenta),
        Ink::Warning => plain.fg(Color::Yellow),
    }
}
