//! Rewrites legacy levels into the two-dimensional model, touching nothing else in the file.

use std::collections::BTreeMap;

use super::{Frequency, Holds, Level, Said, Scope, Tolerance};
use crate::document::{Document, Entry, Format, Node, Position, Problem, Problems, Span, Value};

/// A file with its legacy levels rewritten.
#[derive(Clone, Debug, PartialEq)]
pub struct Migration {
    pub text: String,
    pub changes: Vec<Change>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub position: Position,
    pub level: String,
    /// What stands there now; empty where the level meant nothing (W8).
    pub settings: Vec<(&'static str, &'static str)>,
}

/// Rewrites every legacy level of a workflow file or a checkrein.yaml. Without any, the text comes
/// back as it was.
pub fn migrate(document: &Document) -> Result<Migration, Problems> {
    // JSON is YAML too; a file that is JSON stays so, whatever its name.
    let json = serde_json::from_str::<serde::de::IgnoredAny>(&document.text).is_ok();
    let format = if json { Format::Json } else { document.format };
    let line_end = if document.text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut editor = Editor { document, format, line_end, edits: Vec::new(), changes: Vec::new() };
    if let Some(autonomy) = document.root.get("autonomy") {
        let scoped = Scope::ALL.iter().any(|scope| autonomy.get(scope.name()).is_some());
        let block = if scoped { autonomy.get(Scope::Workflow.name()) } else { Some(autonomy) };
        if let Some(block) = block {
            let plain = [("warning_tolerance", "low"), ("error_tolerance", "none")];
            editor.block(block, &plain);
            if let Some(Node { value: Value::Map(phases), .. }) = block.get("overrides") {
                for phase in phases {
                    // A phase that says nothing sees what the whole says.
                    editor.block(&phase.value, &[]);
                }
            }
        }
    }
    let Editor { edits, changes, .. } = editor;
    let text = splice(&document.text, edits);
    // The edit is textual; whatever it made must still be a document.
    if let Err(problems) = Document::parse(&document.name, &text, document.format) {
        let cause = problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; ");
        let message = format!("cannot be rewritten without breaking it ({cause}); change it by hand");
        return Err(Problem::error(&document.name, message).into());
    }
    Ok(Migration { text, changes })
}

struct Editor<'d> {
    document: &'d Document,
    /// How new text is written.
    format: Format,
    line_end: &'static str,
    edits: Vec<(Span, String)>,
    changes: Vec<Change>,
}

