use super::*;

#[test]
fn markdown_of_every_run() {
    for (name, report) in cases() {
        insta::assert_snapshot!(format!("{name}-markdown"), report.markdown());
    }
}

#[test]
fn json_of_a_stopped_and_a_retried_run() {
    for (name, report) in [("stopped", stopped()), ("retried", retried())] {
        insta::assert_json_snapshot!(format!("{name}-json"), report.json());
    }
}

#[test]
fn junit_of_every_run() {
    for (name, report) in cases() {
        insta::assert_snapshot!(format!("{name}-junit"), report.junit());
    }
}

#[test]
fn a_run_that_warnings_stopped_is_not_green() {
    let response = json!({"warnings": [{"text": "<old> API", "severity": "high"}]});
    let report = Driven::new("build: x", "{}", json!({"build:x": [response]}), 1).report();
    insta::assert_snapshot!("stopped-by-warning-junit", report.junit());
}

#[test]
fn sarif_of_a_warned_and_a_stopped_run() {
    for (name, report) in [("warned", warned()), ("stopped", stopped())] {
        insta::assert_json_snapshot!(format!("{name}-sarif"), report.sarif());
    }
}

#[test]
fn html_of_a_warned_run() {
    let html = warned().html();
    insta::assert_snapshot!("warned-html", html);
    assert!(!html.contains("http://") && !html.contains("https://"), "nothing is fetched");
}

#[test]
fn a_clean_page_has_no_script_at_all() {
    assert!(!clean().html().contains("<script"));
}

#[test]
fn a_file_of_a_fix_is_a_location() {
    for (file, expected) in [
        ("src/api.ts", json!({"artifactLocation": {"uri": "src/api.ts"}})),
        ("src/api.ts:14", json!({"artifactLocation": {"uri": "src/api.ts"}, "region": {"startLine": 14}})),
        ("/specs/a b.md", json!({"artifactLocation": {"uri": "file:///specs/a%20b.md"}})),
        ("src/é:0", json!({"artifactLocation": {"uri": "src/%C3%A9%3A0"}})),
    ] {
        let response =
            json!({"warnings": [{"text": "x", "suggested_fix": {"description": "d", "file": file}}]});
        let report = Driven::new("build: x", LENIENT, json!({"build:x": [response]}), 1).report();
        let sarif = report.sarif();
        assert_eq!(sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"], expected, "{file}");
    }
}

#[test]
fn a_finding_is_known_again_though_its_numbers_differ() {
    let print = |text: &str| {
        let response = json!({"warnings": [{"text": text, "category": "style"}]});
        let report = Driven::new("build: x", LENIENT, json!({"build:x": [response]}), 1).report();
        report.sarif()["runs"][0]["results"][0]["partialFingerprints"]["checkrein/v1"].clone()
    };
    assert_eq!(print("847 lines added"), print("12  lines\nadded"));
    assert_ne!(print("847 lines added"), print("847 lines removed"));
}
