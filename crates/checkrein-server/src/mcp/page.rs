//! What there is to call, as a page.

use checkrein_engine::least;

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
        let row = [format!("`{}`", tool.name), takes.join(" "), least(tool.act).to_string(), tool.about.to_owned()];
        page.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    page
}
