use std::io::{IsTerminal, Read, Write};

use checkrein_core::companion::{MessageStatus, ProposalStatus};
use checkrein_engine::{ChatOf, ChatPiece};
use checkrein_server::wire::chat::{Chat, Message, OpenChat, Piece, Proposal, ProposalKind};
use checkrein_server::wire::page::Page;
use serde_json::json;
use tokio::sync::watch;

use super::checkpoint::shape::age;
use crate::driving::{at_terminal, interrupts};
use crate::error::{CliError, Exit, note};
use crate::output::{FAINT, HEADING, Output, Table, harmless, one_line, quoted};
use crate::prompt;
use crate::remote::Remote;
use crate::session::{Desk, DeskPlace, Session, outside_attempt};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job, or a beginning or end of its id that no other has; without one, a job is prepared
    run: Option<String>,
    /// What you want to know; without it a person at a terminal is asked for one after the other, and a program's is read from standard input
    #[arg(short = 'm', long = "ask", value_name = "QUESTION", allow_hyphen_values = true)]
    question: Option<String>,
    /// Go on with this conversation, where there is no job yet
    #[arg(long, value_name = "ID", conflicts_with = "run")]
    session: Option<String>,
    /// Do what was proposed: commit a file or post a comment in your name; may be given several times
    #[arg(long = "apply", value_name = "PROPOSAL", requires = "run", conflicts_with_all = ["question", "session"])]
    applied: Vec<String>,
    /// Say that a proposal will not be done; may be given several times
    #[arg(long = "discard", value_name = "PROPOSAL", requires = "run", conflicts_with_all = ["question", "session"])]
    discarded: Vec<String>,
    /// List your conversations that have led to no job yet
    #[arg(long, conflicts_with_all = ["run", "question", "session", "history"])]
    list: bool,
    /// Only show what was said and proposed
    #[arg(long, conflicts_with_all = ["question", "applied", "discarded"])]
    history: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: DeskPlace,
}

/// How much of a conversation is shown.
const SHOWN: usize = 200;

pub fn run(args: &Args) -> Result<Output, CliError> {
    outside_attempt("the companion cannot be asked")?;
    let desk = if args.list || args.history { args.store.desk_to_read()? } else { args.store.desk()? };
    if !args.applied.is_empty() || !args.discarded.is_empty() {
        return args.settle(&desk);
    }
    if args.list {
        let open = desk.open_chats()?;
        return if args.json { Output::json(&open) } else { Ok(Output::paged(listed(&open))) };
    }
    let of = args.of();
    if args.history {
        let Some(of) = of else {
            return Err(CliError::usage("there is no history without a job or a conversation")
                .hint("name the job, or with `--session ID` a conversation that `--list` shows"));
        };
        let chat = desk.chat(&of)?;
        return if args.json { Output::json(&chat) } else { Ok(Output::paged(shown(&chat))) };
    }
    let question = match &args.question {
        Some(question) => Some(question.clone()),
        None if at_terminal() && !args.json => None,
        None => Some(piped()?),
    };
    let chat = match &of {
        Some(of) => desk.chat(of)?,
        None => desk.begin_chat()?,
    };
    let of = match (&of, &chat.id) {
        (Some(of), _) => of.clone(),
        (None, Some(id)) => {
            note(format_args!("conversation {id}; `checkrein chat --session {id}` goes on with it"));
            ChatOf::Chat(id.clone())
        }
        (None, None) => return Err(CliError::failed("the conversation has no id")),
    };
    match question {
        Some(question) => args.ask_once(&desk, &of, &question),
        None => converse(&desk, &of, &chat),
    }
}

impl Args {
    fn of(&self) -> Option<ChatOf> {
        let of_chat = || self.session.clone().map(ChatOf::Chat);
        self.run.clone().map(ChatOf::Run).or_else(of_chat)
    }

    fn ask_once(&self, desk: &Desk, of: &ChatOf, question: &str) -> Result<Output, CliError> {
        let mut voice = Voice { silent: self.json, ..Voice::default() };
        let answer = desk.ask(of, question, &mut voice)?;
        voice.end();
        let exit = match answer.status {
            MessageStatus::Done => Exit::Done,
            MessageStatus::Writing | MessageStatus::BrokenOff => Exit::Failed,
        };
        if self.json {
            let chat = desk.chat(of)?;
            let of_answer = |proposal: &&Proposal| proposal.message == answer.id;
            let proposals: Vec<&Proposal> = chat.proposals.iter().filter(of_answer).collect();
            let answered = json!({
                "chat": chat.id, "run_id": chat.run_id, "answer": answer, "proposals": proposals, "draft": chat.draft,
            });
            return Ok(Output::json(&answered)?.exit(exit));
        }
        told_after(&answer);
        let chat = desk.chat(of)?;
        match of {
            ChatOf::Chat(id) => next_step(&chat, id),
            ChatOf::Run(run) => {
                let made = |proposal: &&Proposal| proposal.message == answer.id;
                if let Some(proposal) = chat.proposals.iter().find(made) {
                    let id = one_line(&proposal.id);
                    note(format_args!(
                        "`checkrein chat {run} --apply {id}` does it in your name, `--discard {id}` does not"
                    ));
                }
            }
        }
        Ok(Output::text(String::new()).exit(exit))
    }

