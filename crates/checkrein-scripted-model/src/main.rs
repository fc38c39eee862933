//! `scripted-model SCRIPT [ADDRESS]`: answers as the script says until it is killed. The first line it prints is its
//! address; then comes one line of JSON for everything it is asked.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use checkrein_scripted_model::{Script, ScriptedModel};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: scripted-model SCRIPT [ADDRESS]");
        return ExitCode::from(2);
    };
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let script = std::fs::read_to_string(&path).map_err(|error| error.to_string());
    let model = script
        .and_then(|text| Script::read(&text))
        .and_then(|script| ScriptedModel::listen(script, &address).map_err(|error| error.to_string()));
    let model = match model {
        Ok(model) => model,
        Err(error) => {
            eprintln!("scripted-model: `{path}`: {error}");
            return ExitCode::from(2);
        }
    };
    let mut out = std::io::stdout();
    if writeln!(out, "{}", model.url()).and_then(|()| out.flush()).is_err() {
        return ExitCode::FAILURE;
    }
    let mut told = 0;
    loop {
        for asked in model.asked().iter().skip(told) {
            told += 1;
            let line = serde_json::json!({
                "path": asked.path, "key": asked.key, "status": asked.status, "body": asked.body,
            });
            // Whoever started it is gone.
            if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                return ExitCode::SUCCESS;
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
