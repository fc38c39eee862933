//! What a request asks with: its query and its body, as types that are described and read alike.

use std::sync::Arc;

use checkrein_core::deliverable::{check_exact, check_keys};
use checkrein_core::document::{Document, Format, Gravity, decode};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use crate::error::{Kind, Problem};

/// A query or a body that is not there.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

/// The part of a URL after `?`.
#[derive(Clone, Debug)]
pub struct Query<T>(pub T);

/// A body that has to be there.
#[derive(Clone, Debug)]
pub struct Json<T>(pub T);

/// A body that has to be there, and to say exactly what is kept and judged (R2): no number in it becomes another
/// one, no key stands twice.
#[derive(Clone, Debug)]
pub struct ExactJson<T>(pub T);

/// A body that may be left out.
#[derive(Clone, Debug)]
pub struct MaybeJson<T>(pub T);

/// A list that may be left out, and means something else when it is: one that is sent empty is a mistake (R8).
pub fn some_of<T>(name: &str, list: Option<Vec<T>>) -> Result<Vec<T>, Problem> {
    match list {
        Some(list) if list.is_empty() => {
            let problem = Problem::new(Kind::Invalid, format!("`{name}` is empty"));
            Err(problem.hint("leave it out for what happens by default"))
        }
        list => Ok(list.unwrap_or_default()),
    }
}

/// One parameter of a query.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    pub schema: Value,
    pub required: bool,
}

impl Parameter {
    fn is_a(&self, kind: &str) -> bool {
        match self.schema.get("type") {
            Some(Value::String(one)) => one == kind,
            Some(Value::Array(several)) => several.iter().any(|one| one == kind),
            _ => false,
        }
    }
}

pub trait Question: Sized + Send {
    fn parameters(generator: &mut SchemaGenerator) -> Vec<Parameter>;
    fn read(query: &str, known: &[Parameter]) -> Result<Self, Problem>;
}

impl Question for Nothing {
    fn parameters(_: &mut SchemaGenerator) -> Vec<Parameter> {
        Vec::new()
    }

    fn read(query: &str, known: &[Parameter]) -> Result<Nothing, Problem> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct None {}
        read_query::<None>(query, known).map(|_| Nothing)
    }
}

impl<T: DeserializeOwned + JsonSchema + Send> Question for Query<T> {
    fn parameters(generator: &mut SchemaGenerator) -> Vec<Parameter> {
        let schema = T::json_schema(generator).to_value();
        let required = |name: &str| {
            let required = schema.get("required").and_then(Value::as_array);
            required.is_some_and(|names| names.iter().any(|required| required == name))
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let parameters = properties.into_iter().flatten().map(|(name, schema)| Parameter {
            name: name.clone(),
            schema: without_null(schema.clone()),
            required: required(name),
        });
        parameters.collect()
    }

    fn read(query: &str, known: &[Parameter]) -> Result<Query<T>, Problem> {
        read_query(query, known).map(Query)
    }
}

/// A parameter that is left out is not null, it is not there.
fn without_null(mut schema: Value) -> Value {
    let Some(map) = schema.as_object_mut() else { return schema };
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            map.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(any)) = map.get_mut("anyOf") {
        any.retain(|one| one != &json!({"type": "null"}));
        if let [one] = any.as_slice() {
            let one = one.clone();
            map.remove("anyOf");
            if let Value::Object(one) = one {
                map.extend(one);
            }
        }
    }
    map.remove("default");
    schema
}

