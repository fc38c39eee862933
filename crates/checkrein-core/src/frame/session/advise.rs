//! Advice about this session: from its own signals where the caller passes none (F9).

use super::observe::{REPAIR, repair_goal};
use super::{Around, By, FrameError, FrameSession};
use crate::frame::config::{FrameConfig, FrameLevel};
use crate::frame::request::{FrameInput, PopRequest, PushRequest, evaluate_pop, evaluate_push};
use crate::frame::status::PopStatus;
use crate::frame::suggestion::{NewSuggestion, Offer, Proposal, Suggestion, SuggestionStatus};
use crate::heuristic::{Evaluation, Family, keywords};

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
        let evaluation = evaluate_push(&self.without_our_words(&request), config);
        let current = self.tree.current().map(|frame| frame.goal.as_str());
        let goal =
            request.potential_goal.filter(|goal| !goal.trim().is_empty() && Some(goal.as_str()) != current);
        if let Some(goal) = goal.as_deref().filter(|_| evaluation.should && config.level == FrameLevel::Auto)
        {
            self.finish_before(goal, config, around)?;
        }
        let current = self.tree.current().map(|frame| frame.goal.as_str());
        let proposal = goal.filter(|goal| Some(goal.as_str()) != current).map(|goal| Proposal::Push { goal });
        self.offer(proposal, evaluation, config, around)
    }

    /// A frame whose goal is reached is popped before work on something unrelated begins, so that goals
    /// that follow each other become siblings and not a chain.
    fn finish_before(
        &mut self,
        goal: &str,
        config: &FrameConfig,
        around: &Around<'_>,
    ) -> Result<(), FrameError> {
        let Some(current) = self.tree.current().filter(|frame| frame.parent.is_some()) else { return Ok(()) };
        let signals = &current.signals;
        let finished = !signals.successes.is_empty() && signals.failures.is_empty();
        if !finished || !keywords(&current.goal).is_disjoint(&keywords(goal)) {
            return Ok(());
        }
        let proposal = Proposal::Pop { frame: current.id.clone(), status: PopStatus::Completed };
        let evaluation = evaluate_pop(&self.filled_pop(&PopRequest::default()), config);
        let evaluation =
            Evaluation { should: true, suggested_status: Some(PopStatus::Completed), ..evaluation };
        self.offer(Some(proposal), evaluation, config, around)?;
        Ok(())
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

    /// A word that we put before an error is none that its goal shares with a person's.
    fn without_our_words(&self, request: &PushRequest) -> PushRequest {
        let ours = self.tree.current().and_then(|frame| repair_goal(&frame.signals));
        let goal = request.potential_goal.clone().map(|goal| match goal.strip_prefix(REPAIR) {
            Some(error) if ours.as_ref() == Some(&goal) => error.to_owned(),
            _ => goal,
        });
        PushRequest { potential_goal: goal, ..request.clone() }
    }

    fn filled_push(&self, request: &PushRequest) -> PushRequest {
        let Some(current) = self.tree.current().filter(|_| request.frame.is_none()) else {
            return request.clone();
        };
        // An explicit 0 or empty list is a value (R8).
        let signals = &current.signals;
        PushRequest {
            potential_goal: request.potential_goal.clone().or_else(|| self.potential_goal()),
            recent_messages: request.recent_messages.or(Some(signals.messages)),
            recent_file_changes: request.recent_file_changes.clone().or_else(|| Some(signals.files.clone())),
            error_count: request.error_count.or(Some(signals.recent_errors)),
            token_count: request.token_count.or(Some(signals.tokens)),
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
        let signals = &current.signals;
        PopRequest {
            success_signals: request.success_signals.clone().or_else(|| Some(signals.successes.clone())),
            failure_signals: request.failure_signals.clone().or_else(|| Some(signals.failures.clone())),
            no_progress_turns: request.no_progress_turns.or(Some(signals.no_progress_turns)),
            token_count: request.token_count.or(Some(signals.context_tokens)),
            context_limit: request.context_limit.or(Some(signals.context_limit)),
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
        let acted = acted.cloned();
        if let Some(acted) = &acted {
            self.suggestions.set_turn(&acted.id, self.state.turns);
        }
        acted
    }
}
