//! Who answers: the model the user's settings name, or nobody.

use checkrein_agent::llm::{Client, LlmError, Model, Patience};
use checkrein_core::companion::Stage;
use checkrein_core::config::Settings;

use super::web::WebSearch;

/// What an engine has for conversations.
pub(crate) struct Companion {
    asked: Option<Result<(Model, Client), LlmError>>,
    pub(super) web: Option<WebSearch>,
}

impl Companion {
    pub fn new(settings: &Settings) -> Companion {
        let shape = settings.companion();
        let get = |name: &str| settings.variable(name);
        let model = shape.and_then(|shape| shape.model.as_ref());
        let asked = model.map(|shape| Ok((Model::of(shape, get)?, Client::new(Patience::short())?)));
        let web = shape.and_then(|shape| shape.web_search.as_ref());
        let web = web.map(|shape| WebSearch::new(shape, shape.key_env.as_deref().and_then(get)));
        Companion { asked, web }
    }

    pub(super) fn asked(&self) -> Option<&(Model, Client)> {
        self.asked.as_ref().and_then(|asked| asked.as_ref().ok())
    }

    pub(super) fn model_name(&self) -> Option<String> {
        self.asked().map(|(model, _)| model.name.clone())
    }

    /// What a model may use at a stage, with what is set up.
    pub(super) fn tools(&self, stage: Stage) -> Vec<&'static str> {
        let there = |name: &&str| *name != "web_search" || self.web.is_some();
        stage.tools().into_iter().filter(there).collect()
    }

    /// Why nobody answers.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match &self.asked {
            None => notes.push(
                "no model is set up to answer: `companion: {model: {api: …, model: …}}` in your own settings names one"
                    .to_owned(),
            ),
            Some(Err(error)) => notes.push(match error.hint() {
                Some(hint) => format!("no model can answer: {error}; {hint}"),
                None => format!("no model can answer: {error}"),
            }),
            Some(Ok(_)) => {}
        }
        notes
    }
}
