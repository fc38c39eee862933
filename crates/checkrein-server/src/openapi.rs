//! The description of the API, made of the routes themselves.

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::ask::Expected;
use crate::error::{KINDS, Kind, ProblemJson};
use crate::route::{Access, Format, Keyed, Login, Route};
use crate::routes;

/// OpenAPI 3.1.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let problem = generator.subschema_for::<ProblemJson>().to_value();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in routes::all() {
        let operation = operation(&route, &mut generator, &problem);
        let method = route.method.as_str().to_ascii_lowercase();
        paths.entry(route.path).or_default().insert(method, operation);
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Checkrein",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Decides how far an AI agent may go on its own, holds its work for a person, and remembers everything.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token made by `checkrein token create`",
                },
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": crate::session::COOKIE,
                    "description": "A browser's session. The name goes on with `_` and the port, where `Host` has one, and begins with `__Host-` behind TLS. Requests that change something must come from the same origin and send the `csrf_token` of the session as `X-CSRF-Token`",
                },
                "password": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "For git: a token as the password, with any name",
                },
            },
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator, problem: &Value) -> Value {
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.about,
        "tags": [tag(route)],
        "parameters": parameters(route, generator),
        "responses": responses(route, generator, problem),
    });
    let Some(map) = operation.as_object_mut() else { return operation };
    if let Some(schema) = (route.body)(generator) {
        let content = json!({"application/json": {"schema": schema}});
        let required = route.expected == Expected::Required;
        map.insert("requestBody".to_owned(), json!({"required": required, "content": content}));
    }
    if route.login == Login::Password {
        map.insert("security".to_owned(), json!([{"password": []}, {"bearer": []}]));
    }
    match route.access {
        Access::Open => drop(map.insert("security".to_owned(), json!([]))),
        Access::Known => {}
        Access::To(act) => {
            let least = checkrein_engine::least(act);
            let mut text = format!("Takes the role {least}: may {}.", act.name());
            for (what, act) in route.more {
                let least = checkrein_engine::least(*act);
                text.push_str(&format!(" It takes the role {least} {what}."));
            }
            map.insert("description".to_owned(), text.into());
        }
    }
    operation
}

/// What a route is about: the noun of its path.
fn tag(route: &Route) -> &'static str {
    let mut parts = route.path.split('/').skip(1);
    match (parts.next(), parts.next()) {
        (Some("v1"), Some("openapi.json")) | (_, None) => "system",
        (Some("v1"), Some(noun)) => noun,
        (Some("git"), _) => "git",
        _ => "system",
    }
}

fn parameters(route: &Route, generator: &mut SchemaGenerator) -> Vec<Value> {
    let in_path = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut all: Vec<Value> = in_path
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    for parameter in (route.parameters)(generator) {
        let mut schema = parameter.schema;
        let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut described =
            json!({"name": parameter.name, "in": "query", "required": parameter.required, "schema": schema});
        if let (Some(about), Some(described)) = (about, described.as_object_mut()) {
            described.insert("description".to_owned(), about);
        }
        all.push(described);
    }
    let header = |name: &str, pattern: &str, about: &str| {
        let schema = json!({"type": "string", "pattern": pattern});
        json!({"name": name, "in": "header", "required": false, "schema": schema, "description": about})
    };
    if route.keyed == Keyed::Yes {
        let about = "A request that is sent again with it is answered as before";
        all.push(header("Idempotency-Key", "^[!-~]{1,200}$", about));
    }
    if route.refuses.contains(&Kind::PreconditionFailed) {
        let about = "The `ETag` of the version the change was decided on";
        all.push(header("If-Match", r#"^("[0-9]{1,18}"|[*])$"#, about));
    }
    if route.format == Format::MayStream {
        let about = "The `id` of the last event that was seen; stronger than `after`";
        all.push(header("Last-Event-ID", "^[0-9]{1,18}$", about));
    }
    all
}

fn responses(route: &Route, generator: &mut SchemaGenerator, problem: &Value) -> Map<String, Value> {
    let mut responses: BTreeMap<String, Value> = BTreeMap::new();
    for (status, described) in (route.answers)(generator) {
        responses.insert(status.to_string(), described);
    }
    let mut titles: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for (kind, status, _, title) in KINDS {
        if may_refuse(route, *kind) {
            titles.entry(*status).or_default().push(title);
        }
    }
    for (status, titles) in titles {
        let content = json!({"application/problem+json": {"schema": problem}});
        responses
            .insert(status.to_string(), json!({"description": titles.join("; or "), "content": content}));
    }
    responses.into_iter().collect()
}

/// What any route may refuse, and what this one may.
fn may_refuse(route: &Route, kind: Kind) -> bool {
    let changes = route.method != axum::http::Method::GET;
    match kind {
        Kind::Malformed | Kind::Misdirected | Kind::RateLimited | Kind::Internal | Kind::Unavailable => true,
        Kind::Unauthenticated => route.access != Access::Open,
        Kind::Forbidden => matches!(route.access, Access::To(_)),
        Kind::CrossSite => changes,
        Kind::TooSlow | Kind::TooLarge => changes,
        Kind::UnsupportedMediaType | Kind::Invalid => {
            route.expected != Expected::Nothing || route.refuses.contains(&kind)
        }
        Kind::KeyInUse | Kind::KeyReused => route.keyed == Keyed::Yes,
        other => route.refuses.contains(&other),
    }
}
