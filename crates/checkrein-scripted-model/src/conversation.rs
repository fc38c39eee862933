//! A request of any dialect as what a script needs of it: who said what, and which tools there are.

use serde_json::Value;

use crate::dialect::Dialect;

#[derive(Debug, Default)]
pub struct Conversation {
    /// In order; what the model said at once is one.
    pub said: Vec<Said>,
    pub tools: Vec<Tool>,
    pub streamed: bool,
    pub model: String,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    Person(String),
    Model,
    /// What tools answered.
    Tools,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The group it is listed in, where its dialect has such.
    pub group: Option<String>,
    pub name: String,
}

impl Conversation {
    pub fn of(dialect: Dialect, path: &str, body: &Value) -> Conversation {
        let list = |name: &str| body.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let mut this = Conversation {
            streamed: body.get("stream").and_then(Value::as_bool).unwrap_or(false)
                || path.contains("streamGenerateContent"),
            model: text(body, "model"),
            ..Conversation::default()
        };
        match dialect {
            Dialect::Anthropic => list("messages").iter().for_each(|message| this.message(message)),
            Dialect::Chat => list("messages").iter().for_each(|message| match role(message) {
                "tool" => this.push(Said::Tools),
                _ => this.message(message),
            }),
            Dialect::Responses => match body.get("input") {
                Some(Value::String(text)) => this.push(Said::Person(text.clone())),
                _ => list("input").iter().for_each(|item| this.item(item)),
            },
            Dialect::Gemini => list("contents").iter().for_each(|content| this.content(content)),
        }
        for tool in list("tools") {
            this.tool(&tool, None);
        }
        this
    }

    /// How many turns the model had after a message, counted from the first.
    pub fn turns_after(&self, message: usize) -> usize {
        self.said.iter().skip(message + 1).filter(|said| **said == Said::Model).count()
    }

    fn push(&mut self, said: Said) {
        // What the model said at once comes in pieces in some dialects.
        if said == Said::Model && self.said.last() == Some(&Said::Model) {
            return;
        }
        self.said.push(said);
    }

    fn message(&mut self, message: &Value) {
        match role(message) {
            "assistant" => self.push(Said::Model),
            "user" => {
                let content = message.get("content").cloned().unwrap_or_default();
                let parts = content.as_array().cloned().unwrap_or_default();
                let of_tools = parts.iter().any(|part| text(part, "type") == "tool_result");
                let words = words(&content);
                if of_tools {
                    self.push(Said::Tools);
                }
                if !words.is_empty() {
                    self.push(Said::Person(words));
                }
            }
            _ => {}
        }
    }

    fn item(&mut self, item: &Value) {
        match (text(item, "type").as_str(), role(item)) {
            ("message" | "", "user") => {
                let words = words(item.get("content").unwrap_or(&Value::Null));
                self.push(Said::Person(words));
            }
            ("message" | "", "assistant") | ("reasoning", _) => self.push(Said::Model),
            (kind, _) if kind.ends_with("_output") => self.push(Said::Tools),
            (kind, _) if kind.ends_with("_call") => self.push(Said::Model),
            _ => {}
        }
    }

    fn content(&mut self, content: &Value) {
        let parts = content.get("parts").and_then(Value::as_array).cloned().unwrap_or_default();
        match role(content) {
            "model" => self.push(Said::Model),
            _ if parts.iter().any(|part| part.get("functionResponse").is_some()) => self.push(Said::Tools),
            _ => {
                let words = parts.iter().map(|part| text(part, "text")).collect::<Vec<_>>().join("\n");
                self.push(Said::Person(words));
            }
        }
    }

    fn tool(&mut self, tool: &Value, group: Option<&str>) {
        let inner = ["tools", "functionDeclarations", "function_declarations"]
            .iter()
            .find_map(|name| tool.get(*name).and_then(Value::as_array));
        if let Some(inner) = inner {
            let group = text(tool, "name");
            let group = Some(group).filter(|group| !group.is_empty());
            inner.iter().for_each(|tool| self.tool(tool, group.as_deref()));
            return;
        }
        let name = match tool.get("function") {
            Some(function) => text(function, "name"),
            None => text(tool, "name"),
        };
        if !name.is_empty() {
            self.tools.push(Tool { group: group.map(str::to_owned), name });
        }
    }
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The words of a content, which is a text or parts of which some are.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let words = parts.iter().map(|part| text(part, "text")).filter(|text| !text.is_empty());
            words.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
