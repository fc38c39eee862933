//! A directory of its own with a store in it, and a model that says what a script says.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use checkrein_scripted_model::{Script, ScriptedModel};
use serde_json::{Value, json};

pub struct Place {
    directory: tempfile::TempDir,
    pub model: ScriptedModel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    Anthropic,
    Openai,
}

const APIS: [Api; 2] = [Api::Anthropic, Api::Openai];

/// Does the same in both dialects: the job whose name is returned has the same commits in both.
pub fn in_both(script: &Value, agent: &Value, work: impl Fn(&Place) -> String) {
    in_both_with(script, agent, &json!({}), work);
}

/// The same with more about the model.
pub fn in_both_with(script: &Value, agent: &Value, model: &Value, work: impl Fn(&Place) -> String) {
    let told = APIS.map(|api| {
        let place = Place::with(script.clone());
        place.settings_with(api, agent.clone(), model.clone(), json!({}));
        let id = work(&place);
        place.commits(&id)
    });
    assert!(told[0].lines().count() > 3, "{}", told[0]);
    assert_eq!(told[0], told[1]);
}

/// A plan, the work and the end, with these turns in the phase of work.
pub fn job_with(work: Value) -> Value {
    json!({"answers": [
        {"says": "# Phase 1 (strategic) of job", "turns": [
            {"calls": [{"tool": "next_phase_todos", "input": {"todos": ["do it"]}}]}, {"text": "planned"}]},
        {"says": "# Phase 2 (tactical) of job", "turns": work},
        {"says": "# Phase 3 (strategic) of job", "turns": [
            {"calls": [{"tool": "job_complete", "input": {"summary": "all done"}}]}, {"text": "the end"}]},
    ]})
}

impl Place {
    pub fn with(script: Value) -> Place {
        let directory = tempfile::tempdir().unwrap();
        let model = ScriptedModel::start(Script::of(script).unwrap()).unwrap();
        let place = Place { directory, model };
        place.settings(Api::Anthropic, json!({}));
        place
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Names the model in this dialect; `more` are further settings of the built-in agent.
    pub fn settings(&self, api: Api, more: Value) {
        self.settings_with(api, more, json!({}), json!({}));
    }

    pub fn settings_with(&self, api: Api, agent: Value, model: Value, rest: Value) {
        let (word, url) = match api {
            Api::Anthropic => ("anthropic", self.model.url()),
            Api::Openai => ("openai", self.model.openai_url()),
        };
        let mut main = json!({"api": word, "model": "scripted", "url": url, "key_env": "SCRIPTED_KEY",
            "price": {"input": 1.0, "output": 10.0}});
        main.as_object_mut().unwrap().extend(model.as_object().unwrap().clone());
        let mut settings = json!({"models": {"main": main}, "agents": {"builtin": agent}});
        settings.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        self.write("checkrein.yaml", &settings.to_string());
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.path().join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_checkrein"));
        command.args(args).current_dir(self.path()).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.path());
        // The models and programs are the user's own to name.
        command.env("CHECKREIN_CONFIG", self.path().join("checkrein.yaml"));
        command
            .env("CHECKREIN_STORE", self.path().join("store/store.db"))
            .env("SCRIPTED_KEY", "sk-hunter2-secret");
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// What it printed, if it ended as expected.
    pub fn expect(&self, args: &[&str], code: i32) -> String {
        let output = self.run(args);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "checkrein {args:?}: {out}{err}\n{}", self.last_log());
        out
    }

    pub fn approve(&self, checkpoint: &str) {
        self.judge(&["approve", checkpoint]);
    }

    /// A verdict, by somebody who may give one.
    pub fn judge(&self, args: &[&str]) {
        let token = self.expect(&["token", "create", "--role", "reviewer", "--name", "ann"], 0);
        let output = self.command(args).env("CHECKREIN_TOKEN", token.trim()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// For messages of tests that fail.
    fn last_log(&self) -> String {
        let runs = self.run(&["runs", "--json"]);
        let runs: Value = serde_json::from_slice(&runs.stdout).unwrap_or_default();
        let Some(id) = runs["items"][0]["run_id"].as_str() else { return String::new() };
        String::from_utf8_lossy(&self.run(&["log", id]).stdout).into_owned()
    }

    pub fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.expect(&args, 0)).unwrap()
    }

    /// Gives the built-in agent a job at a level.
    pub fn job(&self, level: &str, more: &[&str], code: i32) -> Value {
        self.job_of("builtin", level, more, code)
    }

    pub fn job_of(&self, agent: &str, level: &str, more: &[&str], code: i32) -> Value {
        let args = ["job", "Do it", "--agent", agent, "--autonomy", level];
        self.expect(&args.iter().chain(more).copied().collect::<Vec<_>>(), code);
        self.shown()
    }

    /// The newest run.
    pub fn shown(&self) -> Value {
        self.json(&["show", &self.id()])
    }

    pub fn id(&self) -> String {
        self.json(&["runs"])["items"][0]["run_id"].as_str().unwrap().to_owned()
    }

    pub fn repository(&self, id: &str) -> PathBuf {
        self.path().join("store/jobs").join(id).join("repository.git")
    }

    pub fn git(&self, id: &str, args: &[&str]) -> String {
        let output =
            Command::new("git").arg("--git-dir").arg(self.repository(id)).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Every commit of every branch of a job: its files and its words. A job of the same kind has the same.
    pub fn commits(&self, id: &str) -> String {
        let branches = self.git(id, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        let log = |branch: &str| {
            let commits = self.git(id, &["log", "--topo-order", "--format=%T %an%n%B", branch]);
            format!("{branch}\n{commits}\n")
        };
        branches.lines().map(log).collect::<String>().replace(id, "JOB")
    }

    /// Waits for something, with patience for a machine that is busy.
    pub fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{what} did not happen\n{}", self.last_log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