    fn settle(&self, desk: &Desk) -> Result<Output, CliError> {
        let run = self.run.as_deref().unwrap_or_default();
        let mut done = Vec::new();
        for id in &self.applied {
            done.push(desk.settle_proposal(run, id, "apply")?);
        }
        for id in &self.discarded {
            done.push(desk.settle_proposal(run, id, "discard")?);
        }
        if self.json {
            return Output::json(&done);
        }
        Ok(Output::text(done.iter().map(settled).collect::<String>()))
    }
}

/// A question that comes through a pipe.
fn piped() -> Result<String, CliError> {
    let mut text = String::new();
    if !std::io::stdin().is_terminal() {
        std::io::stdin()
            .take(1 << 20)
            .read_to_string(&mut text)
            .map_err(|error| CliError::usage(format!("standard input cannot be read: {error}")))?;
    }
    if text.trim().is_empty() {
        return Err(CliError::usage("there is no question")
            .hint("`checkrein chat RUN -m QUESTION`, or `--history` to see what was said"));
    }
    Ok(text)
}

/// One question after the other, until the person goes.
fn converse(desk: &Desk, of: &ChatOf, chat: &Chat) -> Result<Output, CliError> {
    if !chat.messages.is_empty() {
        Output::text(shown(chat)).show()?;
    }
    chat.notes.iter().for_each(note);
    note(format_args!("{}: the companion {}", chat.stage, chat.about));
    for (number, question) in (1..).zip(&chat.questions) {
        note(format_args!("  {number}) {question}"));
    }
    let keys = match of {
        ChatOf::Run(_) => {
            "a number asks that; /apply ID and /discard ID settle a proposal; /history; an empty line ends"
        }
        ChatOf::Chat(_) => "a number asks that; /draft shows what is written down; an empty line ends",
    };
    note(keys);
    while let Some(line) = desk.line()? {
        let line = line.trim();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let done = match (word, of) {
            ("", _) | ("/quit" | "/exit", _) => break,
            ("/history", _) => desk.chat(of).and_then(|chat| Output::text(shown(&chat)).show()),
            ("/draft", _) => desk.chat(of).and_then(|chat| Output::text(draft(&chat)).show()),
            ("/apply" | "/discard", ChatOf::Run(run)) => desk
                .settle_proposal(run, rest.trim(), word.trim_start_matches('/'))
                .and_then(|proposal| Output::text(settled(&proposal)).show()),
            (word, _) if word.starts_with('/') => {
                note(keys);
                Ok(())
            }
            _ => {
                let chosen = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let question =
                    chosen.and_then(|index| chat.questions.get(index)).map_or(line, String::as_str);
                let mut voice = Voice::default();
                desk.ask(of, question, &mut voice).map(|answer| {
                    voice.end();
                    told_after(&answer);
                })
            }
        };
        // What could not be done is said, and the conversation goes on.
        if let Err(error) = done {
            note(error.words());
        }
    }
    if let ChatOf::Chat(id) = of {
        next_step(&desk.chat(of)?, id);
    }
    Ok(Output::text(String::new()))
}

fn next_step(chat: &Chat, id: &str) {
    if !chat.draft.is_empty() && chat.run_id.is_none() {
        note(format_args!("`checkrein job --chat {id}` gives the job as it is written down"));
    }
}

fn told_after(answer: &Message) {
    if let Some(why) = &answer.note {
        let word = if answer.status == MessageStatus::Done { "" } else { "broken off: " };
        note(format_args!("{word}{}", one_line(why)));
    }
}

/// Writes an answer as it comes.
#[derive(Default)]
struct Voice {
    silent: bool,
    spoke: bool,
}

