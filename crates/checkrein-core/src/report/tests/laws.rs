//! What holds for every report, whatever an agent wrote.

use std::sync::LazyLock;

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::finding::{Category, Finding, Fix, Severity};

/// Texts with everything that is dangerous to some format.
fn words() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,12}",
        any::<String>(),
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        Just("⚠\u{fe0f}".to_owned()),
        Just("1\u{fe0f}\u{20e3}".to_owned()),
        Just("日本".to_owned()),
        Just("e\u{301}".to_owned()),
        Just("</script><script>alert(1)</script>".to_owned()),
        Just("<!--".to_owned()),
        Just("]]>".to_owned()),
        Just("&amp;\"'".to_owned()),
        Just("\u{0}\u{1b}[2J\u{fffe}".to_owned()),
        Just("| * _ ` # [x](y)".to_owned()),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

prop_compose! {
    fn noted()(
        text in words(),
        analysis in proptest::option::of(words()),
        fix in proptest::option::of((words(), proptest::option::of(words()), proptest::option::of(words()))),
        category in prop_oneof![
            proptest::sample::select(&Category::STANDARD[..]),
            words().prop_map(|word| Category::parse(&word)),
        ],
        severity in proptest::sample::select(&Severity::ALL[..]),
        kind in prop_oneof![Just(FindingKind::Warning), Just(FindingKind::Error)],
        (phase, task) in (0..3_usize, words()),
        attempt in 1..3_u32,
    ) -> Noted {
        let suggested_fix = fix.map(|(description, command, file)| Fix { description, command, file });
        Noted {
            task: format!("{}:{task}", PHASES[phase]),
            phase: PHASES[phase].to_owned(),
            attempt,
            finding: Finding { kind, text, severity, category, suggested_fix, raw_severity: None },
            analysis,
            remedy_place: None,
        }
    }
}

static BASE: LazyLock<Report> = LazyLock::new(warned);

const PHASES: [&str; 3] = ["frame", "建てる", "release"];

prop_compose! {
    fn report()(
        findings in proptest::collection::vec(noted(), 0..12),
        reason in proptest::option::of(words()),
        artifacts in proptest::collection::vec(words(), 0..3),
        message in proptest::option::of(words()),
        status in proptest::sample::select(&RunStatus::ALL[..]),
        truncated in (0..3_u64, 0..3_u64),
    ) -> Report {
        let mut report = BASE.clone();
        let mut attempts: Vec<Attempt> = Vec::new();
        report.status = status;
        report.reason = reason.clone();
        report.target = reason;
        report.phases = PHASES.iter().map(|name| PhaseRow {
            name: (*name).to_owned(),
            status: PhaseStatus::Warning,
            unfinished: false,
            steps_done: 1,
            steps: 1,
            review: None,
            step_ids: vec![format!("{name}:x")],
            warnings: BySeverity::default(),
            errors: BySeverity::default(),
        }).collect();
        for noted in &findings {
            let row = report.phases.iter_mut().find(|row| row.name == noted.phase).unwrap();
            let counts = match noted.finding.kind {
                FindingKind::Warning => &mut row.warnings,
                FindingKind::Error => &mut row.errors,
            };
            counts.add(noted.finding.severity);
            let mut attempt = report.attempts[0].clone();
            attempt.task.clone_from(&noted.task);
            attempt.phase.clone_from(&noted.phase);
            attempt.attempt = noted.attempt;
            attempt.response.message.clone_from(&message);
            attempt.response.details = Some(json!({noted.finding.text.clone(): noted.analysis}));
            match noted.finding.kind {
                FindingKind::Warning => attempt.response.warnings.push(noted.finding.clone()),
                FindingKind::Error => attempt.response.errors.push(noted.finding.clone()),
            }
            attempts.push(attempt);
        }
        report.findings = findings;
        report.attempts = attempts;
        report.truncated = Truncated { warnings: truncated.0, errors: truncated.1 };
        report.artifacts = artifacts.into_iter().map(Value::from).collect();
        for (place, noted) in (1..).zip(&mut report.findings) {
            noted.remedy_place = noted.finding.suggested_fix.as_ref().map(|_| place);
        }
        report.remedies = remedy::all(&report, &vec![1_000; report.attempts.len()], &[]);
        report
    }
}

/// A line never ends within an emoji: what would be left of it does not show.
#[test]
fn an_emoji_is_not_cut_at_the_end_of_a_line() {
    for padding in 0..40 {
        let mut report = super::warned();
        let text =
            format!("{}{}", "a".repeat(padding), "\u{26a0}\u{fe0f}\u{1f469}\u{200d}\u{1f4bb}".repeat(30));
        report.reason = Some(text.clone());
        report.remedies.iter_mut().for_each(|remedy| remedy.description.clone_from(&text));
        let drawn = report.text(Format::Detailed, Style { width: 60, unicode: true });
        for line in drawn.lines() {
            assert!(line.width() == 60 && !crate::shown::hides_something(line), "{line:?}");
        }
    }
}

