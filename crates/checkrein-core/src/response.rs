//! What one attempt returned, made whole: nothing an agent writes can be too odd to judge.
//!
//! Normalising never fails. Missing parts are filled, malformed ones coerced, and what was coerced
//! is said in [`Response::notes`] (W3, W9, W14, X6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::classify::Classifier;
use crate::finding::{Category, Finding, FindingKind, Fix, Severity};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, deserialize_with = "stored_warnings")]
    pub warnings: Vec<Finding>,
    #[serde(default, deserialize_with = "stored_errors")]
    pub errors: Vec<Finding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning_analysis: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_analysis: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggested_fixes: Vec<Fix>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Value>,
    /// What had to be coerced, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

// The kind of a stored finding is the list it stands in.

fn stored_warnings<'de, D: serde::Deserializer<'de>>(stored: D) -> Result<Vec<Finding>, D::Error> {
    stored_findings(FindingKind::Warning, stored)
}

fn stored_errors<'de, D: serde::Deserializer<'de>>(stored: D) -> Result<Vec<Finding>, D::Error> {
    stored_findings(FindingKind::Error, stored)
}

fn stored_findings<'de, D: serde::Deserializer<'de>>(
    kind: FindingKind,
    stored: D,
) -> Result<Vec<Finding>, D::Error> {
    let mut findings = Vec::<Finding>::deserialize(stored)?;
    findings.iter_mut().for_each(|finding| finding.kind = kind);
    Ok(findings)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Success,
    Warning,
    Failure,
}

impl Status {
    const ALL: [(Status, &str); 3] =
        [(Status::Success, "success"), (Status::Warning, "warning"), (Status::Failure, "failure")];

    fn parse(word: &str) -> Option<Status> {
        Status::ALL
            .into_iter()
            .find(|(_, name)| word.trim().eq_ignore_ascii_case(name))
            .map(|(status, _)| status)
    }
}

/// What a step or hook should return. Anything else is coerced, never refused; this is the shape
/// that is understood without coercion.
#[derive(JsonSchema)]
#[schemars(rename = "response", inline)]
#[expect(dead_code, reason = "read by the schema generator alone")]
pub struct ResponseShape {
    /// Derived from the findings if absent.
    status: Option<Status>,
    message: Option<String>,
    /// Anything worth keeping with the response.
    details: Option<Value>,
    #[schemars(default)]
    warnings: Vec<ItemShape>,
    #[schemars(default)]
    errors: Vec<ItemShape>,
    warning_analysis: Option<String>,
    error_analysis: Option<String>,
    #[schemars(default)]
    suggested_fixes: Vec<FixShape>,
    #[schemars(default)]
    artifacts: Vec<Value>,
    /// Several tries, oldest first; the last one is judged.
    #[schemars(default)]
    attempts: Vec<Value>,
}

#[derive(JsonSchema)]
#[schemars(untagged, rename = "Finding")]
#[expect(dead_code, reason = "read by the schema generator alone")]
enum ItemShape {
    Text(String),
    Item {
        text: String,
        /// Told by the words of the text if absent.
        severity: Option<Severity>,
        /// One of security, deprecation, performance, validation, compatibility, configuration,
        /// style, other, or a word of your own; told by the words of the text if absent.
        category: Option<String>,
        suggested_fix: Option<FixShape>,
    },
}

#[derive(JsonSchema)]
#[schemars(untagged, rename = "Fix")]
#[expect(dead_code, reason = "read by the schema generator alone")]
enum FixShape {
    Text(String),
    Fix { description: String, command: Option<String>, file: Option<String> },
}

const NULL_RESULT: &str = "Step returned null or undefined result";
const NO_ERROR_DETAILS: &str = "Step failed without error details";
const UNSPECIFIED_WARNINGS: &str = "Step completed with unspecified warnings";

impl Response {
    /// Makes a response of whatever came back.
    pub fn normalise(value: &Value, classifier: &Classifier) -> Response {
        match value {
            Value::Null => Response::failed(NULL_RESULT),
            Value::Object(fields) => {
                let field = |name: &str| field(fields, name);
                let mut notes = Vec::new();
                let mut reader = Reader { classifier, notes: &mut notes };
                let warnings = reader.findings(FindingKind::Warning, field("warnings"));
                let errors = reader.findings(FindingKind::Error, field("errors"));
                let suggested_fixes = reader.fixes(field("suggested_fixes"));
                let mut response = Response {
                    status: Status::Success,
                    message: field("message").map(text_of),
                    warnings,
                    errors,
                    warning_analysis: field("warning_analysis").map(text_of),
                    error_analysis: field("error_analysis").map(text_of),
                    suggested_fixes,
                    details: field("details").cloned(),
                    artifacts: field("artifacts").map(list_of).unwrap_or_default(),
                    notes,
                };
                response.settle(field("status"), classifier);
                response
            }
            other => {
                let quoted = excerpt(&text_of(other));
                Response::failed(&format!("Step returned {} instead of a response: {quoted}", kind_of(other)))
            }
        }
    }