impl Editor<'_> {
    /// A block, or a level's name in its place; `plain` is what holds where a level means nothing.
    fn block(&mut self, node: &Node, plain: &[(&'static str, &'static str)]) {
        match &node.value {
            Value::Text(name) => {
                if let Some(settings) = replacement(name) {
                    let entries: Vec<String> =
                        settings.iter().map(|(key, value)| self.written(key, value)).collect();
                    let text = match self.format {
                        Format::Toml | Format::Json => format!("{{ {} }}", entries.join(", ")),
                        Format::Yaml => format!("{{{}}}", entries.join(", ")),
                    };
                    self.edits.push((node.span.clone(), text));
                    self.note(node.span.start, name, settings.to_vec());
                }
            }
            Value::Map(_) => {
                if let Some(entry) = node.entry("level")
                    && let Some(name) = entry.value.as_text()
                    && let Some(settings) = replacement(name)
                {
                    // W8: beside a frequency the level means nothing, and the plain defaults hold.
                    let mut settings =
                        if written(node, "check_in_frequency") { plain.to_vec() } else { settings.to_vec() };
                    // Triggers beside a level replace its own; beside a frequency they would add up.
                    if written(node, "hold_at") {
                        settings.retain(|(key, _)| *key != "check_in_frequency");
                    }
                    self.level(node, entry, name, &settings);
                }
            }
            _ => {}
        }
    }

    /// Puts the settings of a level where the level stood; what is written beside it wins.
    fn level(&mut self, block: &Node, entry: &Entry, name: &str, settings: &[(&'static str, &'static str)]) {
        let mut added = Vec::new();
        let mut noted = Vec::new();
        for (key, value) in settings.iter().copied().filter(|(key, _)| !written(block, key)) {
            noted.push((key, value));
            match block.get(key) {
                Some(null) => self.edits.push((null.span.clone(), self.word(value))),
                None => added.push(self.written(key, value)),
            }
        }
        let whole = entry.key_span.start..entry.value.span.end;
        if added.is_empty() {
            self.edits.push((removal(&self.document.text, whole.clone()), String::new()));
        } else {
            let text = added.join(&self.separator(block, &whole));
            self.edits.push((whole.clone(), text));
        }
        self.note(whole.start, name, noted);
    }

    fn note(&mut self, at: usize, level: &str, settings: Vec<(&'static str, &'static str)>) {
        let position = self.document.at(at);
        self.changes.push(Change { position, level: level.to_owned(), settings });
    }

    fn written(&self, key: &str, value: &str) -> String {
        match self.format {
            Format::Yaml => format!("{key}: {value}"),
            Format::Json => format!("\"{key}\": \"{value}\""),
            Format::Toml => format!("{key} = \"{value}\""),
        }
    }

    fn word(&self, value: &str) -> String {
        match self.format {
            Format::Yaml => value.to_owned(),
            Format::Json | Format::Toml => format!("\"{value}\""),
        }
    }

    /// What stands between two settings in the style this file uses.
    fn separator(&self, block: &Node, entry: &Span) -> String {
        let prefix = line_before(&self.document.text, entry.start);
        let rest = self.document.text.get(block.span.start..).unwrap_or("");
        // Braces around the block; an anchor or a tag may stand before them.
        let braces = rest.starts_with('{') || prefix.contains('{') || self.format == Format::Json;
        match (braces, prefix.trim().is_empty()) {
            (true, true) => format!(",{}{prefix}", self.line_end),
            (true, false) => ", ".to_owned(),
            // A list item's dash belongs to its first line alone.
            (false, _) => format!("{}{}", self.line_end, prefix.replace("- ", "  ")),
        }
    }
}

fn written(block: &Node, key: &str) -> bool {
    block.get(key).is_some_and(|node| node.value != Value::Null)
}

/// What stands in the place of a legacy level: what it stands for, and that it asks as it did.
fn replacement(name: &str) -> Option<[(&'static str, &'static str); 4]> {
    let [frequency, warning, error] = legacy_settings(name)?;
    let ask = Level::find(Scope::Workflow, name)?.ask;
    Some([frequency, warning, error, ("ask", ask.name())])
}

/// What a legacy level stands for.
pub(super) fn legacy_settings(name: &str) -> Option<[(&'static str, &'static str); 3]> {
    let level = Level::find(Scope::Workflow, name).filter(|level| level.deprecated)?;
    let Holds::CheckIns(frequency) = level.holds else { return None };
    let (warning, error) = level.tolerance?;
    Some([
        ("check_in_frequency", Said::<Frequency>::name(frequency)),
        ("warning_tolerance", Said::<Tolerance>::name(warning)),
        ("error_tolerance", Said::<Tolerance>::name(error)),
    ])
}

fn line_before(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or("");
    before.rsplit_once('\n').map_or(before, |(_, line)| line)
}

/// The span to cut so that neither an empty line nor a stray comma stays behind.
fn removal(text: &str, entry: Span) -> Span {
    let after = text.get(entry.end..).unwrap_or("");
    let trailing = after.len() - after.trim_start_matches([' ', '\t']).len();
    let rest = after.get(trailing..).unwrap_or("");
    if let Some(past_comma) = rest.strip_prefix(',') {
        let blank = past_comma.len() - past_comma.trim_start().len();
        return entry.start..entry.end + trailing + 1 + blank;
    }
    let before = text.get(..entry.start).unwrap_or("");
    let kept = before.trim_end();
    if kept.ends_with(',') {
        return kept.len() - 1..entry.end;
    }
    let line_start = entry.start - line_before(text, entry.start).len();
    let alone = line_before(text, entry.start).trim().is_empty();
    let line_end = ["\r\n", "\n"].into_iter().find(|end| rest.starts_with(end));
    match line_end {
        Some(line_end) if alone => line_start..entry.end + trailing + line_end.len(),
        _ => entry,
    }
}