/// Read as a document, so that a misspelt name gets the same help as in a file.
fn read_query<T: DeserializeOwned>(query: &str, known: &[Parameter]) -> Result<T, Problem> {
    let mut text = String::from("{");
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let is_a = |kind: &str| known.iter().any(|parameter| parameter.name == name && parameter.is_a(kind));
        let number = value.parse::<i64>().ok().filter(|_| is_a("integer"));
        let yes = value.parse::<bool>().ok().filter(|_| is_a("boolean"));
        let value = match (number, yes) {
            (Some(number), _) => json!(number),
            (None, Some(yes)) => json!(yes),
            (None, None) => json!(value),
        };
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&format!("{}:{value}", json!(name)));
    }
    text.push('}');
    let document = Document::parse("query", &text, Format::Json);
    let read = document.and_then(|document| decode::<T>(&Arc::new(document), Gravity::Error));
    read.map(|(read, _)| read).map_err(|problems| Problem::of_text(Kind::Malformed, &problems))
}

/// Whether a request has to bring a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Nothing,
    Optional,
    Required,
}

pub trait Body: Sized + Send {
    const EXPECTED: Expected;
    /// Whether what reading JSON would change is refused.
    const EXACT: bool = false;
    fn schema(generator: &mut SchemaGenerator) -> Option<Value>;
    /// `shape` is its schema, without references.
    fn read(body: &[u8], shape: Option<&Value>) -> Result<Self, Problem>;
}

impl Body for Nothing {
    const EXPECTED: Expected = Expected::Nothing;

    fn schema(_: &mut SchemaGenerator) -> Option<Value> {
        None
    }

    fn read(body: &[u8], _: Option<&Value>) -> Result<Nothing, Problem> {
        let empty = body.trim_ascii();
        if empty.is_empty() || empty == b"{}" {
            return Ok(Nothing);
        }
        Err(Problem::new(Kind::Malformed, "this takes no body").hint("leave it out"))
    }
}

/// A JSON body as it came, for whoever looks at its signature first.
#[derive(Clone, Debug)]
pub struct Raw(pub Vec<u8>);

impl Body for Raw {
    const EXPECTED: Expected = Expected::Required;

    fn schema(_: &mut SchemaGenerator) -> Option<Value> {
        Some(json!({"type": "object"}))
    }

    fn read(body: &[u8], _: Option<&Value>) -> Result<Raw, Problem> {
        Ok(Raw(body.to_vec()))
    }
}

impl<T: DeserializeOwned + JsonSchema + Send> Body for Json<T> {
    const EXPECTED: Expected = Expected::Required;

    fn schema(generator: &mut SchemaGenerator) -> Option<Value> {
        Some(generator.subschema_for::<T>().to_value())
    }

    fn read(body: &[u8], shape: Option<&Value>) -> Result<Json<T>, Problem> {
        read_body(body, shape).map(Json)
    }
}

impl<T: DeserializeOwned + JsonSchema + Send> Body for ExactJson<T> {
    const EXPECTED: Expected = Expected::Required;
    const EXACT: bool = true;

    fn schema(generator: &mut SchemaGenerator) -> Option<Value> {
        <Json<T>>::schema(generator)
    }

    fn read(body: &[u8], shape: Option<&Value>) -> Result<ExactJson<T>, Problem> {
        let written = std::str::from_utf8(body).ok();
        if let Some(text) = written.filter(|text| serde_json::from_str::<IgnoredAny>(text).is_ok()) {
            check_exact(text)?;
        }
        read_body(body, shape).map(ExactJson)
    }
}

impl<T: DeserializeOwned + JsonSchema + Default + Send> Body for MaybeJson<T> {
    const EXPECTED: Expected = Expected::Optional;

    fn schema(generator: &mut SchemaGenerator) -> Option<Value> {
        Some(generator.subschema_for::<T>().to_value())
    }

    fn read(body: &[u8], shape: Option<&Value>) -> Result<MaybeJson<T>, Problem> {
        if body.trim_ascii().is_empty() {
            return Ok(MaybeJson(T::default()));
        }
        read_body(body, shape).map(MaybeJson)
    }
}

