//! The table of tools in the manual is that of the code.

use crate::openapi::check_file;

#[test]
fn the_tools_in_the_docs_are_those_there_are() {
    let text = std::fs::read_to_string(crate::openapi::repository().join("docs/mcp.md")).unwrap();
    let (begin, end) = ("<!-- tools: generated -->\n\n", "\n<!-- tools: end -->");
    let (before, rest) = text.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    check_file("docs/mcp.md", &format!("{before}{begin}{}{end}{after}", checkrein_server::mcp::page()));
}
