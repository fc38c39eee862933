//! The screen, frame by frame, and what its keys ask for.

use checkrein_core::checkpoint::Verdict;
use checkrein_core::omission::Omission;
use checkrein_engine::Judged;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;

use super::app::{App, Ask, Colours, HELP, Mode, Pane};
use super::content::Which;
use super::fixture::review;
use super::plain::{self, Extent};
use super::view;

fn app(size: (u16, u16)) -> App {
    App::new(review(), Colours::Off, size)
}

fn small() -> App {
    app((80, 24))
}

fn frame(app: &App) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(app.size.0, app.size.1)).unwrap();
    terminal.draw(|frame| view::draw(frame, app)).unwrap();
    terminal
}

fn drawn(app: &App) -> String {
    frame(app).backend().to_string()
}

/// Presses keys one after the other: characters, and names in brackets.
fn press(app: &mut App, keys: &str) -> Vec<Ask> {
    let mut asks = Vec::new();
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        let (key, after) = match rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
            Some((name, after)) => (named(name), after),
            None => (KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE), rest.split_at(c.len_utf8()).1),
        };
        let ask = app.key(key);
        if !matches!(ask, Ask::Nothing) {
            asks.push(ask);
        }
        rest = after;
    }
    asks
}

fn named(name: &str) -> KeyEvent {
    let (code, modifiers) = match name {
        "tab" => (KeyCode::Tab, KeyModifiers::NONE),
        "esc" => (KeyCode::Esc, KeyModifiers::NONE),
        "enter" => (KeyCode::Enter, KeyModifiers::NONE),
        "pgdn" => (KeyCode::PageDown, KeyModifiers::NONE),
        "send" => (KeyCode::Char('s'), KeyModifiers::CONTROL),
        "ctrl-c" => (KeyCode::Char('c'), KeyModifiers::CONTROL),
        "alt-enter" => (KeyCode::Enter, KeyModifiers::ALT),
        other => panic!("`{other}` is no key"),
    };
    KeyEvent::new(code, modifiers)
}

#[test]
fn the_overview() {
    insta::assert_snapshot!(drawn(&small()));
    insta::assert_snapshot!(drawn(&app((120, 40))));
}

#[test]
fn a_file_with_its_threads() {
    let mut app = app((120, 40));
    press(&mut app, "n<tab>]]");
    insta::assert_snapshot!(drawn(&app));
    app.resize((80, 24));
    press(&mut app, "n");
    insta::assert_snapshot!(drawn(&app));
}

#[test]
fn since_the_last_round() {
    let mut app = small();
    press(&mut app, "nd");
    assert_eq!(app.which, Which::SinceLastRound);
    insta::assert_snapshot!(drawn(&app));
    press(&mut app, "d");
    assert_eq!(app.file().unwrap().path, "letter.md");
}

#[test]
fn the_other_entries() {
    let mut app = small();
    for _ in 0..3 {
        press(&mut app, "j");
        insta::assert_snapshot!(drawn(&app));
    }
}

#[test]
fn what_stands_over_everything() {
    let mut app = small();
    press(&mut app, "?");
    insta::assert_snapshot!(drawn(&app));
    press(&mut app, "<esc>n<tab>jjjctoo long<enter>still");
    insta::assert_snapshot!(drawn(&app));
    press(&mut app, "<esc>rshorter<send>S");
    insta::assert_snapshot!(drawn(&app));
    press(&mut app, "<esc><esc>ay");
    insta::assert_snapshot!(drawn(&app));
}

#[test]
fn words_that_changed_are_in_colour() {
    let mut app = App::new(review(), Colours::On, (120, 40));
    press(&mut app, "n");
    let terminal = frame(&app);
    let buffer = terminal.backend().buffer();
    let green: String =
        buffer.content().iter().filter(|cell| cell.bg == Color::Green).map(|cell| cell.symbol()).collect();
    let red: String =
        buffer.content().iter().filter(|cell| cell.bg == Color::Red).map(|cell| cell.symbol()).collect();
    assert_eq!((green.as_str(), red.as_str()), ("", "all of "));
    let calm = frame(&small());
    let plain = |cell: &ratatui::buffer::Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
    assert!(calm.backend().buffer().content().iter().all(plain), "NO_COLOR has no colour");
}

