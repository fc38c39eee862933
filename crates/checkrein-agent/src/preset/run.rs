//! One attempt by a program: it is started, heard, told what people say meanwhile, and judged.

use std::path::Path;
use std::process::{ExitStatus, Stdio};

use checkrein_core::activity::Did;
use checkrein_core::config::agent::{AgentKind, Preset};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use super::{Invocation, Prompt, Reader, aider, continues, has_tools, invocation, reader, trouble};
use crate::Ended;
use crate::result::spoken_result;
use crate::task::{AgentTask, PersonMessage};
use crate::voice::Voice;

/// A line that is longer is kept in pieces.
const LINE_BYTES_MAX: u64 = 8 << 20;
/// So much of what it writes to standard error is looked at.
const STDERR_BYTES_MAX: usize = 16 << 10;

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
        if said.trouble.is_some() && session.take_if(|_| !said.spoke).is_some() {
            // The session is gone; it was a convenience, and everything is in the brief.
            continue;
        }
        if let Some(what) = said.trouble {
            return match trouble::blocked(&task.spec.name, &what) {
                Some(reason) => {
                    voice.tell(Did::Blocked { reason });
                    Ended::Blocked
                }
                None => {
                    voice.tell(Did::Failed { reason: what });
                    Ended::Failed
                }
            };
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
    /// What went wrong.
    trouble: Option<String>,
    /// Whether its model said anything.
    spoke: bool,
    /// What its model said, or the end of its output.
    output: String,
}

async fn call(task: &AgentTask, prompt: &Prompt<'_>, voice: &mut Voice) -> Result<Said, String> {
    let call = invocation(task, prompt);
    for (path, content) in &call.files {
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(path, content))
            .map_err(|error| format!("`{}` cannot be written: {error}", path.display()))?;
    }
    let mut child = start(task, &call)?;
    let stdin = child.stdin.take();
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read its prompt to the end says why itself.
            let _ = stdin.write_all(call.stdin.as_bytes()).await;
        }
    };
    let mut reader = reader(&task.spec, &task.home);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (mut output, mut spoke) = (String::new(), false);
    let hear = async {
        let Some(stdout) = stdout else { return };
        let mut lines = BufReader::new(stdout);
        while let Some(line) = next_line(&mut lines).await {
            for did in reader.read(&line) {
                spoke |= is_word_of_model(&did);
                voice.tell(did);
            }
            output.push_str(&line);
            output.push('\n');
            keep_end(&mut output, 1 << 20);
            if reader.is_hopeless() {
                let _ = child.start_kill();
                break;
            }
        }
        for did in reader.end() {
            spoke |= is_word_of_model(&did);
            voice.tell(did);
        }
    };
    let ((), (), complained) = tokio::join!(feed, hear, pass_on(stderr));
    let status = child.wait().await.map_err(|error| format!("{}: {error}", task.spec.name))?;
    if matches!(task.spec.kind, AgentKind::Aider) {
        aider::tidy(Path::new("."));
    }
    let trouble = went_wrong(&*reader, status, &complained, &output);
    Ok(Said { trouble, spoke, output: reader.said().unwrap_or(output) })
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

/// What it complains about goes on to where the attempt's own does; its end is looked at.
async fn pass_on(stderr: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stderr) = stderr else { return String::new() };
    let (mut kept, mut buffer) = (String::new(), vec![0; 8 << 10]);
    while let Ok(read) = stderr.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        let piece = String::from_utf8_lossy(buffer.get(..read).unwrap_or_default()).into_owned();
        eprint!("{piece}");
        kept.push_str(&piece);
        keep_end(&mut kept, STDERR_BYTES_MAX);
    }
    kept
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

fn went_wrong(reader: &dyn Reader, status: ExitStatus, complained: &str, output: &str) -> Option<String> {
    let said = reader.trouble();
    if status.success() && said.is_none() {
        return None;
    }
    let mut last = last_lines(complained);
    if last.is_empty() && reader.is_text() {
        last = last_lines(output);
    }
    Some(match (said, last.is_empty()) {
        (Some(said), true) => said,
        // What it says in its stream is better than what it happens to write beside it.
        (Some(said), false) if !said.trim().is_empty() => said,
        (_, false) => last,
        (None, true) => format!("it ended with {status}"),
    })
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.get(lines.len().saturating_sub(6)..).unwrap_or_default().join("\n")
}
