//! What there is to call, as a page.

use checkrein_core::principal::Role;
use checkrein_engine::{Act, allowed, least};

use super::tools;

/// The table of tools, as Markdown.
pub fn page() -> String {
    let mut page = String::from("| tool | takes | role | what it does |\n|---|---|---|---|\n");
    for tool in tools::all() {
        let properties = tool.schema.get("properties").and_then(serde_json::Value::as_object);
        let required = tool.schema.get("required").and_then(serde_json::Value::as_array);
        let named = |name: &String| match required.is_some_and(|all| all.iter().any(|one| one == name)) {
            true => format!("**`{name}`**"),
            false => format!("`{name}`"),
        };
        let takes: Vec<String> = properties.into_iter().flatten().map(|(name, _)| named(name)).collect();
        let row =
            [format!("`{}`", tool.name), takes.join(" "), least(tool.act).to_string(), tool.about.to_owned()];
        page.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    page
}

/// Who finds which tool: the rows of a table with nobody and each role.
pub fn authorization() -> String {
    let mut rows = String::new();
    for tool in tools::all() {
        // What a policy says is the same for everybody; anything else belongs to somebody.
        let bound =
            !tool.name.ends_with("_policy") && matches!(tool.act, Act::Read | Act::HandIn | Act::KeepFrames);
        let cell = |role: Role| match (allowed(role, tool.act), role) {
            (false, _) => "-",
            (true, Role::Agent) if bound => "own",
            (true, _) => "yes",
        };
        rows.push_str(&format!("| `{}` | - | {} |\n", tool.name, Role::ALL.map(cell).join(" | ")));
    }
    rows
}