impl Voice {
    fn hear(&mut self, piece: &Piece) {
        if self.silent {
            return;
        }
        match piece {
            Piece::Text { text } => self.say(&harmless(text)),
            Piece::Anew { text } => {
                self.end();
                note("the model is asked again; what it said does not count");
                self.say(&harmless(text));
            }
            Piece::Used { used } => {
                let failed = if used.failed { " (found nothing)" } else { "" };
                self.aside(&format!("{} {}{failed}", one_line(&used.tool), one_line(&used.about)));
            }
            Piece::Proposed { proposal } => {
                self.end();
                let _ = anstream::stdout().write_all(proposal_shown(proposal).as_bytes());
            }
            Piece::Waits { why } => self.aside(&one_line(why)),
            // What was written down is named as a use of its tool.
            Piece::Drafted { .. }
            | Piece::Asked { .. }
            | Piece::Answered { .. }
            | Piece::Said { .. }
            | Piece::Given { .. } => {}
        }
    }

    fn say(&mut self, text: &str) {
        // What comes after something else was told is on a line of its own already.
        let text = if self.spoke { text } else { text.trim_start_matches('\n') };
        if text.is_empty() {
            return;
        }
        self.spoke = true;
        let mut stdout = anstream::stdout().lock();
        // A reader that has gone does not keep the answer from being written down.
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }

    fn aside(&mut self, text: &str) {
        self.end();
        let _ = writeln!(anstream::stderr(), "{FAINT}· {}{FAINT:#}", text.trim());
    }

    fn end(&mut self) {
        if self.spoke {
            self.say("\n");
            self.spoke = false;
        }
    }
}

impl Desk {
    fn chat(&self, of: &ChatOf) -> Result<Chat, CliError> {
        match self {
            Desk::Here(session) => {
                let who = session.principal()?;
                let view = session.wait(session.engine.chat(&who, of, 0, SHOWN))?;
                session.clean(Chat::from(view))
            }
            Desk::There(remote) => remote.get(&path(of), &[("limit", SHOWN.to_string())]),
        }
    }

    fn open_chats(&self) -> Result<Vec<OpenChat>, CliError> {
        match self {
            Desk::Here(session) => {
                let who = session.principal()?;
                let open = session.wait(session.engine.open_chats(&who, SHOWN))?;
                session.clean(open.into_iter().map(OpenChat::from).collect())
            }
            Desk::There(remote) => {
                let page: Page<OpenChat> = remote.get(&["chats"], &[("limit", SHOWN.to_string())])?;
                Ok(page.items)
            }
        }
    }

    fn begin_chat(&self) -> Result<Chat, CliError> {
        match self {
            Desk::Here(session) => {
                let who = session.principal()?;
                Ok(Chat::from(session.wait(session.engine.begin_chat(&who, None))?))
            }
            Desk::There(remote) => remote.post(&["chats"], &json!({})),
        }
    }

    fn ask(&self, of: &ChatOf, question: &str, voice: &mut Voice) -> Result<Message, CliError> {
        match self {
            Desk::Here(session) => session.ask(of, question, voice),
            Desk::There(remote) => there(remote, of, question, voice),
        }
    }

    fn settle_proposal(&self, run: &str, id: &str, verb: &str) -> Result<Proposal, CliError> {
        match self {
            Desk::Here(session) => {
                let who = session.judge()?;
                let done = match verb {
                    "apply" => session.wait(session.engine.apply_proposal(&who, run, id)),
                    _ => session.wait(session.engine.discard_proposal(&who, run, id)),
                };
                session.clean(Proposal::from(done?))
            }
            Desk::There(remote) => remote.post(&["runs", run, "chat", "proposals", id, verb], &json!({})),
        }
    }

    /// What the person says next.
    fn line(&self) -> Result<Option<String>, CliError> {
        let asked = async {
            let stop = interrupts()?;
            Ok(prompt::line("\n> ", &stop).await)
        };
        match self {
            Desk::Here(session) => session.wait(asked),
            Desk::There(remote) => remote.wait(asked),
        }
    }
}

impl Session {
    fn ask(&self, of: &ChatOf, question: &str, voice: &mut Voice) -> Result<Message, CliError> {
        let who = self.principal()?;
        self.wait(async {
            let asking = self.engine.ask_chat(&who, of, question, None).await?;
            let stop = interrupts()?;
            let mut hear = |piece: ChatPiece| voice.hear(&Piece::from(piece));
            let answer = self.engine.answer_chat(&asking, &mut hear, ended(stop)).await?;
            self.clean(answer)
        })
    }

    /// The same without what is secret here.
    fn clean<T: serde::Serialize + serde::de::DeserializeOwned>(&self, value: T) -> Result<T, CliError> {
        let text = serde_json::to_vec(&value).unwrap_or_default();
        match self.engine.redacted_json(&text, None) {
            std::borrow::Cow::Borrowed(_) => Ok(value),
            std::borrow::Cow::Owned(clean) => serde_json::from_slice(&clean)
                .map_err(|error| CliError::failed(format!("the answer cannot be read: {error}"))),
        }
    }
}