fn splice(text: &str, edits: Vec<(Span, String)>) -> String {
    let ordered: BTreeMap<usize, (Span, String)> =
        edits.into_iter().map(|edit| (edit.0.start, edit)).collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, replacement) in ordered.into_values() {
        out.push_str(text.get(at..span.start).unwrap_or(""));
        out.push_str(&replacement);
        at = span.end.max(at);
    }
    out.push_str(text.get(at..).unwrap_or(""));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migrated(format: Format, text: &str) -> String {
        migrate(&Document::parse("file", text, format).unwrap()).unwrap().text
    }

    #[test]
    fn levels_are_rewritten_in_the_style_of_the_file() {
        for (format, before, after) in [
            (
                Format::Yaml,
                "id: x\nautonomy:\n  level: guarded  # ours\n  limits: {max_total_errors: 3}\nphases: {}\n",
                "id: x\nautonomy:\n  check_in_frequency: per-phase\n  warning_tolerance: low\n  error_tolerance: none\n  ask: when_findings  # ours\n  limits: {max_total_errors: 3}\nphases: {}\n",
            ),
            (
                Format::Yaml,
                "autonomy: {level: dry-run, error_tolerance: low}\n",
                "autonomy: {check_in_frequency: per-step, warning_tolerance: none, ask: when_findings, error_tolerance: low}\n",
            ),
            (
                Format::Yaml,
                "autonomy: \"assist\"\n",
                "autonomy: {check_in_frequency: per-phase, warning_tolerance: none, error_tolerance: none, ask: when_findings}\n",
            ),
            // W8: beside a frequency the level means nothing
            (
                Format::Yaml,
                "autonomy:\n  level: autonomous\n  check_in_frequency: per-step\n",
                "autonomy:\n  warning_tolerance: low\n  error_tolerance: none\n  check_in_frequency: per-step\n",
            ),
            (
                Format::Yaml,
                "autonomy:\n  level: autonomous\n  check_in_frequency: per-step\n  warning_tolerance: high\n  error_tolerance: high\n",
                "autonomy:\n  check_in_frequency: per-step\n  warning_tolerance: high\n  error_tolerance: high\n",
            ),
            (
                Format::Json,
                r#"{"autonomy": {"check_in_frequency": "per-step", "warning_tolerance": "low", "error_tolerance": "none", "level": "guarded"}}"#,
                r#"{"autonomy": {"check_in_frequency": "per-step", "warning_tolerance": "low", "error_tolerance": "none"}}"#,
            ),
            (
                Format::Json,
                "{\n  \"autonomy\": {\n    \"level\": \"autonomous\",\n    \"warning_tolerance\": null\n  }\n}\n",
                "{\n  \"autonomy\": {\n    \"check_in_frequency\": \"end-only\",\n    \"error_tolerance\": \"low\",\n    \"ask\": \"when_findings\",\n    \"warning_tolerance\": \"medium\"\n  }\n}\n",
            ),
            (
                Format::Toml,
                "[autonomy]\nlevel = \"guarded\" # keep\n",
                "[autonomy]\ncheck_in_frequency = \"per-phase\"\nwarning_tolerance = \"low\"\nerror_tolerance = \"none\"\nask = \"when_findings\" # keep\n",
            ),
            (
                Format::Toml,
                "autonomy.level = \"guarded\"\n",
                "autonomy.check_in_frequency = \"per-phase\"\nautonomy.warning_tolerance = \"low\"\nautonomy.error_tolerance = \"none\"\nautonomy.ask = \"when_findings\"\n",
            ),
            (
                Format::Yaml,
                "autonomy:\n  worker: autonomous\n  workflow: autonomous\n",
                "autonomy:\n  worker: autonomous\n  workflow: {check_in_frequency: end-only, warning_tolerance: medium, error_tolerance: low, ask: when_findings}\n",
            ),
            (
                Format::Yaml,
                "autonomy:\n  overrides:\n    build: {level: assist}\n",
                "autonomy:\n  overrides:\n    build: {check_in_frequency: per-phase, warning_tolerance: none, error_tolerance: none, ask: when_findings}\n",
            ),
            // line ends stay what they are
            (
                Format::Yaml,
                "id: x\r\nautonomy:\r\n  level: guarded\r\n  error_tolerance: low\r\n",
                "id: x\r\nautonomy:\r\n  check_in_frequency: per-phase\r\n  warning_tolerance: low\r\n  ask: when_findings\r\n  error_tolerance: low\r\n",
            ),
            (
                Format::Yaml,
                "autonomy:\r\n  overrides:\r\n    build:\r\n      level: assist\r\n      check_in_frequency: per-step\r\n",
                "autonomy:\r\n  overrides:\r\n    build:\r\n      check_in_frequency: per-step\r\n",
            ),
            (
                Format::Json,
                "{\r\n  \"autonomy\": {\r\n    \"level\": \"guarded\"\r\n  }\r\n}\r\n",
                "{\r\n  \"autonomy\": {\r\n    \"check_in_frequency\": \"per-phase\",\r\n    \"warning_tolerance\": \"low\",\r\n    \"error_tolerance\": \"none\",\r\n    \"ask\": \"when_findings\"\r\n  }\r\n}\r\n",
            ),
            // braces over several lines
            (
                Format::Yaml,
                "autonomy: {\n  level: guarded,  # ours\n  limits: {max_total_errors: 3}\n}\n",
                "autonomy: {\n  check_in_frequency: per-phase,\n  warning_tolerance: low,\n  error_tolerance: none,\n  ask: when_findings,  # ours\n  limits: {max_total_errors: 3}\n}\n",
            ),
            (
                Format::Yaml,
                "autonomy: &ours {\n  limits: {max_total_errors: 3},\n  level: guarded\n}\n",
                "autonomy: &ours {\n  limits: {max_total_errors: 3},\n  check_in_frequency: per-phase,\n  warning_tolerance: low,\n  error_tolerance: none,\n  ask: when_findings\n}\n",
            ),
            (
                Format::Yaml,
                "autonomy: {\n  check_in_frequency: per-step,\n  warning_tolerance: low,\n  error_tolerance: none,\n  level: guarded\n}\n",
                "autonomy: {\n  check_in_frequency: per-step,\n  warning_tolerance: low,\n  error_tolerance: none\n}\n",
            ),
            (
                Format::Yaml,
                "autonomy:\n  overrides: {build: {error_tolerance: low,\n    level: assist}}\n",
                "autonomy:\n  overrides: {build: {error_tolerance: low,\n    check_in_frequency: per-phase,\n    warning_tolerance: none,\n    ask: when_findings}}\n",
            ),
            // JSON by another name
            (
                Format::Yaml,
                "{\n  \"autonomy\": {\n    \"level\": \"guarded\",\n    \"error_tolerance\": null\n  }\n}\n",
                "{\n  \"autonomy\": {\n    \"check_in_frequency\": \"per-phase\",\n    \"warning_tolerance\": \"low\",\n    \"ask\": \"when_findings\",\n    \"error_tolerance\": \"none\"\n  }\n}\n",
            ),
            (
                Format::Yaml,
                r#"{"autonomy": "assist"}"#,
                r#"{"autonomy": { "check_in_frequency": "per-phase", "warning_tolerance": "none", "error_tolerance": "none", "ask": "when_findings" }}"#,
            ),
            // nothing to do
            (
                Format::Yaml,
                "autonomy: {level: custom, hold_at: []}\n",
                "autonomy: {level: custom, hold_at: []}\n",
            ),
            (Format::Yaml, "id: x\n", "id: x\n"),
        ] {
            assert_eq!(migrated(format, before), after);
            assert_eq!(migrated(format, after), after, "a second time changes nothing");
        }
    }
}
