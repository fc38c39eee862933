//! A report as SARIF 2.1.0, for the tools that collect what analyses found.

use std::collections::HashMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::layout::safe;
use super::{Noted, Report};
use crate::finding::{Category, FindingKind, Severity};
use crate::run::RunStatus;

impl Report {
    pub fn sarif(&self) -> Value {
        let mut rules: Vec<&Category> = Vec::new();
        let mut places: HashMap<&Category, usize> = HashMap::new();
        let mut results = Vec::with_capacity(self.findings.len());
        for noted in &self.findings {
            let category = &noted.finding.category;
            let place = *places.entry(category).or_insert_with(|| {
                rules.push(category);
                rules.len() - 1
            });
            results.push(result(noted, place));
        }
        let rules: Vec<Value> = rules.into_iter().map(rule).collect();
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {
                    "name": "Checkrein",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                }},
                // Results of one workflow are compared with each other and with no others.
                "automationDetails": {"id": format!("{}/{}", safe(&self.workflow, true), self.run)},
                "invocations": [invocation(self)],
                "columnKind": "unicodeCodePoints",
                "results": results,
            }],
        })
    }
}

fn rule(category: &Category) -> Value {
    let about = match category {
        Category::Security => "Security concerns",
        Category::Deprecation => "Use of what is deprecated",
        Category::Performance => "Performance concerns",
        Category::Validation => "Failed validations",
        Category::Compatibility => "Compatibility concerns",
        Category::Configuration => "Configuration concerns",
        Category::Style => "Style and formatting",
        Category::Other => "Findings without a category",
        Category::Own(_) => "A category of the response's own",
    };
    json!({"id": safe(category.name(), true), "shortDescription": {"text": about}})
}

/// A finding as a result. Its fix is a property: SARIF's own fixes are edits of files, and ours are words
/// and commands.
fn result(noted: &Noted, rule_index: usize) -> Value {
    let finding = &noted.finding;
    let level = match (finding.kind, finding.severity) {
        (FindingKind::Error, Severity::High | Severity::Medium) => "error",
        (FindingKind::Error, Severity::Low) | (FindingKind::Warning, Severity::High | Severity::Medium) => {
            "warning"
        }
        (FindingKind::Warning, Severity::Low) => "note",
    };
    let fix = finding.suggested_fix.as_ref();
    let mut location = json!({"logicalLocations": [{
        "fullyQualifiedName": safe(&noted.task, true),
    }]});
    if let (Some(file), Some(map)) = (fix.and_then(|fix| fix.file.as_deref()), location.as_object_mut()) {
        map.insert("physicalLocation".to_owned(), physical(file));
    }
    let mut properties = json!({
        "kind": finding.kind.to_string().to_lowercase(),
        "severity": finding.severity,
        "phase": safe(&noted.phase, true),
        "attempt": noted.attempt,
    });
    if let Some(properties) = properties.as_object_mut() {
        if let Some(analysis) = &noted.analysis {
            properties.insert("analysis".to_owned(), safe(analysis, true).into());
        }
        if let Some(fix) = fix {
            let part = |text: &str| Value::from(safe(text, true));
            properties.insert("fix".to_owned(), part(&fix.description));
            properties.extend(fix.command.iter().map(|command| ("fixCommand".to_owned(), part(command))));
        }
    }
    json!({
        "ruleId": safe(finding.category.name(), true),
        "ruleIndex": rule_index,
        "level": level,
        "message": {"text": safe(&finding.text, true)},
        "locations": [location],
        "partialFingerprints": {"checkrein/v1": fingerprint(noted)},
        "properties": properties,
    })
}

/// `src/api.ts:14` with its line, where it has one.
fn physical(file: &str) -> Value {
    let (path, line) = match file.rsplit_once(':') {
        Some((path, line)) if !path.is_empty() => match line.parse::<u32>() {
            Ok(line) if line > 0 => (path, Some(line)),
            _ => (file, None),
        },
        _ => (file, None),
    };
    let mut physical = json!({"artifactLocation": {"uri": uri(path)}});
    if let (Some(line), Some(map)) = (line, physical.as_object_mut()) {
        map.insert("region".to_owned(), json!({"startLine": line}));
    }
    physical
}

/// A path as a URI: relative as it is, absolute with its scheme.
fn uri(path: &str) -> String {
    let mut out = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte))
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The same for the same finding in another run, though its numbers differ.
fn fingerprint(noted: &Noted) -> String {
    let mut hash = Sha256::new();
    let text = super::across::normalised(&noted.finding.text);
    for part in [&noted.task, noted.finding.category.name(), &text] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn invocation(report: &Report) -> Value {
    let done = matches!(report.status, RunStatus::Completed | RunStatus::CompletedWithWarnings);
    // A question, or a person who stopped it, is no error of the run.
    let level = if report.status == RunStatus::Failed { "error" } else { "note" };
    let mut told: Vec<Value> = Vec::new();
    told.extend(
        report.reason.iter().map(|reason| json!({"level": level, "message": {"text": safe(reason, true)}})),
    );
    for kind in [FindingKind::Warning, FindingKind::Error] {
        let not_kept = report.not_kept(kind);
        told.extend(not_kept.map(|text| json!({"level": "warning", "message": {"text": text}})));
    }
    let mut invocation = json!({
        "executionSuccessful": done,
        "startTimeUtc": report.started_at,
        "toolExecutionNotifications": told,
    });
    if let (Some(end), Some(map)) = (report.ended_at, invocation.as_object_mut()) {
        map.insert("endTimeUtc".to_owned(), end.to_string().into());
    }
    invocation
}
