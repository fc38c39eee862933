//! Advice about this session: from its own signals where the caller passes none (F9).

use super::{Around, By, FrameError, FrameSession};
use crate::frame::config::FrameConfig;
use crate::frame::request::{FrameInput, PopRequest, PushRequest, evaluate_pop, evaluate_push};
use crate::frame::status::PopStatus;
use crate::frame::suggestion::{NewSuggestion, Offer, Proposal, Suggestion, SuggestionStatus};
use crate::heuristic::{Evaluation, Family};

/// Which suggestions are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuggestionFilter {
    pub session: Option<String>,
    pub owner: Option<String>,
    pub status: Option<SuggestionStatus>,
}

/// An evaluation, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Advice {
    pub evaluation: Evaluation,
    pub suggestion: Option<Suggestion>,
    pub performed: bool,
}

impl FrameSession {
    pub(super) fn advise_push(
        &mut self,
        request: &PushRequest,
        config: &FrameConfig,
        around: &Around<'_>,
    ) -> Result<Advice, FrameError> {
        let request = self.filled_push(request);
        let evaluation = evaluate_push(&request, config);
        let current = self.tree.current().map(|frame| frame.goal.as_str());
        let goal =
            request.potential_goal.filter(|goal| !goal.trim().is_empty() && Some(goal.as_str()) != current);
        let proposal = goal.map(|goal| Proposal::Push { goal });
        self.offer(proposal, evaluation, config, around)
    }

    pub(super) fn advise_pop(
        &mut self,
        request: &PopRequest,
        config: &FrameConfig,
        around: &Around<'_>,
    ) -> Result<Advice, FrameError> {
        let request = self.filled_pop(request);
        let evaluation = evaluate_pop(&request, config);
        let frame = self.tree.current().map(|frame| frame.id.clone());
        let status = evaluation.suggested_status.unwrap_or(PopStatus::Completed);
        let proposal = frame.map(|frame| Proposal::Pop { frame, status });
        self.offer(proposal, evaluation, config, around)
    }

    fn offer(
        &mut self,
        proposal: Option<Proposal>,
        evaluation: Evaluation,
        config: &FrameConfig,
        around: &Around<'_>,
    ) -> Result<Advice, FrameError> {
        let Some(proposal) = proposal else {
            return Ok(Advice { evaluation, suggestion: None, performed: false });
        };
        let agent =
            self.tree.current().and_then(|frame| frame.agent.clone()).or_else(|| self.state.agent.clone());
        let new = NewSuggestion { id: (around.make_id)(), session: self.id.clone(), proposal, agent };
        match self.suggestions.offer(new, &evaluation, config.level, around.now_ms) {
            Offer::Dropped => Ok(Advice { evaluation, suggestion: None, performed: false }),
            Offer::Waiting(suggestion) => {
                Ok(Advice { evaluation, suggestion: Some(suggestion), performed: false })
            }
            Offer::Perform(suggestion) => {
                self.perform(&suggestion, around)?;
                Ok(Advice { evaluation, suggestion: Some(suggestion), performed: true })
            }
        }
    }

    /// Makes the move a suggestion proposes, and says so.
    fn perform(&mut self, suggestion: &Suggestion, around: &Around<'_>) -> Result<(), FrameError> {
        match &suggestion.proposal {
            Proposal::Push { goal } => {
                self.push(goal, By::Auto, around)?;
                self.state.potential_goal = None;
            }
            Proposal::Pop { status, frame } => {
                let own = self.tree.get(frame).and_then(|frame| frame.summary.clone());
                let summary = own.unwrap_or_else(|| self.made_summary(frame, &suggestion.reason));
                self.pop(*status, Some(summary), Vec::new(), Vec::new(), By::Auto, around)?;
            }
        }
        self.tell_news(suggestion.performed_text());
        Ok(())
    }

    /// What can be said of a frame without anybody who says it.
    fn made_summary(&self, frame: &str, reason: &str) -> String {
        let Some(frame) = self.tree.get(frame) else { return String::new() };
        let signals = &frame.signals;
        let mut parts = vec![format!("Popped automatically: {reason}.")];
        let some = |texts: &[String]| texts.iter().rev().take(5).cloned().collect::<Vec<_>>().join(", ");
        for (words, texts) in [
            ("Went well", &signals.successes),
            ("Went wrong", &signals.failures),
            ("Changed", &signals.files),
        ] {
            if !texts.is_empty() {
                parts.push(format!("{words}: {}.", some(texts)));
            }
        }
        parts.join(" ")
    }

    fn filled_push(&self, request: &PushRequest) -> PushRequest {
        let Some(current) = self.tree.current().filter(|_| request.frame.is_none()) else {
            return request.clone();
        };
        let (signals, or) =
            (&current.signals, |given: u64, measured: u64| if given > 0 { given } else { measured });
        let files = if request.recent_file_changes.is_empty() {
            signals.files.clone()
        } else {
            request.recent_file_changes.clone()
        };
        PushRequest {
            potential_goal: request.potential_goal.clone().or_else(|| self.potential_goal()),
            recent_messages: or(request.recent_messages, signals.messages),
            recent_file_changes: files,
            error_count: or(request.error_count, signals.errors),
            token_count: or(request.token_count, signals.tokens),
            frame: Some(self.input()),
            config: None,
        }
    }

    fn filled_pop(&self, request: &PopRequest) -> PopRequest {
        let Some(current) = self.tree.current().filter(|_| request.frame.is_none()) else {
            // Without a frame there is none to return to.
            let rootless = FrameInput { has_parent: false, ..FrameInput::default() };
            return PopRequest { frame: request.frame.clone().or(Some(rootless)), ..request.clone() };
        };
        let (signals, or) =
            (&current.signals, |given: u64, measured: u64| if given > 0 { given } else { measured });
        let texts = |given: &Vec<String>, measured: &Vec<String>| {
            if given.is_empty() { measured.clone() } else { given.clone() }
        };
        PopRequest {
            success_signals: texts(&request.success_signals, &signals.successes),
            failure_signals: texts(&request.failure_signals, &signals.failures),
            no_progress_turns: or(request.no_progress_turns, signals.no_progress_turns),
            token_count: or(request.token_count, signals.context_tokens),
            context_limit: or(request.context_limit, signals.context_limit),
            frame: Some(self.input()),
            config: None,
        }
    }

    /// What the heuristics need to know of the current frame.
    fn input(&self) -> FrameInput {
        let Some(frame) = self.tree.current() else { return FrameInput::default() };
        let mut artifacts = frame.artifacts.clone();
        artifacts.extend(frame.signals.files.iter().filter(|file| !frame.artifacts.contains(file)).cloned());
        FrameInput { goal: frame.goal.clone(), artifacts, has_parent: frame.parent.is_some() }
    }

    /// Marks what a move was asked for by.
    pub(super) fn act(&mut self, kind: Family, target: &str, now_ms: u64) -> Option<Suggestion> {
        let session = self.id.clone();
        let acted = match kind {
            Family::Push => self.suggestions.act_on_push(&session, target, now_ms),
            Family::Pop => self.suggestions.act(&session, Family::Pop, target, now_ms),
        };
        acted.cloned()
    }
}
