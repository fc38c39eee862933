//! What a model may do for an answer: look at the job the conversation is about, and propose.

use checkrein_agent::llm::{Tool, ToolCall, ToolInput};
use checkrein_core::companion::{Draft, ToolUse};
use checkrein_core::run::RunId;
use checkrein_core::shown::one_line;
use serde_json::{Value, json};

use super::answer::Writing;
use super::offer::offer;
use super::{Asking, ChatPiece, check_draft};
use crate::companion::workspace::clean;
use crate::companion::{ReadTool, read_tools};
use crate::{Act, Engine, NewJob};

/// The tools of one answer.
pub(super) struct Tools<'t, 'h> {
    engine: &'t Engine,
    asking: &'t Asking,
    writing: &'t Writing<'h>,
    offers: Vec<Tool>,
}

/// What is shown of what a tool was asked for.
const ABOUT_CHARS_MAX: usize = 120;

impl<'t, 'h> Tools<'t, 'h> {
    pub fn of(engine: &'t Engine, asking: &'t Asking, writing: &'t Writing<'h>) -> Tools<'t, 'h> {
        let names = engine.companion.tools(asking.stage);
        let offers = names.iter().filter_map(|name| offer(name).or_else(|| looking(name))).collect();
        Tools { engine, asking, writing, offers }
    }

    pub fn offers(&self) -> Vec<Tool> {
        self.offers.clone()
    }

    /// What came of a call: what it found, or why it found nothing.
    pub async fn call(&self, call: &ToolCall) -> Result<String, String> {
        let (input, about) = match &call.input {
            ToolInput::Read(input) => (Ok(input), about(input)),
            ToolInput::Malformed(raw) => (Err("the arguments are not a JSON object".to_owned()), raw.clone()),
        };
        let done = match input {
            // INVARIANT: what is not offered at this stage is not done, whoever names it.
            _ if !self.offers.iter().any(|offer| offer.name == call.name) => {
                let known: Vec<&str> = self.offers.iter().map(|offer| offer.name.as_str()).collect();
                Err(format!("there is no tool `{}`; there are {}", call.name, known.join(", ")))
            }
            Ok(input) => self.done(&call.name, input).await,
            Err(why) => Err(why),
        };
        let about: String = one_line(&about).chars().take(ABOUT_CHARS_MAX).collect();
        let tool: String = one_line(&call.name).chars().take(ABOUT_CHARS_MAX).collect();
        self.writing.uses(ToolUse { tool, about, failed: done.is_err() });
        done.map(|text| self.clean(&text)).map_err(|why| self.clean(&why))
    }

    async fn done(&self, name: &str, input: &Value) -> Result<String, String> {
        match name {
            "update_instructions" => self.update_instructions(input).await,
            "web_search" => match &self.engine.companion.web {
                Some(web) => {
                    let hits = web.search(text(input, "query")?).await?;
                    serde_json::to_string_pretty(&hits).map_err(|error| error.to_string())
                }
                None => Err("no web search is set up".to_owned()),
            },
            "write_file" => {
                let run = self.run()?;
                let path = text(input, "path")?;
                let made = self.engine.propose_file(self.asking, run, path, text(input, "content")?).await;
                self.proposed(made)
            }
            "edit_file" => {
                let run = self.run()?;
                let (path, old, new) = (text(input, "path")?, text(input, "old")?, text(input, "new")?);
                self.proposed(self.engine.propose_edit(self.asking, run, path, (old, new)).await)
            }
            "draft_comment" => {
                let line =
                    input.get("line").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok());
                let file = input.get("file").and_then(Value::as_str).filter(|file| !file.is_empty());
                let made = self.engine.propose_comment(self.asking, file, line, text(input, "text")?).await;
                self.proposed(made)
            }
            _ => {
                let tool = read_tool(name).ok_or_else(|| format!("there is no tool `{name}`"))?;
                let run = self.run()?.as_str();
                let found = self.engine.look_with(&self.asking.by, run, tool, input.clone()).await;
                let found = found.map_err(|error| error.to_string())?;
                serde_json::to_string_pretty(&found).map_err(|error| error.to_string())
            }
        }
    }

    /// INVARIANT: the job is the conversation's; nothing a model says names another.
    fn run(&self) -> Result<&RunId, String> {
        self.asking.run.as_ref().ok_or_else(|| "there is no job yet".to_owned())
    }

    fn proposed(
        &self,
        made: Result<checkrein_core::companion::Proposal, crate::EngineError>,
    ) -> Result<String, String> {
        let made = made.map_err(|error| error.to_string())?;
        let words = format!("proposed as {}; a person sees it and decides whether it is done", made.id);
        self.writing.tell(ChatPiece::Proposed(Box::new(made)));
        Ok(words)
    }

    async fn update_instructions(&self, input: &Value) -> Result<String, String> {
        let new: Draft = serde_json::from_value(input.clone()).map_err(|error| error.to_string())?;
        check_draft(&new).map_err(|error| error.to_string())?;
        if let Some(over) = &new.config_override {
            let job = NewJob {
                config_override: Some(Value::Object(over.clone()).to_string()),
                ..NewJob::default()
            };
            // What would have a machine run a command is written by a person, or not at all.
            match job.takes() {
                Ok(Act::GiveJob) => {}
                Ok(_) => {
                    return Err(
                        "the agent, its environment and its sandbox are a person's to name".to_owned()
                    );
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        let chat = &self.asking.chat;
        let row = self.engine.store.chat(chat).await.map_err(|error| error.to_string())?;
        let row = row.filter(|row| row.run.is_none()).ok_or("the job was given meanwhile")?;
        let draft = row.draft.updated(new);
        let kept = self.engine.store.put_draft(chat.clone(), draft.clone(), self.engine.now()).await;
        kept.map_err(|error| error.to_string())?;
        self.writing.tell(ChatPiece::Drafted(draft.clone()));
        serde_json::to_string(&json!({"written_down": draft})).map_err(|error| error.to_string())
    }

    /// What is found leaves this machine: without what is secret here, or of the job.
    fn clean(&self, text: &str) -> String {
        match &self.asking.run {
            Some(run) => clean(self.engine, run, text.as_bytes()),
            None => String::from_utf8_lossy(&self.engine.redacted(text.as_bytes())).into_owned(),
        }
    }
}

fn text<'v>(input: &'v Value, field: &str) -> Result<&'v str, String> {
    let found = input.get(field).and_then(Value::as_str);
    found.ok_or_else(|| format!("`{field}` is missing, or not a text"))
}

/// What a call is about, for people: its first texts.
fn about(input: &Value) -> String {
    let fields = input.as_object().into_iter().flatten();
    let words = fields.filter_map(|(_, value)| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    words.take(2).collect::<Vec<_>>().join(" ")
}

/// A tool that looks, as a model is told of it.
fn looking(name: &str) -> Option<Tool> {
    let tool = read_tool(name)?;
    let (name, description) = (tool.name.to_owned(), tool.about.to_owned());
    Some(Tool { name, description, input: tool.schema.clone() })
}

fn read_tool(name: &str) -> Option<&'static ReadTool> {
    read_tools().iter().find(|tool| tool.name == name)
}
