//! Who may use which route: one page, made of the routes themselves.

use checkrein_core::principal::Role;
use checkrein_engine::Act;

use crate::route::{Access, Route};
use crate::routes;

/// The page, as Markdown.
pub fn page() -> String {
    let mut page = String::from(
        "# Who may do what over HTTP\n\n\
         Generated from the list of routes; every cell is tested by asking. `own` is what an agent's token made, and\n\
         what belongs to its runs; anything else is not there for it. A second row of a route is about requests that take more.\n\
         [http.md](http.md) says how to ask.\n\n\
         | route | nobody | viewer | agent | reviewer | admin |\n|---|---|---|---|---|---|\n",
    );
    for route in routes::all() {
        let cells = [None].into_iter().chain(Role::ALL.map(Some)).map(|role| cell(&route, role));
        let cells: Vec<&str> = cells.collect();
        page.push_str(&format!("| `{} {}` | {} |\n", route.method, route.path, cells.join(" | ")));
        for (what, act) in route.more {
            let may = |role: Option<Role>| if Access::To(*act).allows(role) { "yes" } else { "-" };
            let cells: Vec<&str> = [None].into_iter().chain(Role::ALL.map(Some)).map(may).collect();
            page.push_str(&format!("| `{} {}` {what} | {} |\n", route.method, route.path, cells.join(" | ")));
        }
    }
    page.push_str(
        "\n## Tools of MCP\n\n\
         The same, of the tools at `/mcp`; a tool that is not for a role is not there for it. [mcp.md](mcp.md) says what\n\
         they do. None gives a verdict.\n\n\
         | tool | nobody | viewer | agent | reviewer | admin |\n|---|---|---|---|---|---|\n",
    );
    page.push_str(&crate::mcp::authorization());
    page
}

fn cell(route: &Route, role: Option<Role>) -> &'static str {
    let bound = matches!(route.access, Access::To(Act::Read | Act::StartRun | Act::Reply | Act::KeepFrames))
        && is_of_somebody(route);
    match (route.access.allows(role), role) {
        (false, _) => "-",
        (true, Some(Role::Agent)) if bound => "own",
        // An admin alone takes back what somebody else asked for.
        (true, Some(Role::Agent | Role::Reviewer)) if matches!(route.access, Access::To(Act::Withdraw)) => {
            "own"
        }
        (true, _) => "yes",
    }
}

/// Whether it shows or touches what belongs to somebody.
fn is_of_somebody(route: &Route) -> bool {
    let nouns = ["/v1/checkpoints", "/v1/runs", "/v1/jobs", "/v1/events", "/v1/frames", "/v1/suggestions"];
    nouns.iter().any(|noun| route.path.starts_with(noun)) && !route.path.starts_with("/v1/frames/should-")
}
