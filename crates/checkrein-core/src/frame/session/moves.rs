//! The moves themselves, and what is answered to each.

use super::advise::Advice;
use super::{
    Around, AutoSuggest, By, ConfigChange, FrameCommand, FrameError, FrameSession, SUMMARY_CHARS_MAX,
    bounded, goal,
};
use crate::frame::answer::{ConfigView, EvaluationView, FrameAnswer, StatsView, tree_text};
use crate::frame::config::{FrameConfig, FrameConfigPatch};
use crate::frame::context::assemble_context;
use crate::frame::render::{render_pop, render_push};
use crate::frame::status::{FrameStatus, PopStatus};
use crate::frame::suggestion::{Suggestion, SuggestionStatus};
use crate::frame::tree::{Fold, Frame, TreeError};
use crate::frame::{escape, tune};
use crate::heuristic::Family;

impl FrameSession {
    /// Does what is asked. A refusal changes nothing.
    pub fn apply(&mut self, command: &FrameCommand, around: &Around<'_>) -> Result<FrameAnswer, FrameError> {
        let config = self.config(around.settings);
        self.suggestions.expire(around.now_ms);
        let mut answer = self.answer(command, &config, around)?;
        answer.session.clone_from(&self.id);
        answer.current = self.tree.current().cloned().map(Box::new);
        Ok(answer)
    }

