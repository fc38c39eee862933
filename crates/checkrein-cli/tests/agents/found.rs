//! Agents that are there, that are not, and that do not work: what `doctor` says, and what becomes of a job.

use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use serde_json::{Value, json};

use crate::place::Place;

/// A place whose PATH has these programs, git and a shell, and nothing else.
struct Scene {
    place: Place,
}

impl Scene {
    fn with(programs: &[(&str, &str)], settings: &Value) -> Scene {
        let place = Place::with(json!({}));
        let bin = place.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for (name, text) in programs {
            let file = bin.join(name);
            std::fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        for name in ["git", "sh", "cat", "sleep"] {
            let path = std::env::var_os("PATH").unwrap();
            let mut places = std::env::split_paths(&path).map(|directory| directory.join(name));
            let found = places.find(|file| file.is_file()).unwrap();
            std::os::unix::fs::symlink(found, bin.join(name)).unwrap();
        }
        place.write("checkrein.yaml", &settings.to_string().replace("PLACE", place.path().to_str().unwrap()));
        Scene { place }
    }

    fn run(&self, args: &[&str]) -> Output {
        self.place.command(args).env("PATH", self.place.path().join("bin")).output().unwrap()
    }

    /// What is said about the agents: state, what was found, and what to do.
    fn agents(&self) -> Vec<(String, String, String)> {
        let output = self.run(&["doctor", "--json"]);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let checks = answer["checks"].as_array().unwrap().iter();
        let agents = checks.filter(|check| check["check"] == "agents");
        agents.map(|check| (text(&check["state"]), text(&check["found"]), text(&check["remedy"]))).collect()
    }
}

#[test]
fn doctor_says_which_are_there_and_which_work() {
    let scene = Scene::with(
        &[
            ("claude", "echo '2.0.1 (Claude Code)'"),
            ("codex", "echo broken >&2; exit 3"),
            ("elsewhere", "echo 'gemini 0.9'"),
        ],
        &json!({"agents": {
            "gemini": {"program": "PLACE/bin/elsewhere"},
            "opencode": {"program": "PLACE/bin/no-such"},
            "careful": {"preset": "claude"},
            "script": {"command": "cat {brief}"},
            "gone": {"command": "no-such-command --prompt {brief}"},
            "odd": {"model": "large"},
        }}),
    );
    std::fs::create_dir(scene.place.path().join(".gemini")).unwrap();
    scene.place.write(".gemini/oauth_creds.json", "{}");
    let agents = scene.agents();
    for (state, found, remedy) in [
        ("info", "claude: 2.0.1 (Claude Code), and no key or login was found", "log in with it"),
        ("info", "careful: 2.0.1 (Claude Code), and no key or login was found", "log in with it"),
        ("warning", "codex: `--version` ended with exit status: 3", "run `codex --version`"),
        ("good", "gemini: gemini 0.9, with ~/.gemini/oauth_creds.json", ""),
        (
            "warning",
            "opencode: `PLACE/bin/no-such` is not there",
            "look at `agents.opencode` in the settings",
        ),
        ("good", "script: `cat {brief}`", ""),
        ("warning", "gone: `no-such-command` is not there", "look at `agents.gone` in the settings"),
        ("warning", "odd: it has neither a `preset` nor a `command`", "presets are `claude`, "),
        ("info", "not installed: aider", "pip install aider-chat"),
        ("info", "builtin: the built-in agent needs a model, and none is named", "in your own settings"),
    ] {
        let wanted = found.replace("PLACE", scene.place.path().to_str().unwrap());
        let said = agents.iter().find(|(_, said, _)| *said == wanted);
        let said = said.unwrap_or_else(|| panic!("`{wanted}` is not said: {agents:#?}"));
        assert_eq!(said.0, state, "{said:?}");
        assert!(said.2.contains(remedy), "{said:?}");
    }
    assert_eq!(agents.len(), 10, "{agents:#?}");
}

#[test]
fn doctor_looks_at_the_keys_of_the_builtin_agent() {
    let models = json!({"main": {"api": "anthropic", "model": "m", "key_env": "MY_KEY"}});
    let scene = Scene::with(&[], &json!({"models": models}));
    let agents = scene.agents();
    let said = ("info".to_owned(), "builtin: the model `m` has no key".to_owned(), "set MY_KEY".to_owned());
    assert!(agents.contains(&said), "{agents:#?}");
}

#[test]
fn a_word_that_is_no_agent_is_refused_at_once() {
    let scene = Scene::with(&[("my-agent", "exit 0")], &json!({"agents": {"mine": {"command": "cat"}}}));
    for (word, hint) in [
        ("cluade", "did you mean `claude`?"),
        ("nonsense", "agents are `claude`, `codex`, `opencode`, `gemini`, `aider`, `builtin`, `mine`;"),
        ("nonsense --with arguments", "agents are `claude`, "),
        (
            "claude -p",
            "`npm install -g @anthropic-ai/claude-code` installs it; `--agent claude` then calls it",
        ),
    ] {
        let output = scene.run(&["job", "Do it", "--agent", word]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("there is no ") && said.contains(hint), "{word}: {said}");
    }
    assert_eq!(scene.place.json(&["runs"])["items"], json!([]), "nothing was begun");
    // A word that is a command is one, and so is what only a shell knows.
    for command in
        ["my-agent", "my-agent --with arguments", "exit 0", "if true; then true; fi", "X=1 my-agent"]
    {
        let output = scene.run(&["job", "Do it", "--agent", command, "--autonomy", "full"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("note: job ") && !said.contains("there is no"), "{command}: {said}");
    }
    // Whoever takes up a job that is only recorded may have it.
    let output = scene.run(&["job", "Do it", "--agent", "elsewhere-alone", "--queue"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_program_that_is_missing_pauses_the_job_until_it_is_there() {
    let scene = Scene::with(&[], &json!({}));
    let output = scene.run(&["job", "Do it", "--agent", "claude", "--autonomy", "full"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let words = "`claude` is not installed, or not on the PATH; install it (`npm install -g @anthropic-ai/claude-code`) or name it as `agents.claude.program`, then resume";
    assert!(said.contains(words), "what stopped it is said where it was begun: {said}");
    assert!(said.contains("  blocked phase-1-strategic") && !said.contains("  ok "), "{said}");
    let job = scene.place.shown();
    assert_eq!(job["status"], "paused", "{job}");
    let id = job["run_id"].as_str().unwrap().to_owned();
    assert!(scene.place.expect(&["show", &id], 0).contains(words));
    // It is installed, and the job goes on.
    let program = r#"#!/bin/sh
PATH=/usr/bin:/bin
touch "$(printf '%s' "$*" | sed 's/.*CHECKREIN_TOOLS_LISTED":"\([^"]*\)".*/\1/')"
echo '{"type":"system","subtype":"init","model":"m","session_id":"s1"}'
echo '{"outcome": "job_complete", "summary": "done"}' > "$CHECKREIN_RESULT"
echo '{"type":"result","subtype":"success","is_error":false}'
"#;
    scene.place.write("bin/claude", program);
    let file = scene.place.path().join("bin/claude");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = scene.run(&["resume", &id]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(scene.place.shown()["status"], "completed");
}
