//! What a program keeps of its sessions: how much was used when one was last left, and what is used while it works.
//!
//! A program that goes on with a session counts on from where that was left. What it counted before is in its own record,
//! where it looks itself, so the difference is what this call used.

use std::path::{Path, PathBuf};

use crate::task::AgentTask;

/// Where a program keeps its files: the directory a variable names, else one in the user's home. In our sandbox it is a
/// home of the program's own.
pub(crate) fn directory_of(task: &AgentTask, variable: &str, in_home: &str) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match task.sandboxed {
        true => task.home.clone(),
        false => set(variable).unwrap_or_else(|| set("HOME").unwrap_or_default().join(in_home)),
    }
}

/// The directories in a directory, the last name first, which is the newest where names are dates.
pub(crate) fn directories(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use checkrein_core::activity::Did;
    use checkrein_core::config::agent::AgentKind;

    use super::super::stream::Stream;
    use super::super::tests::task;
    use super::super::{Limits, Reader, codex, reader, tools};
    use crate::task::AgentTask;

    const CLAUDE: &str = "projects/-clone/s1.jsonl";
    const CODEX: &str = "sessions/2026/11/17/rollout-2026-11-17T22-17-53-s1.jsonl";

    fn cost_state(cost: f64) -> String {
        format!(
            r#"{{"type":"cost-state","sessionId":"s1","totalCostUSD":{cost}}}
"#
        )
    }

    fn token_count(total: u64) -> String {
        format!(
            r#"{{"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{total},"output_tokens":0}},"last_token_usage":{{"input_tokens":7,"output_tokens":0}}}}}}}}
"#
        )
    }

    fn used(did: Vec<Did>) -> Option<(u64, Option<f64>)> {
        let mut used = did.into_iter().filter_map(|did| match did {
            Did::Used { tokens, cost } => Some((tokens, cost)),
            _ => None,
        });
        used.next_back()
    }

    #[test]
    fn what_a_session_used_before_is_not_counted_again() {
        let claude =
            r#"{"type":"result","subtype":"success","total_cost_usd":0.018,"usage":{"input_tokens":900}}"#;
        let codex = r#"{"type":"turn.completed","usage":{"input_tokens":4200,"output_tokens":60}}"#;
        for (kind, file, before, session, line, expected) in [
            (AgentKind::Claude, CLAUDE, cost_state(0.01), Some("s1"), claude, (900, Some(0.008))),
            (AgentKind::Claude, CLAUDE, cost_state(0.01), None, claude, (900, Some(0.018))),
            (AgentKind::Claude, CLAUDE, cost_state(0.5), Some("s1"), claude, (900, Some(0.018))),
            (AgentKind::Claude, CLAUDE, String::new(), Some("s1"), claude, (900, Some(0.018))),
            (AgentKind::Codex, CODEX, String::new(), Some("s1"), codex, (4260, None)),
        ] {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, before).unwrap();
            let mut task = task(kind, "guided", true, None);
            task.home = home.path().to_owned();
            let mut reader = reader(&task, session);
            let (tokens, cost) = used(reader.read(line)).unwrap();
            assert_eq!((tokens, cost.map(|cost| (cost * 1000.0).round() / 1000.0)), expected, "{line}");
        }
    }

    #[test]
    fn a_program_shows_that_its_limits_are_in_force() {
        let bare = |mode: &str, tools: &str| {
            format!(
                r#"{{"type":"system","subtype":"init","session_id":"s1","permissionMode":"{mode}","tools":[{tools}]}}"#
            )
        };
        let ours = |from: usize| {
            let names = tools(&task(AgentKind::Claude, "guided", false, None))[from..].iter();
            names.map(|name| format!(r#""mcp__checkrein__{name}""#)).collect::<Vec<_>>().join(",")
        };
        let init = |mode: &str, tools: &str| {
            bare(
                mode,
                &[tools, &ours(0)].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(","),
            )
        };
        let turn = |policy: &str| {
            format!("{{\"type\":\"turn_context\",\"payload\":{{\"sandbox_policy\":{policy}}}}}\n")
        };
        let begun = r#"{"type":"thread.started","thread_id":"s1"}"#.to_owned();
        let fetched = |tool: &str, status: &str| {
            format!(
                r#"{{"type":"tool_use","tool_id":"t","tool_name":"{tool}","parameters":{{}}}}
{{"type":"tool_result","tool_id":"t","status":"{status}","output":"a page"}}"#
            )
        };
        let searched = r#"{"type":"tool_use","sessionID":"s1","part":{"callID":"t","tool":"websearch","state":{"status":"completed","output":"a page"}}}"#;
        let none = String::new();
        use AgentKind::{Claude, Codex, Gemini, Opencode};
        for (kind, level, record, lines, expected) in [
            (Claude, "guided", none.clone(), init("acceptEdits", r#""Bash""#), "in force"),
            (
                Claude,
                "guided",
                none.clone(),
                init("bypassPermissions", ""),
                "`bypassPermissions` instead of `acceptEdits`",
            ),
            (Claude, "guided", none.clone(), init("acceptEdits", r#""WebFetch""#), "the tool `WebFetch`"),
            (Claude, "full", none.clone(), init("bypassPermissions", r#""WebFetch""#), "in force"),
            (
                Claude,
                "guided",
                none.clone(),
                bare("acceptEdits", &ours(2)),
                "not offered the tools of Checkrein: `todo_list`, `todo_complete`",
            ),
            (Claude, "full", none.clone(), bare("bypassPermissions", r#""Bash""#), "not offered the tools"),
            (Claude, "guided", none.clone(), init("", ""), "unknown"),
            (Claude, "guided", none.clone(), none.clone(), "unknown"),
            (
                Codex,
                "guided",
                turn(r#"{"type":"workspace-write","network_access":false}"#),
                begun.clone(),
                "in force",
            ),
            (
                Codex,
                "guided",
                turn(r#"{"type":"workspace-write","network_access":true}"#),
                begun.clone(),
                "use the network",
            ),
            (
                Codex,
                "full",
                turn(r#"{"type":"workspace-write","network_access":true}"#),
                begun.clone(),
                "in force",
            ),
            (Codex, "full", turn(r#"{"type":"danger-full-access"}"#), begun.clone(), "`danger-full-access`"),
            (Codex, "guided", turn(r#"{"type":"read-only"}"#), begun.clone(), "in force"),
            (Codex, "guided", turn("null"), begun.clone(), "unknown"),
            (Codex, "guided", none.clone(), begun, "unknown"),
            (Gemini, "guided", none.clone(), fetched("web_fetch", "success"), "used `web_fetch`"),
            (Gemini, "guided", none.clone(), fetched("web_fetch", "error"), "in force"),
            (Gemini, "full", none.clone(), fetched("web_fetch", "success"), "in force"),
            (Opencode, "guided", none.clone(), searched.to_owned(), "used `websearch`"),
            (Opencode, "full", none, searched.to_owned(), "in force"),
        ] {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join(CODEX);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &record).unwrap();
            let task = task(kind, level, false, None);
            let mut reader = match task.spec.kind {
                // Where its records are is said by the environment.
                AgentKind::Codex => codex_in(&task, home.path()),
                _ => reader(&task, None),
            };
            lines.lines().for_each(|line| drop(reader.read(line)));
            reader.look();
            let shown = match reader.limits() {
                Limits::InForce => "in force".to_owned(),
                Limits::Unknown => "unknown".to_owned(),
                Limits::Broken(what) => what,
            };
            assert!(shown.contains(expected), "{level} {lines} {record}: {shown}");
        }
    }

    fn codex_in(task: &AgentTask, home: &Path) -> Box<dyn Reader> {
        Box::new(Stream::new("mine", codex::Items::within(task, home.join("sessions"), None)))
    }

    #[test]
    fn what_codex_uses_is_known_while_it_works() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(CODEX);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, [token_count(1000), token_count(2130)].concat()).unwrap();
        let mut task = task(AgentKind::Codex, "guided", true, None);
        task.home = home.path().to_owned();
        let mut again = reader(&task, Some("s1"));
        let mut anew = reader(&task, None);
        anew.read(r#"{"type":"thread.started","thread_id":"s1"}"#);
        assert_eq!(used(anew.look()), Some((2130, None)));
        assert_eq!(used(again.look()), None, "that was before");
        let mut record = std::fs::File::options().append(true).open(&path).unwrap();
        record.write_all(token_count(3150).as_bytes()).unwrap();
        assert_eq!(used(again.look()), Some((1020, None)));
        assert_eq!(used(again.look()), None, "it is told once");
        let turn = r#"{"type":"turn.completed","usage":{"input_tokens":3150,"output_tokens":0}}"#;
        assert_eq!(used(again.read(turn)), Some((1020, None)));
    }
}