    fn answer(
        &mut self,
        command: &FrameCommand,
        config: &FrameConfig,
        around: &Around<'_>,
    ) -> Result<FrameAnswer, FrameError> {
        match command {
            FrameCommand::Push { goal } => {
                let frame = self.push(goal, By::Asked, around)?;
                Ok(FrameAnswer::about(frame, "Pushed frame"))
            }
            FrameCommand::Pop { status, summary, artifacts, decisions } => {
                let status = status.unwrap_or(PopStatus::Completed);
                let summary =
                    summary.as_deref().map(|text| bounded("summary", text, SUMMARY_CHARS_MAX)).transpose()?;
                let frame =
                    self.pop(status, summary, artifacts.clone(), decisions.clone(), By::Asked, around)?;
                let mut answer = FrameAnswer::about(frame, "Popped frame");
                if let Some(parent) = self.tree.current() {
                    answer.text.push_str(&format!(
                        "Current frame: {} {}\n",
                        parent.id,
                        escape::quoted(&parent.goal)
                    ));
                }
                Ok(answer)
            }
            FrameCommand::Plan { goal, parent } => {
                let frames = self.plan(std::slice::from_ref(goal), parent.as_deref(), around)?;
                Ok(FrameAnswer::several(frames, "Planned"))
            }
            FrameCommand::PlanChildren { goals, parent } => {
                let frames = self.plan(goals, parent.as_deref(), around)?;
                Ok(FrameAnswer::several(frames, "Planned"))
            }
            FrameCommand::Edit { frame, goal: text } => {
                let text = goal(text)?;
                let edited = self.undoable(By::Asked, around.now_ms, |session| {
                    let edited = session.tree.edit(frame, text.clone())?.clone();
                    Ok((edited, format!("edit of {frame}"), None))
                })?;
                self.note(frame, format!("goal is now: {text}"));
                Ok(FrameAnswer::about(edited, "Edited frame"))
            }
            FrameCommand::Activate { frame } => {
                Ok(FrameAnswer::about(self.activate(frame, around)?, "Active frame"))
            }
            FrameCommand::Resume { frame } => {
                let frame = frame.clone().or_else(|| self.resumable()).ok_or(FrameError::NothingToResume)?;
                Ok(FrameAnswer::about(self.activate(&frame, around)?, "Resumed frame"))
            }
            FrameCommand::Invalidate { frame, reason } => self.invalidate(frame.as_deref(), reason, around),
            FrameCommand::Summarize { frame, summary } => {
                let summary = bounded("summary", summary, SUMMARY_CHARS_MAX)?;
                let id = self.named(frame.as_deref())?.id.clone();
                let frame = self.undoable(By::Asked, around.now_ms, |session| {
                    let frame = session.tree.frame_mut(&id).ok_or_else(|| TreeError::Unknown(id.clone()))?;
                    frame.summary = Some(summary.clone());
                    Ok((frame.clone(), format!("summary of {id}"), None))
                })?;
                self.note(&id, format!("summary: {summary}"));
                Ok(FrameAnswer::about(frame, "Summarized frame"))
            }
            FrameCommand::AddArtifact { artifact } => {
                let artifact = bounded("artifact", artifact, super::GOAL_CHARS_MAX)?;
                self.record(vec![artifact], Vec::new())
            }
            FrameCommand::AddDecision { decision } => {
                let decision = bounded("decision", decision, super::GOAL_CHARS_MAX)?;
                self.record(Vec::new(), vec![decision])
            }
            FrameCommand::Undo {} => {
                let step = self.undo(around.now_ms)?;
                let text = format!("Undone: {}\n", step.what);
                Ok(FrameAnswer { undone: Some(step.what), text, ..FrameAnswer::default() })
            }
            FrameCommand::Tree {} => {
                let frames = self.tree.listed().cloned().collect();
                Ok(FrameAnswer { text: tree_text(&self.tree), frames, ..FrameAnswer::default() })
            }
            FrameCommand::Status {} => Ok(self.status(config, around)),
            FrameCommand::Details { frame } => {
                Ok(FrameAnswer::detailed(self.named(frame.as_deref())?.clone()))
            }
            FrameCommand::Context { frame, tokens } => {
                let id = self.named(frame.as_deref())?.id.clone();
                let context =
                    self.context_of(&id, tokens.unwrap_or(config.context_tokens), config, around.now_ms)?;
                Ok(FrameAnswer { text: context.clone(), context: Some(context), ..FrameAnswer::default() })
            }
            FrameCommand::ShouldPush(request) => {
                let (config, warnings) = with(config, request.config.as_ref());
                let goal = request.potential_goal.clone().or_else(|| self.potential_goal());
                let advice = self.advise_push(request, &config, around)?;
                let page = render_push(&advice.evaluation, &self.id, &config, goal.as_deref());
                Ok(advised(advice, page, warnings))
            }
            FrameCommand::ShouldPop(request) => {
                let (config, warnings) = with(config, request.config.as_ref());
                let advice = self.advise_pop(request, &config, around)?;
                let page = render_pop(&advice.evaluation, &self.id, &config);
                Ok(advised(advice, page, warnings))
            }
            FrameCommand::Suggestions { history } => Ok(self.listed(*history, around)),
            FrameCommand::AutoSuggest(wanted) => self.auto_suggest(wanted, around),
            FrameCommand::Ignore { id } => {
                let known = self.suggestions.iter().any(|suggestion| suggestion.id == *id);
                let ignored = self.suggestions.ignore(id, around.now_ms).cloned();
                let missing = || {
                    if known {
                        FrameError::NotPending(id.clone())
                    } else {
                        FrameError::NoSuggestion(id.clone())
                    }
                };
                let suggestion = ignored.ok_or_else(missing)?;
                Ok(FrameAnswer::suggested(suggestion, "Turned down"))
            }
            FrameCommand::Feedback { id, useful } => {
                let judged = self.suggestions.judge(id, *useful).cloned();
                let suggestion = judged.ok_or_else(|| FrameError::NoSuggestion(id.clone()))?;
                Ok(FrameAnswer::suggested(
                    suggestion,
                    if *useful { "Marked useful" } else { "Marked not useful" },
                ))
            }
            FrameCommand::Stats {} => {
                let stats = StatsView::of(around.history.iter());
                let text = stats.text(config);
                Ok(FrameAnswer { stats: Some(stats), text, ..FrameAnswer::default() })
            }
            FrameCommand::Config(change) => self.configure(change, around),
            FrameCommand::Tune { apply, agent } => self.tune(*apply, agent.as_deref(), config, around),
            FrameCommand::State {} => {
                let mut answer = self.status(config, around);
                answer.frames = self.tree.listed().cloned().collect();
                answer.config = Some(ConfigView::of(config));
                answer.text = format!("{}\n{}", answer.text, tree_text(&self.tree));
                Ok(answer)
            }
        }
    }

    pub(super) fn push(&mut self, text: &str, by: By, around: &Around<'_>) -> Result<Frame, FrameError> {
        let text = goal(text)?;
        let id = self.next_id()?;
        let frame = self.undoable(by, around.now_ms, |session| {
            session.tree.push(id.clone(), text.clone())?;
            session.begin(&id, None, None, around);
            let acted = session.act(Family::Push, &text, around.now_ms);
            let frame = session.named(Some(&id))?.clone();
            Ok((
                frame,
                format!("push of {id}{}", FrameSession::said_by(by, "auto")),
                acted.map(|acted| acted.id),
            ))
        })?;
        if self.state.potential_goal.as_deref() == Some(frame.goal.as_str()) {
            self.state.potential_goal = None;
        }
        Ok(frame)
    }

