//! One attempt by a program: it is started, heard, told what people say meanwhile, and judged.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use checkrein_core::activity::Did;
use checkrein_core::config::agent::{AgentKind, Preset};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc;

use super::trouble::{Ending, Source, Trouble};
use super::{
    Invocation, Limits, Prompt, Reader, aider, continues, has_tools, invocation, reader, settings_with_tools,
    tools_listed, trouble,
};
use crate::result::{has_result, spoken_result};
use crate::task::{AgentTask, PersonMessage};
use crate::voice::Voice;
use crate::{Ended, regular};

/// A line that is longer is kept in pieces.
const LINE_BYTES_MAX: u64 = 8 << 20;
/// How often is looked at what a program keeps beside its output.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// What a program writes for itself is there a little later than what it says.
const PROOF_WAIT_MAX: Duration = Duration::from_secs(5);
/// So much of what it writes to standard error is looked at.
const STDERR_BYTES_MAX: usize = 16 << 10;
/// The same of its output.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

pub(crate) async fn run(task: &AgentTask, brief: &str, voice: &mut Voice) -> Ended {
    let mut text = prompt(task, brief);
    let mut session = task.session.clone().filter(|_| continues(&task.spec));
    let mut heard: Vec<String> = Vec::new();
    // Whether what was handed in so far comes from what it said.
    let mut handed_in = false;
    // What was said before the brief was written is in it.
    heard.extend(
        task.messages()
            .into_iter()
            .map(|message| message.id)
            .filter(|id| brief.contains(&format!("**{id}**"))),
    );
    loop {
        let said = call(task, &Prompt { text: &text, session: session.as_deref() }, voice).await;
        let said = match said {
            Ok(said) => said,
            Err(reason) => {
                voice.tell(Did::Blocked { reason });
                return Ended::Blocked;
            }
        };
        let ending = said.trouble.map(|trouble| trouble::judge(&task.spec.name, &trouble));
        if matches!(ending, Some(Ending::Failed(_))) && session.take_if(|_| !said.spoke).is_some() {
            // The session is gone; it was a convenience, and everything is in the brief.
            continue;
        }
        match ending {
            None => {}
            Some(Ending::Unavailable(reason)) => {
                voice.tell(Did::Unavailable { reason });
                return Ended::Blocked;
            }
            Some(Ending::Blocked(reason)) => {
                voice.tell(Did::Blocked { reason });
                return Ended::Blocked;
            }
            Some(Ending::Failed(reason)) => {
                voice.tell(Did::Failed { reason });
                return Ended::Failed;
            }
        }
        if !has_tools(&task.spec) {
            handed_in |= spoken_result(task, &said.output, handed_in);
        }
        let new: Vec<PersonMessage> =
            task.messages().into_iter().filter(|message| !heard.contains(&message.id)).collect();
        session.clone_from(&voice.told.session);
        if new.is_empty() || session.is_none() || !continues(&task.spec) {
            return Ended::Well;
        }
        for message in &new {
            voice.tell(Did::Heard { message: message.id.clone() });
            heard.push(message.id.clone());
        }
        let told: Vec<String> = new.iter().map(PersonMessage::told).collect();
        text = format!(
            "{}\n\nTake it into account; then go on and end your phase as before.\n",
            told.join("\n\n")
        );
        voice.go_on();
    }
}

/// The brief, and how this agent hands in what it did.
fn prompt(task: &AgentTask, brief: &str) -> String {
    let how = match (has_tools(&task.spec), task.is_job()) {
        (true, true) => {
            "You have tools for this: the MCP server `checkrein`. Use them instead of the file: \
             `next_phase_todos` and `job_complete` in a strategic phase, `todo_complete` and `request_replan` in a \
             tactical one, `report_response`, `get_comments` and `reply_comment` in both.\n"
        }
        (true, false) => "The MCP server `checkrein` has a tool for this: `report_response`.\n",
        _ if matches!(task.spec.kind, AgentKind::Aider) => aider::HOW,
        (false, true) => {
            "If you cannot write that file, end your last answer with the JSON object in a fenced block that begins \
             with ```checkrein-result.\n"
        }
        (false, false) => return brief.to_owned(),
    };
    format!("{}\n\n{how}", brief.trim_end())
}

struct Said {
    trouble: Option<Trouble>,
    /// Whether its model said anything.
    spoke: bool,
    /// What its model said, or the end of its output.
    output: String,
}