proptest! {
    #[test]
    fn every_line_of_the_box_is_as_wide_as_the_box(
        report in report(), width in 40..200_usize, unicode: bool,
        format in proptest::sample::select(&Format::ALL[..]),
    ) {
        let text = report.text(format, Style { width, unicode });
        for line in text.lines() {
            prop_assert_eq!(line.width(), width, "{}", line);
            prop_assert!(!crate::shown::hides_something(line), "{:?}", line);
            prop_assert!(unicode || line.is_ascii());
        }
    }

    #[test]
    fn junit_is_well_formed_and_counts_every_case(report in report()) {
        let xml = report.junit();
        let document = roxmltree::Document::parse(&xml).unwrap();
        let root = document.root_element();
        let number = |node: roxmltree::Node<'_, '_>, name: &str| node.attribute(name).unwrap().parse::<usize>().unwrap();
        let under = |node: roxmltree::Node<'_, '_>, name: &str| node.descendants().filter(|n| n.has_tag_name(name)).count();
        prop_assert_eq!(number(root, "tests"), under(root, "testcase"));
        prop_assert_eq!(number(root, "failures"), under(root, "failure"));
        for suite in root.children().filter(|node| node.has_tag_name("testsuite")) {
            prop_assert_eq!(number(suite, "tests"), under(suite, "testcase"));
            prop_assert_eq!(number(suite, "skipped"), under(suite, "skipped"));
        }
    }

    #[test]
    fn sarif_has_a_rule_for_every_result(report in report()) {
        let sarif: Value = serde_json::from_str(&report.sarif().to_string()).unwrap();
        let run = &sarif["runs"][0];
        let results = run["results"].as_array().unwrap();
        prop_assert_eq!(results.len(), report.findings.len());
        for result in results {
            let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
            prop_assert_eq!(&rule["id"], &result["ruleId"]);
        }
    }

    #[test]
    fn html_has_no_element_an_agent_wrote(report in report()) {
        let html = report.html();
        let scripts = html.to_lowercase().matches("<script").count();
        prop_assert_eq!(scripts, if report.findings.is_empty() { 0 } else { 2 });
        prop_assert_eq!(html.to_lowercase().matches("</script").count(), scripts);
        prop_assert!(!html.contains("<!--"));
        if let Some((_, rest)) = html.split_once(r#"id="data">"#) {
            let (json, _) = rest.split_once("</script>").unwrap();
            let data: Value = serde_json::from_str(json).unwrap();
            prop_assert_eq!(data["rows"].as_array().unwrap().len(), report.findings.len());
        }
    }

    #[test]
    fn markdown_has_no_element_an_agent_wrote(mut report in report()) {
        // Commands, files and artifacts are code, where nothing is an element.
        report.remedies.clear();
        report.artifacts.clear();
        let markdown = report.markdown();
        prop_assert!(!markdown.replace("<br>", "").contains('<'), "{}", markdown);
        let headings = markdown.lines().filter(|line| line.starts_with('#')).count();
        prop_assert!(headings <= 6, "{}", markdown);
    }

    #[test]
    fn json_keeps_every_finding(report in report()) {
        let json = serde_json::to_value(report.json()).unwrap();
        prop_assert_eq!(json["findings"].as_array().unwrap().len(), report.findings.len());
        for (kept, noted) in json["findings"].as_array().unwrap().iter().zip(&report.findings) {
            prop_assert_eq!(kept["text"].as_str().unwrap(), &noted.finding.text);
        }
    }

    #[test]
    fn counts_add_up(report in report()) {
        for kind in [FindingKind::Warning, FindingKind::Error] {
            let kept = report.of_kind(kind).count();
            prop_assert_eq!(report.by_step(kind).len(), kept);
            prop_assert_eq!(report.totals(kind).total(), kept as u64);
            let categories = report.by_category(kind);
            prop_assert_eq!(categories.iter().map(|entry| entry.count).sum::<u64>(), kept as u64);
            for entry in categories {
                prop_assert_eq!(entry.tasks.iter().map(|(_, count)| count).sum::<u64>(), entry.count);
            }
        }
    }
}

#[test]
fn what_is_told_of_a_run_is_what_was_counted() {
    for (name, report) in cases() {
        for (kind, tally) in
            [(FindingKind::Warning, report.tally.warnings), (FindingKind::Error, report.tally.errors)]
        {
            let truncated = report.truncated.of(kind);
            assert_eq!(report.totals(kind).total(), tally, "{name}");
            assert_eq!(report.of_kind(kind).count() as u64 + truncated, tally, "{name}");
        }
    }
}