    /// All attempts of a response that has several, oldest first, else itself; the last one is judged.
    pub fn attempts(value: &Value, classifier: &Classifier) -> Vec<Response> {
        match value.get("attempts") {
            None | Some(Value::Null) => vec![Response::normalise(value, classifier)],
            Some(Value::Array(attempts)) if !attempts.is_empty() => {
                attempts.iter().flat_map(|attempt| Response::attempts(attempt, classifier)).collect()
            }
            Some(Value::Array(_)) => vec![Response::failed(NULL_RESULT)],
            Some(attempt @ Value::Object(_)) => Response::attempts(attempt, classifier),
            Some(other) => {
                vec![Response::failed(&format!("Step returned {} as its attempts", kind_of(other)))]
            }
        }
    }

    /// The attempt that is judged and counted (X6).
    pub fn judged(value: &Value, classifier: &Classifier) -> Response {
        let last = Response::attempts(value, classifier).pop();
        last.unwrap_or_else(|| Response::failed(NULL_RESULT))
    }

    /// A failure Checkrein itself states.
    pub fn failure(error: impl Into<String>) -> Response {
        Response::failed(&error.into())
    }

    /// The process failed, whatever the response says (X7).
    pub fn fail(&mut self, reason: String) {
        self.status = Status::Failure;
        if self.errors.is_empty() {
            self.errors.push(certain(reason));
        }
    }

    /// Adds a warning that Checkrein itself states.
    pub fn warn(&mut self, text: String) {
        self.warn_of(Category::Other, text);
    }

    /// The same, where what it is about is known.
    pub fn warn_of(&mut self, category: Category, text: String) {
        if self.status == Status::Success {
            self.status = Status::Warning;
        }
        let (kind, severity) = (FindingKind::Warning, Severity::DEFAULT);
        self.warnings.push(Finding { kind, severity, category, ..certain(text) });
    }

    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.warnings.iter().chain(&self.errors)
    }

    /// Brings status and findings together: a status that claims findings gets at least one.
    fn settle(&mut self, claimed: Option<&Value>, classifier: &Classifier) {
        self.status = match claimed {
            None if !self.errors.is_empty() => Status::Failure,
            None if !self.warnings.is_empty() => Status::Warning,
            None => Status::Success,
            Some(claimed) => match claimed.as_str().and_then(Status::parse) {
                Some(status) => status,
                None => {
                    let raw = excerpt(&text_of(claimed));
                    self.notes.push(format!("unknown status `{raw}` taken as failure"));
                    self.errors.push(certain(format!("Step returned unknown status: {raw}")));
                    Status::Failure
                }
            },
        };
        if self.status == Status::Failure && self.errors.is_empty() {
            self.errors.push(certain(NO_ERROR_DETAILS.to_owned()));
        }
        if self.status == Status::Warning && self.warnings.is_empty() {
            let reader = Reader { classifier, notes: &mut self.notes };
            let unspecified = reader.classified(FindingKind::Warning, UNSPECIFIED_WARNINGS.to_owned());
            self.warnings.push(unspecified);
        }
    }

    fn failed(error: &str) -> Response {
        Response {
            status: Status::Failure,
            message: None,
            warnings: Vec::new(),
            errors: vec![certain(error.to_owned())],
            warning_analysis: None,
            error_analysis: None,
            suggested_fixes: Vec::new(),
            details: None,
            artifacts: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// An error Checkrein itself states: high, whatever its words.
fn certain(text: String) -> Finding {
    Finding {
        kind: FindingKind::Error,
        text,
        severity: Severity::High,
        category: Category::Other,
        suggested_fix: None,
        raw_severity: None,
    }
}

struct Reader<'a> {
    classifier: &'a Classifier,
    notes: &'a mut Vec<String>,
}

impl Reader<'_> {
    /// A list of strings or objects; anything else that is there is one finding.
    fn findings(&mut self, kind: FindingKind, value: Option<&Value>) -> Vec<Finding> {
        match value {
            None => Vec::new(),
            Some(Value::Array(items)) => items.iter().map(|item| self.finding(kind, item)).collect(),
            Some(other) => {
                self.notes.push(format!("{} is {}, taken as one item", kind.plural(), kind_of(other)));
                vec![self.finding(kind, other)]
            }
        }
    }

    fn finding(&mut self, kind: FindingKind, item: &Value) -> Finding {
        let Value::Object(fields) = item else { return self.classified(kind, text_of(item)) };
        let field = |name: &str| field(fields, name);
        let text = match field("text").or_else(|| field("message")).or_else(|| field("description")) {
            Some(text) => text_of(text),
            None => {
                self.notes.push(format!("{kind} without a text, shown as it came"));
                item.to_string()
            }
        };
        let mut finding = match (field("severity"), field("category")) {
            // Only what is missing is looked for in the words.
            (Some(_), Some(category)) => Finding {
                kind,
                text,
                severity: Severity::DEFAULT,
                category: Category::parse(&text_of(category)),
                suggested_fix: None,
                raw_severity: None,
            },
            (_, category) => {
                let mut finding = self.classified(kind, text);
                if let Some(category) = category {
                    finding.category = Category::parse(&text_of(category));
                }
                finding
            }
        };
        if let Some(stated) = field("severity") {
            let stated = text_of(stated);
            match Severity::parse(&stated) {
                Some(severity) => {
                    finding.severity = severity;
                    // A response that was made whole before keeps the word it came with.
                    let raw = field("raw_severity").filter(|_| severity == Severity::DEFAULT);
                    finding.raw_severity = raw.map(text_of);
                }
                None => {
                    self.notes.push(format!("unknown severity `{}` ranks as medium", excerpt(&stated)));
                    finding.severity = Severity::DEFAULT;
                    finding.raw_severity = Some(stated);
                }
            }
        }
        finding.suggested_fix = field("suggested_fix").map(fix_of);
        finding
    }

    fn classified(&self, kind: FindingKind, text: String) -> Finding {
        let classified = self.classifier.classify(&text);
        let (severity, category) = (classified.severity, classified.category);
        Finding { kind, text, severity, category, suggested_fix: None, raw_severity: None }
    }

    fn fixes(&mut self, value: Option<&Value>) -> Vec<Fix> {
        match value {
            None => Vec::new(),
            Some(Value::Array(items)) => items.iter().filter(|item| !item.is_null()).map(fix_of).collect(),
            Some(other) => vec![fix_of(other)],
        }
    }
}