#[test]
fn a_comment_is_about_the_line_under_the_cursor() {
    for (keys, expected) in [
        // The whole, from the overview.
        ("chi<send>", "None None hi"),
        // A file, from the list.
        ("nchi<send>", "Some(\"letter.md\") None hi"),
        // A line: the heading, the hunk, the first line.
        ("n<tab>jjchi<alt-enter>", "Some(\"letter.md\") Some(1) hi"),
        // What was removed: the line that is there now.
        ("n<tab>jjjchi<send>", "Some(\"letter.md\") Some(2) hi"),
        ("n<tab>jjctwo<enter>lines<send>", "Some(\"letter.md\") Some(1) two\nlines"),
        // What was begun is taken up again.
        ("chi<esc>c there<send>", "None None hi there"),
        ("chi<ctrl-c>c there<send>", "None None hi there"),
        // A reply to the thread under the cursor.
        ("n]]Rok<send>", "None None ok to c1"),
    ] {
        let asks = press(&mut small(), keys);
        let [Ask::Comment(comment)] = asks.as_slice() else { panic!("{keys}: {asks:?}") };
        let to = comment.reply_to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
        assert_eq!(format!("{:?} {:?} {}{to}", comment.file, comment.line, comment.text), expected, "{keys}");
    }
}

#[test]
fn nothing_is_sent_by_mistake() {
    for keys in [
        "c<send>",
        "chi<esc>",
        "r<send>",
        "rwhat<send>n",
        "xwhy<send><esc>",
        "an",
        "ay",
        "R",
        "j<enter>",
        "y",
    ] {
        let asks = press(&mut small(), keys);
        assert!(asks.is_empty(), "{keys}: {asks:?}");
    }
    for keys in ["c", "R", "m", "a", "r", "x"] {
        let mut app = small();
        app.review.open = false;
        press(&mut app, "n");
        assert!(press(&mut app, &format!("{keys}y<send>y")).is_empty(), "{keys} in a closed review");
        assert!(matches!(app.mode, Mode::Browse));
    }
}

#[test]
fn a_verdict_names_what_was_looked_at() {
    for (keys, verdict, reason, start_over, confirmed) in [
        // Changes are requested of a file, so it is asked twice.
        ("ayy", Verdict::Approve, None, false, true),
        ("rshorter<send>y", Verdict::RequestChanges, Some("shorter"), false, false),
        ("rshorter<send>Sy", Verdict::RequestChanges, Some("shorter"), true, false),
        ("rshorter<send>SSy", Verdict::RequestChanges, Some("shorter"), false, false),
        ("rshort<send>ner<send>y", Verdict::RequestChanges, Some("shorter"), false, false),
        ("xnot this<send>y", Verdict::Reject, Some("not this"), false, false),
    ] {
        let asks = press(&mut small(), keys);
        let [Ask::Verdict(request)] = asks.as_slice() else { panic!("{keys}: {asks:?}") };
        assert_eq!(request.verdict, verdict, "{keys}");
        assert_eq!(request.reason.as_deref(), reason, "{keys}");
        assert_eq!((request.start_over, request.confirmed), (start_over, confirmed), "{keys}");
        assert_eq!(request.judged, Some(Judged::Digest(review().digest)), "{keys}");
    }
}