    pub(super) fn pop(
        &mut self,
        status: PopStatus,
        summary: Option<String>,
        mut artifacts: Vec<String>,
        decisions: Vec<String>,
        by: By,
        around: &Around<'_>,
    ) -> Result<Frame, FrameError> {
        let id = self.named(None)?.id.clone();
        artifacts.extend(self.produced(&id));
        let frame = self.undoable(by, around.now_ms, |session| {
            session.tree.pop(Fold { status, summary, artifacts, decisions, log_path: None })?;
            session.end(&id, around.now_ms);
            let acted = session.act(Family::Pop, &id, around.now_ms);
            let frame = session.named(Some(&id))?.clone();
            Ok((
                frame,
                format!("pop of {id}{}", FrameSession::said_by(by, "auto")),
                acted.map(|acted| acted.id),
            ))
        })?;
        let summary = frame.summary.as_deref().map(|summary| format!(": {summary}")).unwrap_or_default();
        self.note(&id, format!("ended {status}{summary}"));
        Ok(frame)
    }

    fn plan(
        &mut self,
        goals: &[String],
        parent: Option<&str>,
        around: &Around<'_>,
    ) -> Result<Vec<Frame>, FrameError> {
        if goals.is_empty() {
            return Err(FrameError::Empty("goals"));
        }
        let goals: Vec<String> = goals.iter().map(|text| goal(text)).collect::<Result<_, _>>()?;
        let before = self.tree.clone();
        let planned = self.undoable(By::Asked, around.now_ms, |session| {
            let mut planned = Vec::new();
            for goal in goals {
                let id = session.next_id()?;
                planned.push(session.tree.plan(id, goal, parent)?.clone());
            }
            let ids: Vec<&str> = planned.iter().map(|frame| frame.id.as_str()).collect();
            let what = format!("plan of {}", ids.join(", "));
            Ok((planned, what, None))
        });
        if planned.is_err() {
            self.tree = before;
        }
        planned
    }

    fn activate(&mut self, id: &str, around: &Around<'_>) -> Result<Frame, FrameError> {
        self.undoable(By::Asked, around.now_ms, |session| {
            session.tree.activate(id)?;
            let begun: Vec<String> = std::iter::once(id.to_owned())
                .chain(
                    session
                        .tree
                        .ancestors(id)
                        .filter(|frame| frame.began_at_ms.is_none())
                        .map(|frame| frame.id.clone()),
                )
                .collect();
            for id in begun {
                session.begin(&id, None, None, around);
            }
            let goal = session.named(Some(id))?.goal.clone();
            let acted = session.act(Family::Push, &goal, around.now_ms);
            let frame = session.named(Some(id))?.clone();
            Ok((frame, format!("activation of {id}"), acted.map(|acted| acted.id)))
        })
    }

    /// The frame that was blocked or left last.
    fn resumable(&self) -> Option<String> {
        let current = self.tree.current().map(|frame| frame.id.as_str());
        let above: Vec<&str> = current
            .into_iter()
            .flat_map(|id| self.tree.ancestors(id))
            .map(|frame| frame.id.as_str())
            .collect();
        let waiting = |frame: &&Frame| {
            matches!(frame.status, FrameStatus::Blocked | FrameStatus::InProgress)
                && frame.agent_key.is_none()
                && Some(frame.id.as_str()) != current
                && !above.contains(&frame.id.as_str())
        };
        let latest =
            self.tree.frames().filter(waiting).max_by_key(|frame| frame.ended_at_ms.or(frame.began_at_ms));
        latest.map(|frame| frame.id.clone())
    }

    fn invalidate(
        &mut self,
        frame: Option<&str>,
        reason: &str,
        around: &Around<'_>,
    ) -> Result<FrameAnswer, FrameError> {
        let reason = bounded("reason", reason, super::GOAL_CHARS_MAX)?;
        let id = self.named(frame)?.id.clone();
        let outcome = self.undoable(By::Asked, around.now_ms, |session| {
            let outcome = session.tree.invalidate(&id, &reason)?;
            for id in &outcome.invalidated {
                session.end(id, around.now_ms);
            }
            Ok((outcome, format!("invalidation of {id}"), None))
        })?;
        let mut text = format!("Invalidated {}: {reason}\n", outcome.invalidated.join(", "));
        let mut warnings = Vec::new();
        if !outcome.still_in_progress.is_empty() {
            let warning = format!("still in progress below it: {}", outcome.still_in_progress.join(", "));
            text.push_str(&format!("Warning: {warning}\n"));
            warnings.push(warning);
        }
        for id in &outcome.invalidated {
            self.note(id, format!("invalidated: {reason}"));
        }
        Ok(FrameAnswer {
            frame: self.tree.get(&id).cloned().map(Box::new),
            invalidated: outcome.invalidated,
            still_in_progress: outcome.still_in_progress,
            warnings,
            text,
            ..FrameAnswer::default()
        })
    }

