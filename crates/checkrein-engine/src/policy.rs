//! What the policy is, what it would decide, and what a text speaks of.

use checkrein_core::classify::Classified;
use checkrein_core::config::{Subject, env};
use checkrein_core::decision::{Answer, Request};
use checkrein_core::frame::{
    FrameConfig, FrameConfigPatch, PopRequest, PushRequest, evaluate_pop, evaluate_push,
};
use checkrein_core::heuristic::Evaluation;
use checkrein_core::policy::{LayerRank, Policy, Reading, Resolution, Scope};
use checkrein_core::principal::Principal;

use crate::authority::{Act, require};
use crate::{Engine, EngineError};

impl Engine {
    /// The policy in force, with a level or a block on top as it would be given at the start of a run.
    pub fn policy(
        &self,
        by: &Principal,
        scope: Scope,
        subject: Subject<'_>,
        autonomy: Option<&str>,
    ) -> Result<Resolution, EngineError> {
        require(by, Act::Read)?;
        let start = autonomy.map(|text| env::layer(LayerRank::Start, "autonomy", text.trim())).transpose()?;
        Ok(self.settings.resolve_as(Reading::Coercing, scope, subject, start.as_slice())?)
    }

    /// Answers a situation given as JSON; reads nothing but the request.
    pub fn decide(&self, by: &Principal, request: &str) -> Result<Decided, EngineError> {
        require(by, Act::Read)?;
        let (request, resolution) = Request::parse("request", request)?;
        let answer = request.answer(&resolution.policy);
        let mut odd: Vec<String> =
            resolution.problems.iter().map(|problem| problem.message.clone()).collect();
        odd.extend(request.result_handling.ignored(request.kind).map(|ignored| ignored.to_string()));
        odd.extend(answer.notes.iter().cloned());
        Ok(Decided { answer, odd })
    }

    /// The same for a policy that is in force somewhere, in the place of the one the request speaks of.
    pub fn decide_by(&self, by: &Principal, request: &str, policy: &Policy) -> Result<Decided, EngineError> {
        require(by, Act::Read)?;
        let (request, _) = Request::parse("request", request)?;
        let answer = request.answer(policy);
        let odd = answer.notes.clone();
        Ok(Decided { answer, odd })
    }

    /// The severity and category of a text, and by which word.
    pub fn classify<'e>(&'e self, by: &Principal, text: &str) -> Result<Classified<'e>, EngineError> {
        require(by, Act::Read)?;
        Ok(self.settings.classifier().classify(text))
    }

    /// Whether a child frame should be pushed.
    pub fn should_push(&self, by: &Principal, request: &PushRequest) -> Result<Evaluation, EngineError> {
        require(by, Act::Read)?;
        Ok(evaluate_push(request, &self.frame_config(request.config.as_ref())))
    }

    /// Whether the current frame should be popped.
    pub fn should_pop(&self, by: &Principal, request: &PopRequest) -> Result<Evaluation, EngineError> {
        require(by, Act::Read)?;
        Ok(evaluate_pop(request, &self.frame_config(request.config.as_ref())))
    }

    fn frame_config(&self, patch: Option<&FrameConfigPatch>) -> FrameConfig {
        let (mut config, _) = self.settings.frames();
        if let Some(patch) = patch {
            let _ = config.apply(patch);
        }
        config
    }
}

/// A decision, and what was odd about what was asked.
#[derive(Debug)]
pub struct Decided {
    pub answer: Answer,
    pub odd: Vec<String>,
}
