//! Long text on a terminal goes through the person's pager.

use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

use checkrein_core::config::env;

/// Whether a pager has shown it. On no terminal, where it fits, or where there is no pager, none has.
pub fn show(text: &str) -> bool {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() || !std::io::stdin().is_terminal() {
        return false;
    }
    let calm = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    let rows = rustix::termios::tcgetwinsize(&stdout).map_or(0, |size| usize::from(size.ws_row));
    if calm || rows == 0 || text.lines().count() < rows {
        return false;
    }
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let pager = set(env::PAGER).or_else(|| set("PAGER")).unwrap_or_else(|| "less -FRX".to_owned());
    if pager.trim() == "cat" {
        return false;
    }
    let mut started = match Command::new("/bin/sh").args(["-c", &pager]).stdin(Stdio::piped()).spawn() {
        Ok(started) => started,
        Err(_) => return false,
    };
    let plain = anstream::AutoStream::choice(&stdout) == anstream::ColorChoice::Never;
    let text = if plain { anstream::adapter::strip_str(text).to_string() } else { text.to_owned() };
    if let Some(mut pipe) = started.stdin.take() {
        // Whoever leaves early has had enough.
        let _ = pipe.write_all(text.as_bytes());
    }
    // A shell that found no such program says so with 127; then the text is still to be shown.
    started.wait().is_ok_and(|status| status.code() != Some(127))
}