    fn record(&mut self, artifacts: Vec<String>, decisions: Vec<String>) -> Result<FrameAnswer, FrameError> {
        let lines: Vec<String> = artifacts
            .iter()
            .map(|text| format!("artifact: {text}"))
            .chain(decisions.iter().map(|text| format!("decision: {text}")))
            .collect();
        self.tree.record(artifacts, decisions)?;
        let frame = self.named(None)?.clone();
        for line in lines {
            self.note(&frame.id, line);
        }
        Ok(FrameAnswer::detailed(frame))
    }

    fn status(&self, config: &FrameConfig, around: &Around<'_>) -> FrameAnswer {
        let pending: Vec<Suggestion> = self.suggestions.pending(&self.id, around.now_ms).cloned().collect();
        let mut text = format!("# Session {}\n\n", escape::line(&self.id));
        match self.tree.current() {
            Some(frame) => {
                let path: Vec<&str> = self.tree.ancestors(&frame.id).map(|frame| frame.id.as_str()).collect();
                let path: Vec<&str> = path.into_iter().rev().chain([frame.id.as_str()]).collect();
                text.push_str(&format!(
                    "- **Current frame:** {} {}\n",
                    frame.id,
                    escape::quoted(&frame.goal)
                ));
                text.push_str(&format!("- **Path:** {}\n", path.join(" > ")));
            }
            None => text.push_str("- **Current frame:** none\n"),
        }
        let count = |status: FrameStatus| self.tree.frames().filter(|frame| frame.status == status).count();
        let counts: Vec<String> = FrameStatus::ALL
            .into_iter()
            .filter_map(|status| {
                Some(count(status)).filter(|count| *count > 0).map(|count| format!("{count} {status}"))
            })
            .collect();
        let counts = if counts.is_empty() { "none".to_owned() } else { counts.join(", ") };
        text.push_str(&format!("- **Frames:** {counts}\n- **Autonomy Level:** {}\n", config.level.name()));
        let frame = self.tree.current();
        if let Some(signals) = frame.map(|frame| &frame.signals).filter(|signals| !signals.is_empty()) {
            text.push_str(&format!(
                "- **Signals:** {} messages, {} files, {} errors, {} tokens, {} turns without progress\n",
                signals.messages,
                signals.files.len(),
                signals.errors,
                signals.tokens,
                signals.no_progress_turns
            ));
        }
        for suggestion in &pending {
            text.push_str(&format!("- {} `{}`\n", suggestion.text(), suggestion.id));
        }
        FrameAnswer { suggestions: pending, text, ..FrameAnswer::default() }
    }

    /// What an agent reads: the context of a frame, and after it what is suggested (F3).
    pub fn context_of(
        &self,
        id: &str,
        budget_tokens: usize,
        config: &FrameConfig,
        now_ms: u64,
    ) -> Result<String, FrameError> {
        let block = self.suggestions.block(&self.id, config, now_ms).unwrap_or_default();
        let room = budget_tokens.saturating_sub(crate::frame::estimate_tokens(&block));
        match assemble_context(&self.tree, id, room) {
            Ok(context) => Ok(format!("{context}{block}")),
            // A budget that is too small for both is for the context.
            Err(_) => Ok(assemble_context(&self.tree, id, budget_tokens)?),
        }
    }

    fn listed(&self, history: bool, around: &Around<'_>) -> FrameAnswer {
        let suggestions: Vec<Suggestion> = if history {
            around.history.clone()
        } else {
            self.suggestions.pending(&self.id, around.now_ms).cloned().collect()
        };
        let mut text = String::from("# Suggestions\n\n");
        if suggestions.is_empty() {
            text.push_str("There are none.\n");
        }
        for suggestion in &suggestions {
            let word =
                if suggestion.status == SuggestionStatus::Pending && !suggestion.is_pending(around.now_ms) {
                    SuggestionStatus::Expired.name()
                } else {
                    suggestion.status.name()
                };
            text.push_str(&format!("- `{}` {word}: {}\n", suggestion.id, suggestion.text()));
        }
        FrameAnswer { suggestions, text, ..FrameAnswer::default() }
    }