async fn call(task: &AgentTask, prompt: &Prompt<'_>, voice: &mut Voice) -> Result<Said, String> {
    let call = invocation(task, prompt);
    for (path, content) in &call.files {
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| regular::replace(path, content.as_bytes()))
            .map_err(|error| format!("`{}` cannot be written: {error}", path.display()))?;
    }
    // In the sandbox its home is that of one job.
    if matches!(task.spec.kind, AgentKind::Opencode) && !task.sandboxed {
        // Where it cannot be made ready, the program itself says why.
        let _ = super::opencode::make_database(&call);
    }
    // Before it starts: what its session used until now is in its record.
    let mut reader = reader(task, prompt.session);
    // What another call left proves nothing.
    let proof = has_tools(&task.spec).then(|| tools_listed(task));
    if let Some(proof) = &proof {
        let _ = std::fs::remove_file(proof);
        if proof.symlink_metadata().is_ok() {
            return Err(format!("`{}` cannot be removed; remove it, then resume", proof.display()));
        }
    }
    let mut child = start(task, &call)?;
    let stdin = child.stdin.take();
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read its prompt to the end says why itself.
            let _ = stdin.write_all(call.stdin.as_bytes()).await;
        }
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (mut output, mut complained, mut spoke) = (String::new(), String::new(), false);
    let (mut given_up, mut unbound) = (None, None);
    // Codex says that it begins before it does anything.
    let begins_with_tools = !matches!(task.spec.kind, AgentKind::Codex);
    let (lines, mut heard) = mpsc::unbounded_channel();
    let read = async move {
        tokio::join!(
            read_lines(stdout, Line::Output, lines.clone()),
            read_lines(stderr, Line::Complaint, lines)
        );
        // Whoever hears ends when there is nothing left to hear.
        std::future::pending::<()>().await;
    };
    let hear = async {
        let mut looked = Instant::now();
        loop {
            let line = tokio::time::timeout(LOOK_EVERY, heard.recv()).await;
            if looked.elapsed() >= LOOK_EVERY {
                looked = Instant::now();
                reader.look().into_iter().for_each(|did| voice.tell(did));
            }
            match line {
                Ok(None) => break,
                Ok(Some(Line::Output(line))) => {
                    let (had_spoken, mut began) = (spoke, false);
                    for did in reader.read(&line) {
                        spoke |= is_word_of_model(&did);
                        began |= matches!(did, Did::Began { .. }) && begins_with_tools;
                        voice.tell(did);
                    }
                    push_line(&mut output, &line, OUTPUT_BYTES_MAX);
                    let speaks = spoke && !had_spoken;
                    let is_due = speaks || (began && reader.trouble().is_none());
                    // They are listed before its model is asked.
                    let has_none = is_due && proof.as_deref().is_some_and(|proof| !proof.exists());
                    unbound = match speaks {
                        _ if has_none => Some("it did not load the tools of Checkrein".to_owned()),
                        true => prove(&mut *reader, voice).await.err(),
                        false => broken_limit(&*reader),
                    };
                }
                Ok(Some(Line::Complaint(line))) => {
                    // What it complains about goes on to where the attempt's own does.
                    eprintln!("{line}");
                    reader.complain(&line);
                    push_line(&mut complained, &line, STDERR_BYTES_MAX);
                }
                Err(_) => {}
            }
            let stuck = reader.stuck().filter(|(since, _)| since.elapsed() >= STUCK_MAX);
            given_up = stuck.map(|(_, said)| said.to_owned());
            if given_up.is_some() || unbound.is_some() || reader.is_hopeless() {
                let _ = child.start_kill();
                break;
            }
        }
        for did in reader.look().into_iter().chain(reader.end()) {
            spoke |= is_word_of_model(&did);
            voice.tell(did);
        }
    };
    let listen = async {
        tokio::select! {
            () = hear => {}
            () = read => {}
        }
    };
    tokio::join!(feed, listen);
    let status = child.wait().await.map_err(|error| format!("{}: {error}", task.spec.name))?;
    if matches!(task.spec.kind, AgentKind::Aider) {
        aider::tidy(Path::new("."));
    }
    if let Some(what) = unbound {
        let (name, settings) = (&task.spec.name, settings_with_tools(&task.spec.kind));
        return Err(format!(
            "{name} works without its limits: {what}; see `checkrein log`, and {settings} (of the repository or your own), then resume"
        ));
    }
    let trouble = match given_up {
        Some(said) => Some(Trouble { said, source: Source::Disconnected }),
        None => went_wrong(&*reader, status, &complained, &output),
    };
    let silent = trouble.is_none() && !spoke && !reader.is_text() && !has_result(task);
    let trouble = trouble.or_else(|| silent.then(Trouble::silence));
    Ok(Said { trouble, spoke, output: reader.said().unwrap_or(output) })
}