/// Quickly where all is well; with the place of every mistake where it is not.
fn read_body<T: DeserializeOwned>(body: &[u8], shape: Option<&Value>) -> Result<T, Problem> {
    if let Some(shape) = shape.filter(|_| may_misfit(body))
        && let Ok(value) = serde_json::from_slice(body)
        && let Some((path, found)) = misfit(shape, &value, String::new())
    {
        let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
        return Err(Problem::new(Kind::Invalid, format!("{place}{found} is not taken here")));
    }
    let Ok(text) = std::str::from_utf8(body) else {
        return Err(Problem::new(Kind::Malformed, "the body is not UTF-8"));
    };
    // Serde would take a list for an object, field by field, and the last of two equal keys (R2).
    let is_object = text.trim_start().starts_with('{');
    if is_object
        && check_keys(text).is_ok()
        && let Ok(read) = serde_json::from_str(text)
    {
        return Ok(read);
    }
    // In a file nothing at all is an empty object; a program that sends it has made a mistake.
    if text.trim() == "null" {
        return Err(Problem::new(Kind::Invalid, "expected an object, found null"));
    }
    let document = Document::parse("body", text, Format::Json)
        .map_err(|problems| Problem::of_text(Kind::Malformed, &problems))?;
    match decode::<T>(&Arc::new(document), Gravity::Error) {
        // A document takes `3.0` for a whole number, as JSON does.
        Ok((read, _)) => Ok(read),
        Err(problems) => Err(Problem::of_text(Kind::Invalid, &problems)),
    }
}

/// Whether there is anything in a body that could be taken for something else.
fn may_misfit(body: &[u8]) -> bool {
    body.contains(&b'[') || body.windows(4).any(|window| window == b"null")
}

