use super::*;

#[test]
fn every_format_of_every_run() {
    for (name, report) in cases() {
        for format in Format::ALL {
            insta::assert_snapshot!(
                format!("{name}-{}", format.name()),
                report.text(format, Style::default())
            );
        }
    }
}

#[test]
fn without_unicode_and_on_a_narrow_terminal() {
    let style = Style { width: 79, unicode: false };
    insta::assert_snapshot!("stopped-ascii", stopped().text(Format::Detailed, style));
    let style = Style { width: 40, unicode: true };
    insta::assert_snapshot!("warned-narrow", warned().text(Format::Summary, style));
    let narrower = Style { width: 3, unicode: true };
    assert_eq!(warned().text(Format::Summary, narrower), warned().text(Format::Summary, style));
}

#[test]
fn what_an_agent_writes_stays_in_the_box() {
    let response = json!({
        "warnings": [
            {"text": "日本語の警告がここにあります。とても長いので折り返されます。とても長いので折り返されます。"},
            {"text": "emoji ⚠️ ✅ 👍🏽 and a sequence \u{1b}[31mred\u{1b}[0m \u{202e}backwards"},
            {"text": "x".repeat(200), "category": "own\nlines"},
            {"text": "first line\r\nsecond line\n\tindented", "suggested_fix": {"description": "d", "command": "a\nb"}},
        ],
    });
    let report = Driven::new("部署: ship", LENIENT, json!({"部署:ship": [response]}), 1).report();
    insta::assert_snapshot!("wide", report.text(Format::Summary, Style { width: 60, unicode: true }));
    let ascii = report.text(Format::Detailed, Style { width: 60, unicode: false });
    assert!(ascii.is_ascii());
}

/// The box of the specification up to the question, and a line that names the run.
const EXAMPLE: &str = "\
┌─────────────────────────────────────────────────────────────────────────────┐
│                         WORKFLOW EXECUTION REPORT                           │
├─────────────────────────────────────────────────────────────────────────────┤
│  Target: feat/237-workflow-response-aggregation                             │
│  Work Item: #237                                                            │
│  Duration: 5m 32s                                                           │
│  Status: Completed with warnings                                            │
├─────────────────────────────────────────────────────────────────────────────┤
│                                                                             │
│  PHASE SUMMARY                                                              │
│  ─────────────                                                              │
│  ✅ Frame      3/3 steps                                                    │
│  ⚠️  Architect  2/2 steps, 1 warning (medium)                               │
│  ⚠️  Build      4/4 steps, 2 warnings (1 medium, 1 low)                     │
│  ✅ Evaluate   2/2 steps                                                    │
│  ✅ Release    2/2 steps                                                    │
│                                                                             │
├─────────────────────────────────────────────────────────────────────────────┤
│                                                                             │
│  WARNINGS BY PHASE/STEP (3)                                                 │
│  ──────────────────────────                                                 │
│                                                                             │
│  📍 architect:generate-spec [medium] [validation]                           │
│     Spec has incomplete acceptance criteria                                 │
│     └─ Analysis: Consider adding measurable success conditions              │
│                                                                             │
│  📍 build:implement [medium] [deprecation]                                  │
│     Deprecated API usage detected (will be removed in v3.0)                 │
│     └─ Analysis: Update to new API before next major version                │
│     └─ Fix: Replace callOldAPI() with callNewAPI()                          │
│                                                                             │
│  📍 build:commit [low] [style]                                              │
│     Large commit size (847 lines added)                                     │
│     └─ Analysis: Consider breaking into smaller commits in future           │
│                                                                             │
├─────────────────────────────────────────────────────────────────────────────┤
│                                                                             │
│  WARNINGS BY CATEGORY                                                       │
│  ────────────────────                                                       │
│  deprecation (1): build:implement                                           │
│  validation (1): architect:generate-spec                                    │
│  style (1): build:commit                                                    │
│                                                                             │
├─────────────────────────────────────────────────────────────────────────────┤
│                                                                             │
│  RECOMMENDED ACTIONS                                                        │
│  ───────────────────                                                        │
│                                                                             │
│  [1] Apply fix for build:implement deprecation warning                      │
│      Command: sed -i 's/callOldAPI/callNewAPI/g' src/api.ts                 │
│                                                                             │
│  [2] Review spec acceptance criteria                                        │
│      File: /specs/WORK-00237-workflow-response-aggregation.md               │
│                                                                             │
│  [3] Skip remaining (1 low-priority warning)                                │
│                                                                             │
└─────────────────────────────────────────────────────────────────────────────┘
";

#[test]
fn the_example_is_met_to_the_letter() {
    let text = warned().text(Format::Summary, Style::default());
    let run = "│  Run: run-7                                                                 │\n";
    assert!(text.contains(&format!("with warnings                                            │\n{run}")));
    assert_eq!(text.replace(run, ""), EXAMPLE);
}

#[test]
fn formats_by_name() {
    for (word, expected) in [
        ("summary", Some(Format::Summary)),
        ("Detailed", Some(Format::Detailed)),
        (" minimal ", Some(Format::Minimal)),
        ("fancy", None),
        ("", None),
    ] {
        assert_eq!(Format::parse(word), expected, "{word}");
    }
}

#[test]
fn pages_are_whole_lines_and_lose_none() {
    for (text, per_page, expected) in [
        ("", 2, &[][..]),
        ("a\nb\nc\n", 2, &["a\nb\n", "c\n"]),
        ("a\nb\n", 2, &["a\nb\n"]),
        ("a\nb\nc", 1, &["a\n", "b\n", "c"]),
        ("a\nb\n", 0, &["a\n", "b\n"]),
    ] {
        assert_eq!(pages(text, per_page), expected);
    }
}

#[test]
fn why_a_run_stands_where_it_stands() {
    let warned = json!({"build:x": [{"warnings": ["Style"]}]});
    let mut driven = Driven::new("build: x | ship: y", "{}", warned, 1);
    assert_eq!(driven.report().reason, None);
    driven.events.push((
        99,
        driven.now,
        RunEvent::RunPaused { by: "ann".into(), reason: None, retry_at: None },
    ));
    assert_eq!(driven.report().reason.as_deref(), Some("Paused by ann"));
    let no = Some("no time".to_owned());
    driven.events.push((100, driven.now, RunEvent::RunCancelled { by: "bo".into(), reason: no }));
    assert_eq!(driven.report().reason.as_deref(), Some("Cancelled by bo: no time"));
    assert_eq!(stopped().reason.as_deref(), Some("Error exceeds tolerance: src/api.ts does not compile"));
}