#[test]
fn what_is_not_shown_is_marked_and_asked_about() {
    let mut app = small();
    app.review.files.iter_mut().for_each(|file| file.mark = None);
    app.review.not_shown = vec![Omission {
        file: Some("a.js".into()),
        line: Some(1),
        text: "10 bytes at the end of the line".into(),
    }];
    let told = "Not shown: a.js:1: 10 bytes at the end of the line.";
    if let Some(line) =
        app.review.files.first_mut().and_then(|file| file.hunks.first_mut()?.lines.first_mut())
    {
        line.cut_bytes = 10;
    }
    let text = plain::render(&app.review, &Extent::WHOLE);
    for expected in ["… 10 more bytes not shown", told, " --confirm"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(press(&mut app, "ay").is_empty());
    assert!(drawn(&app).contains("Not shown: a.js:1"), "{}", drawn(&app));
    let asks = press(&mut app, "y");
    let [Ask::Verdict(request)] = asks.as_slice() else { panic!("{asks:?}") };
    assert!(request.confirmed);
    let mut plain = small();
    plain.review.files.iter_mut().for_each(|file| file.mark = None);
    let asks = press(&mut plain, "ay");
    let [Ask::Verdict(request)] = asks.as_slice() else { panic!("{asks:?}") };
    assert!(!request.confirmed);
}

#[test]
fn comments_alone_say_what_should_change() {
    let mut app = small();
    app.review.waiting = 1;
    let asks = press(&mut app, "r<send>y");
    let [Ask::Verdict(request)] = asks.as_slice() else { panic!("{asks:?}") };
    assert_eq!(request.reason.as_deref(), Some("see the comments"));
}

#[test]
fn a_mark_goes_round() {
    let mut app = small();
    let mut seen = Vec::new();
    for keys in ["n", "n", "n"] {
        press(&mut app, keys);
        let asks = press(&mut app, "m");
        let [Ask::Mark { file, mark }] = asks.as_slice() else { panic!("{asks:?}") };
        seen.push(format!("{file} {}", mark.map_or("none", |mark| mark.name())));
    }
    assert_eq!(
        seen,
        [
            "letter.md none",
            "src/commands/a_rather_long_name_of_a_file.rs approved",
            "logo.png changes_requested"
        ]
    );
}

#[test]
fn the_cursor_stays_on_the_screen() {
    let mut app = app((60, 10));
    press(&mut app, "<tab>G");
    let last = drawn(&app);
    assert!(last.contains("logo.png"), "{last}");
    press(&mut app, "g");
    assert_eq!(app.top, 0);
    press(&mut app, "<pgdn>");
    assert!(app.cursor > 0 && app.top <= app.cursor);
    // A screen too small for anything does no harm.
    for size in [(1, 1), (0, 0), (5, 3), (20, 4)] {
        app.resize(size);
        frame(&app);
        press(&mut app, "?");
        frame(&app);
        press(&mut app, "<esc>c");
        frame(&app);
        press(&mut app, "<esc>");
    }
}

#[test]
fn what_changed_meanwhile_is_shown_at_the_same_place() {
    let mut app = small();
    press(&mut app, "nn<tab>jj");
    let mut now = review();
    now.files.remove(0);
    app.reload(now);
    assert_eq!(app.file().unwrap().path, "src/commands/a_rather_long_name_of_a_file.rs");
    assert_eq!((app.cursor, app.pane), (2, Pane::Content));
    let mut now = review();
    now.files.clear();
    app.reload(now);
    assert!(app.file().is_none());
}

#[test]
fn the_manual_has_every_key() {
    let manual = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/review.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    for (keys, what) in HELP {
        let keys: Vec<String> = keys.split(' ').map(|key| format!("`{key}`")).collect();
        let row = format!("| {} | {what} |", keys.join(" "));
        assert!(manual.contains(&row), "`{row}` is not in docs/review.md");
    }
}

#[test]
fn as_text() {
    let whole = Extent { file: None, stat: false, artefacts: true, which: Which::Whole };
    let text =
        |extent: &Extent<'_>| anstream::adapter::strip_str(&plain::render(&review(), extent)).to_string();
    insta::assert_snapshot!(text(&whole));
    insta::assert_snapshot!(text(&Extent { stat: true, ..whole }));
    insta::assert_snapshot!(text(&Extent { file: Some("letter.md"), ..whole }));
    insta::assert_snapshot!(text(&Extent { which: Which::SinceLastRound, artefacts: false, ..whole }));
    let coloured = plain::render(&review(), &Extent { file: Some("letter.md"), ..whole });
    assert!(coloured.contains("\u{1b}[1m\u{1b}[7m\u{1b}[31mall of \u{1b}[0m"), "{coloured:?}");
}