/// Where a list or null stands in a place that takes neither: serde takes a list for an object, field by
/// field, and a file takes null for nothing said. The rest is found by whoever reads it.
fn misfit(shape: &Value, value: &Value, path: String) -> Option<(String, &'static str)> {
    for several in ["anyOf", "oneOf"] {
        if let Some(shapes) = shape.get(several).and_then(Value::as_array) {
            let misfits: Vec<_> = shapes.iter().map(|shape| misfit(shape, value, path.clone())).collect();
            // Where it fits none, the first tells more than nothing.
            return if misfits.iter().any(Option::is_none) { None } else { misfits.into_iter().next()? };
        }
    }
    let takes = |kind: &str| match shape.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => true,
    };
    match value {
        Value::Null if !takes("null") => Some((path, "null")),
        Value::Array(_) if !takes("array") => Some((path, "a list")),
        Value::Array(items) => {
            let shape = shape.get("items")?;
            let mut items = items.iter().enumerate();
            items.find_map(|(index, item)| misfit(shape, item, format!("{path}[{index}]")))
        }
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let own = shape.get("properties").and_then(|properties| properties.get(name));
            let shape = own.or_else(|| shape.get("additionalProperties"))?;
            let dot = if path.is_empty() { "" } else { "." };
            misfit(shape, value, format!("{path}{dot}{name}"))
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Wanted {
        limit: Option<u32>,
        worker: Option<String>,
    }

    #[test]
    fn a_query_is_read_by_what_its_parameters_are() {
        let known = <Query<Wanted>>::parameters(&mut SchemaGenerator::default());
        let read = |query: &str| <Query<Wanted>>::read(query, &known).map(|Query(wanted)| wanted);
        let wanted = read("limit=7&worker=7+%C3%BC").unwrap();
        assert_eq!((wanted.limit, wanted.worker.as_deref()), (Some(7), Some("7 ü")));
        assert!(read("").unwrap().limit.is_none());
        for (query, expected) in [
            ("limit=many", "limit"),
            ("limit=-1", "limit"),
            ("limit=1&limit=2", "given twice"),
            ("workr=x", "unknown key `workr`"),
        ] {
            let problem = read(query).unwrap_err();
            assert_eq!(problem.kind, Kind::Malformed, "{query}");
            assert!(problem.detail.contains(expected), "{query}: {}", problem.detail);
        }
        assert_eq!(read("workr=x").unwrap_err().errors[0].hint.as_deref(), Some("did you mean `worker`?"));
    }

    #[test]
    fn mistakes_in_a_body_are_named() {
        let read = |body: &str| <Json<Wanted>>::read(body.as_bytes(), None).map(|Json(wanted)| wanted.limit);
        assert_eq!(read(r#"{"limit": 3}"#).unwrap(), Some(3));
        assert_eq!(read(r#"{"limit": 3.0}"#).unwrap(), Some(3));
        for (body, kind, expected) in [
            ("{", Kind::Malformed, ""),
            ("", Kind::Malformed, ""),
            ("[]", Kind::Invalid, ""),
            (r#"[3, "x"]"#, Kind::Invalid, "found a list"),
            (" null ", Kind::Invalid, "found null"),
            (r#"{"limit": "x"}"#, Kind::Invalid, "limit: "),
            (r#"{"limt": 1}"#, Kind::Invalid, "unknown key `limt`"),
        ] {
            let problem = read(body).unwrap_err();
            assert_eq!(problem.kind, kind, "{body}");
            assert!(problem.detail.contains(expected), "{body}: {}", problem.detail);
        }
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Nested {
        #[serde(default)]
        texts: Vec<String>,
        inner: Option<Wanted>,
        #[serde(default)]
        any: Value,
        #[serde(default)]
        several: Vec<Wanted>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only read")]
    struct Flat {
        #[serde(flatten)]
        inner: Wanted,
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_at_every_depth() {
        let nested = |body: &str| <Json<Nested>>::read(body.as_bytes(), None).map(drop);
        let flat = |body: &str| <Json<Flat>>::read(body.as_bytes(), None).map(drop);
        let maybe = |body: &str| <MaybeJson<Value>>::read(body.as_bytes(), None).map(drop);
        for refused in [
            nested(r#"{"any": {"a": [{"b": 1, "b": 2}]}}"#),
            nested(r#"{"any": 1, "any": 2}"#),
            nested(r#"{"several": [{"limit": 1, "limit": 2}]}"#),
            flat(r#"{"limit": 1, "\u006cimit": 2}"#),
            maybe(r#"{"a": {"b": 1, "b": 1}}"#),
        ] {
            let problem = refused.unwrap_err();
            assert_eq!(problem.kind, Kind::Malformed, "{}", problem.detail);
            assert!(problem.detail.contains("is given twice"), "{}", problem.detail);
        }
        nested(r#"{"any": {"a": 1, "b": {"a": 1}}, "several": [{"limit": 1}, {"limit": 2}]}"#).unwrap();
    }

    #[test]
    fn a_list_is_no_object_and_null_is_not_nothing() {
        let shape = <Json<Nested>>::schema(&mut crate::route::inline()).unwrap();
        let read = |body: &str| <Json<Nested>>::read(body.as_bytes(), Some(&shape)).map(drop);
        for fine in [
            r#"{"texts": ["a"], "inner": null, "any": [null, {"x": []}]}"#,
            r#"{"inner": {"limit": null}, "any": null, "several": [{"limit": 1}]}"#,
        ] {
            read(fine).unwrap();
        }
        for (body, expected) in [
            (r#"{"inner": [3, "x"]}"#, "inner: a list"),
            (r#"{"texts": null}"#, "texts: null"),
            (r#"{"texts": [null]}"#, "texts[0]: null"),
            (r#"{"several": [{"limit": 1}, [1, "x"]]}"#, "several[1]: a list"),
            (r#"{"inner": {"worker": []}}"#, "inner.worker: a list"),
        ] {
            let problem = read(body).unwrap_err();
            assert!(problem.detail.starts_with(expected), "{body}: {}", problem.detail);
            assert_eq!(problem.kind, Kind::Invalid);
        }
    }
}
