//! Each row: a text, and the whole complaint about it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Document, Format, Gravity, Node, Value, decode};

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Sample {
    name: Option<String>,
    count: Option<u32>,
    mode: Option<Mode>,
    #[serde(default)]
    parts: BTreeMap<String, Part>,
    #[serde(default)]
    list: Vec<u32>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    PerStep,
    PerPhase,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Part {
    size: u8,
}

fn complaint(format: Format, text: &str) -> String {
    let result = Document::parse("file", text, format)
        .and_then(|document| decode::<Sample>(&document, Gravity::Error).map(|_| ()));
    match result {
        Ok(()) => "fine".to_owned(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn complaints_name_place_value_and_remedy() {
    for (text, expected) in [
        ("name: x\ncount: 3\nmode: per-step", "fine"),
        ("parts: {a: {size: 1}}\nlist: [1, 2]", "fine"),
        ("", "fine"),
        ("parts:\nlist:", "fine"),
        ("count: 3.0", "fine"),
        ("count: 3.5", "file:1:8: count: expected a whole number from 0 up, found a number `3.5`"),
        ("nmae: x", "file:1:1: unknown key `nmae`\n  hint: did you mean `name`?"),
        (
            "name: x\nzzz: 1\nmoed: per-step",
            "file:2:1: unknown key `zzz`\n  hint: allowed here: `name`, `count`, `mode`, `parts`, `list`\n\
             file:3:1: unknown key `moed`\n  hint: did you mean `mode`?",
        ),
        ("count: many", "file:1:8: count: expected a whole number from 0 up, found text `many`"),
        ("count: -1", "file:1:8: count: expected a whole number from 0 up, found a number `-1`"),
        ("name: 237", "file:1:7: name: expected text, found a number `237`"),
        (
            "mode: per-stepp",
            "file:1:7: mode: unknown value `per-stepp`, expected one of `per-step`, `per-phase`\n  \
             hint: did you mean `per-step`?",
        ),
        ("mode: [per-step]", "file:1:7: mode: expected one of `per-step`, `per-phase`, found a list"),
        (
            "parts:\n  a: {size: 300}",
            "file:2:13: parts.a.size: expected a whole number from 0 up, found a number `300`",
        ),
        ("parts:\n  a: {}", "file:2:6: parts.a: missing key `size`"),
        ("list: [1, two]", "file:1:11: list[1]: expected a whole number from 0 up, found text `two`"),
        ("name: a\nname: b", "file:2:1: key `name` is given twice"),
        ("--- \nname: a\n---\nname: b", "file:3:1: a second YAML document begins; one file is one document"),
    ] {
        assert_eq!(complaint(Format::Yaml, text), expected, "{text}");
    }
    for (text, expected) in [
        (r#"{"name": "x", "count": 3}"#, "fine"),
        ("{\n  \"nam\": 1\n}", "file:2:3: unknown key `nam`\n  hint: did you mean `name`?"),
        (r#"{"name": "x", "name": "y"}"#, "file:1:15: key `name` is given twice"),
        (r#"{"name": "x",}"#, "file:1:13: not valid JSON: trailing commas are not allowed"),
        ("", "file:1:1: not valid JSON: the text is empty"),
        (
            "{\n\"name\": \"a\u{0}b\"}",
            "file:2:11: not valid JSON: control character (\\u0000-\\u001F) found while parsing a string",
        ),
    ] {
        assert_eq!(complaint(Format::Json, text), expected, "{text}");
    }
    for (text, expected) in [
        ("name = \"x\"\n[parts.a]\nsize = 1", "fine"),
        (
            "[parts.a]\nsise = 1",
            "file:2:1: parts.a: unknown key `sise`\n  hint: did you mean `size`?\nfile:1:1: parts.a: missing key `size`",
        ),
        ("count = 1\ncount = 2", "file:2:1: not valid TOML: duplicate key"),
    ] {
        assert_eq!(complaint(Format::Toml, text), expected, "{text}");
    }
}

#[test]
fn yaml_scalars_follow_the_core_schema() {
    for (text, expected) in [
        ("on", Value::Text("on".into())),
        ("yes", Value::Text("yes".into())),
        ("true", Value::Bool(true)),
        ("~", Value::Null),
        ("12", Value::Int(12)),
        ("0x1f", Value::Int(31)),
        ("18446744073709551615", Value::Big(u64::MAX)),
        ("1.5", Value::Float(1.5)),
        ("1e3", Value::Float(1000.0)),
        ("1.2.3", Value::Text("1.2.3".into())),
        ("'12'", Value::Text("12".into())),
        ("!!str 12", Value::Text("12".into())),
        ("-", Value::List(vec![Node { value: Value::Null, span: 0..0 }])),
    ] {
        let document = Document::parse("t", text, Format::Yaml).unwrap();
        assert_eq!(document.root.value, expected, "{text}");
    }
}

#[test]
fn aliases_and_merge_keys_are_expanded() {
    let text = "base: &b {name: x, count: 1}\nuse: {<<: *b, count: 2}\n";
    let document = Document::parse("t", text, Format::Yaml).unwrap();
    let used = document.root.get("use").unwrap();
    assert_eq!(used.get("name").unwrap().as_text(), Some("x"));
    assert_eq!(used.get("count").unwrap().value, Value::Int(2));
}

#[test]
fn a_bomb_of_aliases_and_a_deep_nest_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let before = level - 1;
        let aliases = vec![format!("*a{before}"); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let problems = Document::parse("t", &bomb, Format::Yaml).unwrap_err();
    assert!(problems.to_string().contains("too many values"), "{problems}");
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a, ".repeat(100_000));
    let problems = Document::parse("t", &long, Format::Yaml).unwrap_err();
    assert!(problems.to_string().contains("too many values"), "{problems}");
    for (format, text) in [
        (Format::Yaml, "[".repeat(1000)),
        (Format::Json, format!("{}{}", "[".repeat(1000), "]".repeat(1000))),
        (Format::Yaml, "[".repeat(200_000)),
        (Format::Json, "[".repeat(200_000)),
        (Format::Toml, format!("a = {}", "[".repeat(200_000))),
        (Format::Toml, format!("a{} = 1", ".a".repeat(200_000))),
        (Format::Yaml, "- ".repeat(200_000)),
    ] {
        assert!(Document::parse("t", &text, format).is_err());
    }
}

#[test]
fn a_position_is_found_by_path() {
    let document = Document::parse("t", "a:\n  b: 1\n  c: [x, y]\n", Format::Yaml).unwrap();
    for (path, expected, written) in [
        (vec!["a", "b"], (2, 3), "a.b"),
        (vec!["a", "c", "1"], (3, 10), "a.c[1]"),
        (vec!["a", "c", "7", "x"], (3, 3), "a.c[7].x"),
        (vec!["a", "missing"], (1, 1), "a.missing"),
        (vec![], (1, 1), ""),
    ] {
        let position = document.position(&path);
        assert_eq!((position.line, position.column), expected, "{path:?}");
        assert_eq!(document.path(&path), written);
    }
}