/// So long a program may do nothing but ask its model again.
const STUCK_MAX: Duration = Duration::from_secs(60);

/// A line of a program.
enum Line {
    Output(String),
    Complaint(String),
}

async fn read_lines(
    from: Option<impl AsyncRead + Unpin>,
    line: fn(String) -> Line,
    to: mpsc::UnboundedSender<Line>,
) {
    let Some(from) = from else { return };
    let mut lines = BufReader::new(from);
    while let Some(text) = next_line(&mut lines).await {
        if to.send(line(text)).is_err() {
            return;
        }
    }
}

fn push_line(text: &mut String, line: &str, bytes_max: usize) {
    text.push_str(line);
    text.push('\n');
    keep_end(text, bytes_max);
}

/// When its model first says something, a program shows that its limits are in force.
async fn prove(reader: &mut dyn Reader, voice: &mut Voice) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        reader.look().into_iter().for_each(|did| voice.tell(did));
        match reader.limits() {
            Limits::Broken(what) => return Err(what),
            Limits::InForce => return Ok(()),
            Limits::Unknown if begun.elapsed() >= PROOF_WAIT_MAX => {
                return Err("it does not say what they are".to_owned());
            }
            Limits::Unknown => {}
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn broken_limit(reader: &dyn Reader) -> Option<String> {
    match reader.limits() {
        Limits::Broken(what) => Some(what),
        Limits::InForce | Limits::Unknown => None,
    }
}

const fn is_word_of_model(did: &Did) -> bool {
    matches!(did, Did::Said { .. } | Did::Called { .. })
}

fn start(task: &AgentTask, call: &Invocation) -> Result<tokio::process::Child, String> {
    let mut command = Command::new(&call.program);
    command.args(&call.args).envs(call.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command.spawn().map_err(|error| {
        let name = &task.spec.name;
        match error.kind() {
            std::io::ErrorKind::NotFound => {
                let install = match Preset::of(&call.program) {
                    Some(preset) => format!("install it (`{}`)", preset.install()),
                    None => "install it".to_owned(),
                };
                format!(
                    "`{}` is not installed, or not on the PATH; {install} or name it as `agents.{name}.program`, then resume",
                    call.program
                )
            }
            _ => format!("`{}` cannot be started: {error}", call.program),
        }
    })
}

async fn next_line<R: AsyncRead + Unpin>(lines: &mut BufReader<R>) -> Option<String> {
    let mut line = Vec::new();
    let read = lines.take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await.ok()?;
    (read > 0).then(|| String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned())
}

fn keep_end(text: &mut String, bytes_max: usize) {
    if text.len() > bytes_max * 2 {
        let mut from = text.len() - bytes_max;
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text.drain(..from);
    }
}

fn went_wrong(reader: &dyn Reader, status: ExitStatus, complained: &str, output: &str) -> Option<Trouble> {
    let told = reader.trouble();
    if status.success() && told.is_none() {
        return None;
    }
    // What it says in its stream is better than what it happens to write beside it.
    if let Some(told) = told.filter(|told| !told.said.trim().is_empty()) {
        return Some(told);
    }
    let mut said = last_lines(complained);
    if said.is_empty() && reader.is_text() {
        said = last_lines(output);
    }
    if said.is_empty() {
        said = format!("it ended with {status}");
    }
    Some(Trouble { said, source: Source::Output })
}

/// What programs say of themselves whenever they begin, which is the reason of nothing.
const GREETINGS: [&str; 5] = [
    "Warning: ",
    "YOLO mode is ",
    "Ripgrep is not available",
    "Loaded cached credentials",
    "MCP issues detected",
];

fn last_lines(text: &str) -> String {
    let means =
        |line: &&str| !line.trim().is_empty() && !GREETINGS.iter().any(|begin| line.starts_with(begin));
    let lines: Vec<&str> = text.lines().filter(means).collect();
    lines.get(lines.len().saturating_sub(6)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_the_reason_of_nothing() {
        let greeting = "Warning: 256-color support not detected.\nYOLO mode is enabled.\nRipgrep is not available. Falling back.\n";
        assert_eq!(last_lines(greeting), "");
        assert_eq!(last_lines(&format!("{greeting}it broke\n\n")), "it broke");
    }
}