    fn auto_suggest(&mut self, wanted: &AutoSuggest, around: &Around<'_>) -> Result<FrameAnswer, FrameError> {
        let mut cleared = 0;
        if wanted.clear_pending {
            let pending: Vec<String> = self
                .suggestions
                .pending(&self.id, around.now_ms)
                .map(|suggestion| suggestion.id.clone())
                .collect();
            for id in pending {
                cleared += usize::from(self.suggestions.ignore(&id, around.now_ms).is_some());
            }
        }
        if let Some(enable) = wanted.enable {
            self.state.config.suggest_in_context = Some(enable);
        }
        let config = self.config(around.settings);
        let mut answer = self.listed(wanted.show_history, around);
        let mut head = format!(
            "# Auto-Suggest\n\n- **In context:** {}\n- **Autonomy Level:** {}\n",
            if config.suggest_in_context { "enabled" } else { "disabled" },
            config.level.name()
        );
        if wanted.clear_pending {
            head.push_str(&format!("- **Cleared:** {cleared}\n"));
        }
        answer.text = format!("{head}\n{}", answer.text);
        answer.config = Some(ConfigView::of(&config));
        Ok(answer)
    }

    fn configure(&mut self, change: &ConfigChange, around: &Around<'_>) -> Result<FrameAnswer, FrameError> {
        let mut patch = if change.reset { FrameConfigPatch::default() } else { self.state.config.clone() };
        patch.merge(change.patch());
        let mut config = around.settings.clone();
        let warnings = config.apply(&patch);
        if let Some(warning) = warnings.first() {
            // What a person or an agent says now is answered now; only settings from afar are let be.
            return Err(FrameError::BadConfig(warning.replace(", ignored", "")));
        }
        for (name, enable) in [(&change.enable_heuristic, true), (&change.disable_heuristic, false)] {
            let Some(name) = name.as_deref().map(str::trim) else { continue };
            if !config.knows(name) {
                let known: Vec<&str> = crate::heuristic::Heuristic::ALL
                    .iter()
                    .map(|heuristic| heuristic.name())
                    .chain(config.heuristics.keys().map(String::as_str))
                    .collect();
                return Err(FrameError::UnknownHeuristic { name: name.to_owned(), known: known.join(", ") });
            }
            let mut enabled = config.enabled();
            enabled.retain(|own| own != name);
            if enable {
                enabled.push(name.to_owned());
            }
            patch.enabled_heuristics = Some(enabled);
            let _ = config.apply(&patch);
        }
        self.state.config = patch;
        let config = self.config(around.settings);
        let view = ConfigView::of(&config);
        let text = view.text(&self.id);
        Ok(FrameAnswer { warnings: config.remarks(), config: Some(view), text, ..FrameAnswer::default() })
    }

    fn tune(
        &mut self,
        apply: bool,
        agent: Option<&str>,
        config: &FrameConfig,
        around: &Around<'_>,
    ) -> Result<FrameAnswer, FrameError> {
        let meant =
            |suggestion: &&Suggestion| agent.is_none_or(|agent| suggestion.agent.as_deref() == Some(agent));
        let tuning = tune::propose(around.history.iter().filter(meant), config, agent);
        let mut text = tuning.text();
        if apply && !tuning.is_nothing() {
            self.state.config.merge(tuning.patch());
            text.push_str("\nApplied to this session.\n");
        }
        Ok(FrameAnswer { tuning: Some(tuning), text, ..FrameAnswer::default() })
    }

    /// The frame that is named, or the current one.
    pub fn named(&self, id: Option<&str>) -> Result<&Frame, FrameError> {
        match id {
            Some(id) => Ok(self.tree.get(id).ok_or_else(|| TreeError::Unknown(id.to_owned()))?),
            None => Ok(self.tree.current().ok_or(TreeError::NoCurrent)?),
        }
    }
}

fn with(config: &FrameConfig, patch: Option<&FrameConfigPatch>) -> (FrameConfig, Vec<String>) {
    let mut config = config.clone();
    let warnings = patch.map(|patch| config.apply(patch)).unwrap_or_default();
    (config, warnings)
}

fn advised(advice: Advice, mut page: String, warnings: Vec<String>) -> FrameAnswer {
    if let Some(suggestion) = &advice.suggestion {
        let line = if advice.performed { suggestion.performed_text() } else { suggestion.text() };
        page.push_str(&format!("\n{line} `{}`\n", suggestion.id));
    }
    FrameAnswer {
        evaluation: Some(EvaluationView::of(&advice.evaluation)),
        performed: advice.performed,
        suggestion: advice.suggestion.map(Box::new),
        warnings,
        text: page,
        ..FrameAnswer::default()
    }
}