async fn ended(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn there(remote: &Remote, of: &ChatOf, question: &str, voice: &mut Voice) -> Result<Message, CliError> {
    let mut path = path(of);
    if let ChatOf::Chat(_) = of {
        path.push("messages");
    }
    remote.pieces(&path, &json!({"text": question}), |piece| voice.hear(piece))
}

fn path(of: &ChatOf) -> Vec<&str> {
    match of {
        ChatOf::Run(run) => vec!["runs", run, "chat"],
        ChatOf::Chat(id) => vec!["chats", id],
    }
}

/// Conversations that have led to no job yet.
fn listed(open: &[OpenChat]) -> String {
    if open.is_empty() {
        return "no conversation waits for a job; `checkrein chat` begins one\n".to_owned();
    }
    let mut table = Table::new(&["conversation", "by", "touched", "about"]);
    for one in open {
        let first = one.first_question.as_deref().unwrap_or_default();
        let about = if one.draft.description.trim().is_empty() { first } else { &one.draft.description };
        let about: String = one_line(about).chars().take(60).collect();
        table.row(vec![one.id.clone(), one_line(&one.by), age(one.updated_at), about]);
    }
    table.render()
}

/// What was said and proposed so far.
fn shown(chat: &Chat) -> String {
    let mut out = String::new();
    for message in &chat.messages {
        let who = message.speaker.person().unwrap_or("companion");
        out.push_str(&format!("{HEADING}{}{HEADING:#}", one_line(who)));
        match message.status {
            MessageStatus::Done => {}
            MessageStatus::Writing => out.push_str(&format!("  {FAINT}is writing{FAINT:#}")),
            MessageStatus::BrokenOff => out.push_str(&format!("  {FAINT}broken off{FAINT:#}")),
        }
        out.push('\n');
        for line in harmless(&message.text).lines() {
            out.push_str(&format!("  {line}\n"));
        }
        if let Some(note) = &message.note {
            out.push_str(&format!("  {FAINT}{}{FAINT:#}\n", one_line(note)));
        }
        let made = chat.proposals.iter().filter(|proposal| proposal.message == message.id);
        made.for_each(|proposal| out.push_str(&proposal_shown(proposal)));
        out.push('\n');
    }
    out.push_str(&draft(chat));
    out
}

fn draft(chat: &Chat) -> String {
    let draft = &chat.draft;
    if draft.is_empty() || chat.run_id.is_some() {
        return String::new();
    }
    let mut out = format!("{HEADING}written down{HEADING:#}\n");
    for line in harmless(&draft.description).lines() {
        out.push_str(&format!("  {line}\n"));
    }
    let rest = [("expert", &draft.expert), ("autonomy", &draft.autonomy)];
    for (name, value) in rest {
        if let Some(value) = value {
            out.push_str(&format!("  {name}: {}\n", one_line(value)));
        }
    }
    if let Some(over) = &draft.config_override {
        out.push_str(&format!("  config_override: {}\n", harmless(&json!(over).to_string())));
    }
    out
}

fn proposal_shown(proposal: &Proposal) -> String {
    let (kind, to, verb) = match proposal.kind {
        ProposalKind::File => ("a change", "of", "applies"),
        ProposalKind::Comment => ("a comment", "on", "posts"),
    };
    let place = match (&proposal.file, proposal.line) {
        (Some(file), Some(line)) => format!(" {to} {}:{line}", one_line(file)),
        (Some(file), None) => format!(" {to} {}", one_line(file)),
        _ => String::new(),
    };
    let state = match proposal.status {
        ProposalStatus::Proposed => format!("proposed; a person {verb} it"),
        status => {
            format!("{} by {}", status.name(), one_line(proposal.settled_by.as_deref().unwrap_or("nobody")))
        }
    };
    let mut out =
        format!("  {HEADING}{}{HEADING:#} {kind}{place}  {FAINT}{state}{FAINT:#}\n", one_line(&proposal.id));
    let text = proposal.diff.as_deref().unwrap_or(&proposal.text);
    for line in harmless(text).lines() {
        out.push_str(&format!("    {line}\n"));
    }
    out
}

fn settled(proposal: &Proposal) -> String {
    let by = proposal.settled_by.as_deref().unwrap_or("nobody");
    let outcome = proposal.outcome.as_deref().map(|outcome| format!(": {}", one_line(outcome)));
    format!(
        "{} was {} by {}{}\n",
        quoted(&proposal.id),
        proposal.status.name(),
        one_line(by),
        outcome.unwrap_or_default()
    )
}