/// A field that says something. Objects have a handful of fields: looking at each key is quicker than
/// hashing the name.
fn field<'v>(fields: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    let found = fields.iter().find(|(key, _)| *key == name);
    found.map(|(_, value)| value).filter(|value| !value.is_null())
}

fn fix_of(value: &Value) -> Fix {
    let part = |name: &str| value.get(name).filter(|part| !part.is_null()).map(text_of);
    match value {
        Value::Object(_) => {
            let (command, file) = (part("command"), part("file"));
            let description = part("description").or_else(|| command.clone()).or_else(|| file.clone());
            Fix { description: description.unwrap_or_else(|| value.to_string()), command, file }
        }
        other => Fix { description: text_of(other), command: None, file: None },
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn list_of(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.clone(),
        other => vec![other.clone()],
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a yes/no value",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn excerpt(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    match text.char_indices().nth(CHARS_MAX) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or(text)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `status | warnings | errors`, each finding as `severity/category text`.
    fn shape(value: Value) -> String {
        let response = Response::judged(&value, Classifier::builtin());
        let list = |findings: &[Finding]| {
            let shown: Vec<String> =
                findings.iter().map(|f| format!("{}/{} {}", f.severity, f.category, f.text)).collect();
            shown.join("; ")
        };
        let status = serde_json::to_value(response.status).unwrap();
        format!("{} | {} | {}", status.as_str().unwrap(), list(&response.warnings), list(&response.errors))
    }

    #[test]
    fn whatever_comes_back_becomes_a_response() {
        for (value, expected) in [
            (json!(null), "failure |  | high/other Step returned null or undefined result"),
            (json!({}), "success |  | "),
            (json!({"status": "success"}), "success |  | "),
            (json!({"status": "SUCCESS"}), "success |  | "),
            (json!({"status": "failure"}), "failure |  | high/other Step failed without error details"),
            (
                json!({"status": "failure", "warnings": ["slow"]}),
                "failure | medium/performance slow | high/other Step failed without error details",
            ),
            (
                json!({"status": "warning"}),
                "warning | medium/other Step completed with unspecified warnings | ",
            ),
            (json!({"status": "success", "warnings": ["Style issue"]}), "success | low/style Style issue | "),
            (json!({"warnings": ["x"]}), "warning | medium/other x | "),
            (json!({"errors": ["x"], "warnings": []}), "failure |  | medium/other x"),
            (json!({"status": "done"}), "failure |  | high/other Step returned unknown status: done"),
            (json!({"status": 7}), "failure |  | high/other Step returned unknown status: 7"),
            (
                json!({"status": "done", "errors": ["minor"]}),
                "failure |  | low/other minor; high/other Step returned unknown status: done",
            ),
            // items: strings, objects, partial objects, oddities
            (json!({"warnings": [{"text": "x", "severity": "low"}]}), "warning | low/other x | "),
            (json!({"warnings": [{"text": "slow", "category": "style"}]}), "warning | medium/style slow | "),
            (
                json!({"warnings": [{"text": "Critical", "severity": "LOW"}]}),
                "warning | low/other Critical | ",
            ),
            (
                json!({"warnings": [{"text": "Critical", "severity": "dire"}]}),
                "warning | medium/other Critical | ",
            ),
            (
                json!({"warnings": [{"text": "x", "category": "Licensing"}]}),
                "warning | medium/Licensing x | ",
            ),
            (json!({"warnings": [{"message": "x"}]}), "warning | medium/other x | "),
            (json!({"warnings": [{"code": 3}]}), r#"warning | medium/other {"code":3} | "#),
            (json!({"warnings": [null, 5]}), "warning | medium/other null; medium/other 5 | "),
            (json!({"warnings": "just one"}), "warning | medium/other just one | "),
            (json!({"errors": {"text": "x", "severity": "high"}}), "failure |  | high/other x"),
            // not a response at all
            (json!("done"), "failure |  | high/other Step returned text instead of a response: done"),
            (json!([1]), "failure |  | high/other Step returned a list instead of a response: [1]"),
            // several attempts: the last one counts
            (json!({"attempts": [{"status": "failure"}, {"status": "success"}]}), "success |  | "),
            (json!({"attempts": {"status": "failure", "errors": ["x"]}}), "failure |  | medium/other x"),
            (json!({"attempts": "x"}), "failure |  | high/other Step returned text as its attempts"),
            (json!({"attempts": null, "warnings": ["x"]}), "warning | medium/other x | "),
            (
                json!({"attempts": [{"attempts": [{"status": "success"}, {"errors": ["x"]}]}]}),
                "failure |  | medium/other x",
            ),
            (json!({"attempts": []}), "failure |  | high/other Step returned null or undefined result"),
        ] {
            assert_eq!(shape(value.clone()), expected, "{value}");
        }
    }

    #[test]
    fn all_attempts_are_kept_for_the_log() {
        let value = json!({"attempts": [{"status": "failure", "errors": ["a"]}, {"status": "success"}]});
        let attempts = Response::attempts(&value, Classifier::builtin());
        assert_eq!(attempts.iter().map(|a| a.status).collect::<Vec<_>>(), [Status::Failure, Status::Success]);
    }

    #[test]
    fn fixes_details_and_analysis_are_kept() {
        let value = json!({
            "status": "warning",
            "message": "Build completed with deprecated API usage",
            "details": {"files_compiled": 45},
            "warnings": [{"text": "Deprecated API", "suggested_fix": "Replace it"}],
            "warning_analysis": "Before v3.0",
            "error_analysis": null,
            "suggested_fixes": ["Replace it", {"description": "Rename", "command": "sed -i", "file": "a.ts"}, {"command": "make"}],
            "artifacts": ["dist/app.js"]
        });
        let response = Response::judged(&value, Classifier::builtin());
        insta::assert_json_snapshot!(response, @r#"
        {
          "status": "warning",
          "message": "Build completed with deprecated API usage",
          "warnings": [
            {
              "text": "Deprecated API",
              "severity": "medium",
              "category": "deprecation",
              "suggested_fix": "Replace it"
            }
          ],
          "errors": [],
          "warning_analysis": "Before v3.0",
          "suggested_fixes": [
            "Replace it",
            {
              "description": "Rename",
              "command": "sed -i",
              "file": "a.ts"
            },
            {
              "description": "make",
              "command": "make"
            }
          ],
          "details": {
            "files_compiled": 45
          },
          "artifacts": [
            "dist/app.js"
          ]
        }
        "#);
    }

    #[test]
    fn an_unknown_severity_keeps_its_word() {
        let value = json!({"warnings": [{"text": "x", "severity": "dire"}]});
        let response = Response::judged(&value, Classifier::builtin());
        assert_eq!(response.warnings[0].raw_severity.as_deref(), Some("dire"));
        assert_eq!(response.notes, ["unknown severity `dire` ranks as medium"]);
    }
}
