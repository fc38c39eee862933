//! What clients tell of a session, turned into signals.

use super::{Around, By, FrameSession, GOAL_CHARS_MAX, NEWS_MAX};
use crate::frame::signals::{Observation, Signals};
use crate::frame::status::{FrameStatus, PopStatus};
use crate::frame::tree::Fold;

/// Which sub-agent something is told of; the session's own agent if nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Who<'a> {
    pub key: Option<&'a str>,
    pub agent: Option<&'a str>,
}

impl FrameSession {
    /// Takes in what happened. Whatever it is, it never fails: a client must not be kept from its
    /// work.
    pub fn observe(&mut self, who: Who<'_>, observation: Observation, around: &Around<'_>) {
        match observation {
            Observation::Prompt(text) => self.prompt(&text, around),
            Observation::Messages(count) => self.measure(who, |signals| {
                signals.messages = signals.messages.saturating_add(count);
            }),
            Observation::Tool(tool) => {
                if let Some(frame) = self.frame_of(who) {
                    let on = if tool.on.is_empty() { String::new() } else { format!(" {}", tool.on) };
                    let outcome = match (&tool.error, &tool.success) {
                        (Some(error), _) => format!(" failed: {error}"),
                        (None, Some(success)) => format!(": {success}"),
                        (None, None) => String::new(),
                    };
                    self.note(&frame, format!("tool {}{on}{outcome}", tool.name));
                }
                self.measure(who, |signals| signals.use_tool(&tool));
            }
            Observation::Usage(usage) => self.measure(who, |signals| signals.spend(usage)),
            Observation::TurnEnded => self.measure(who, Signals::end_turn),
            Observation::AgentBegan { key, goal, agent } => self.begin_agent(&key, &goal, agent, around),
            Observation::AgentEnded { key, summary, failed } => {
                self.end_agent(&key, summary, failed, around);
            }
            Observation::Remark(text) => {
                if let Some(frame) = self.frame_of(who) {
                    self.note(&frame, text);
                }
            }
        }
    }

    /// The first prompt is what the session is for; a later one may be another goal.
    fn prompt(&mut self, text: &str, around: &Around<'_>) {
        self.state.turns = self.state.turns.saturating_add(1);
        let asked = goal_of(text);
        if self.tree.current().is_none()
            && self.tree.roots().all(|root| root.status.is_closed())
            && !asked.is_empty()
            && let Ok(id) = self.next_id()
            && self.tree.push(id.clone(), asked.clone()).is_ok()
        {
            self.begin(&id, None, None, around);
        } else if !asked.is_empty() {
            let same = self.tree.current().is_some_and(|frame| frame.goal == asked);
            self.state.potential_goal = (!same).then_some(asked);
        }
        self.measure(Who::default(), |signals| signals.messages = signals.messages.saturating_add(1));
        if let Some(frame) = self.frame_of(Who::default()) {
            self.note(&frame, format!("prompt {}", text.trim()));
        }
    }

    fn begin_agent(&mut self, key: &str, goal: &str, agent: Option<String>, around: &Around<'_>) {
        let known = self.tree.frames().any(|frame| frame.agent_key.as_deref() == Some(key));
        if known || self.tree.current().is_none() {
            return;
        }
        let goal = match goal_of(goal) {
            goal if goal.is_empty() => agent.clone().unwrap_or_else(|| "sub-agent".to_owned()),
            goal => goal,
        };
        if let Ok(id) = self.next_id()
            && self.tree.begin_aside(id.clone(), goal).is_ok()
        {
            self.begin(&id, agent, Some(key.to_owned()), around);
        }
    }

    fn end_agent(&mut self, key: &str, summary: Option<String>, failed: bool, around: &Around<'_>) {
        let open = self
            .tree
            .frames()
            .find(|frame| frame.agent_key.as_deref() == Some(key) && frame.status == FrameStatus::InProgress);
        let Some(id) = open.map(|frame| frame.id.clone()) else { return };
        let status = if failed { PopStatus::Failed } else { PopStatus::Completed };
        let summary = summary.map(|text| text.chars().take(super::SUMMARY_CHARS_MAX).collect());
        let fold =
            Fold { status, summary, artifacts: self.produced(&id), decisions: Vec::new(), log_path: None };
        if self.tree.fold_aside(&id, fold).is_ok() {
            self.end(&id, around.now_ms);
            self.note(&id, format!("ended {status}"));
        }
    }

    /// Marks a frame in which work begins.
    pub(super) fn begin(
        &mut self,
        id: &str,
        agent: Option<String>,
        key: Option<String>,
        around: &Around<'_>,
    ) {
        let mut goal = String::new();
        if let Some(frame) = self.tree.frame_mut(id) {
            frame.began_at_ms.get_or_insert(around.now_ms);
            frame.ended_at_ms = None;
            frame.log_path.get_or_insert_with(|| (around.log_path)(id));
            frame.agent = agent.or(frame.agent.take());
            frame.agent_key = key.or(frame.agent_key.take());
            goal.clone_from(&frame.goal);
        }
        self.note(id, format!("began: {goal}"));
    }

    pub(super) fn end(&mut self, id: &str, now_ms: u64) {
        if let Some(frame) = self.tree.frame_mut(id) {
            frame.ended_at_ms = Some(now_ms);
        }
    }

    /// What a frame changed counts as what it produced.
    pub(super) fn produced(&self, id: &str) -> Vec<String> {
        self.tree.get(id).map(|frame| frame.signals.files.clone()).unwrap_or_default()
    }

    pub(super) fn tell_news(&mut self, text: String) {
        if self.state.news.len() >= NEWS_MAX {
            self.state.news.remove(0);
        }
        self.state.news.push(text);
    }

    /// Advises after something happened: queues, or performs where the level says so.
    pub fn consider(&mut self, around: &Around<'_>) {
        let config = self.config(around.settings);
        if config.level == crate::frame::FrameLevel::Manual {
            return;
        }
        let mut moved = false;
        if let Some(goal) = self.potential_goal() {
            let request = crate::frame::PushRequest { potential_goal: Some(goal), ..Default::default() };
            moved = self.advise_push(&request, &config, around).is_ok_and(|advice| advice.performed);
        }
        // One move at a time: what was just begun is not ended in the same breath.
        if !moved {
            let _ = self.advise_pop(&crate::frame::PopRequest::default(), &config, around);
        }
    }

    /// What was asked for last, else what is planned next, else what keeps failing.
    pub(super) fn potential_goal(&self) -> Option<String> {
        let current = self.tree.current()?;
        let planned = || {
            let mut children = self.tree.children(&current.id);
            children.find(|child| child.status == FrameStatus::Planned).map(|child| child.goal.clone())
        };
        self.state.potential_goal.clone().or_else(planned).or_else(|| repair_goal(&current.signals))
    }

    fn frame_of(&self, who: Who<'_>) -> Option<String> {
        let open = || self.tree.frames().rev().filter(|frame| frame.status == FrameStatus::InProgress);
        let by_key = who.key.and_then(|key| open().find(|frame| frame.agent_key.as_deref() == Some(key)));
        let by_type = || {
            let agent = who.agent?;
            open().find(|frame| frame.agent_key.is_some() && frame.agent.as_deref() == Some(agent))
        };
        let frame = by_key.or_else(by_type).or_else(|| self.tree.current())?;
        Some(frame.id.clone())
    }

    fn measure(&mut self, who: Who<'_>, work: impl FnOnce(&mut Signals)) {
        let frame = self.frame_of(who);
        if let Some(frame) = frame.and_then(|id| self.tree.frame_mut(&id)) {
            work(&mut frame.signals);
        }
    }

    pub(super) fn said_by(by: By, suggestion: &str) -> String {
        match by {
            By::Asked => String::new(),
            By::Auto => format!(" (automatically, {suggestion})"),
        }
    }
}

/// An agent that meets one error after the other has a goal nobody named: the first of them, so that
/// the ones that follow from it don't change it.
pub(super) fn repair_goal(signals: &Signals) -> Option<String> {
    let failure = signals.failures.first().filter(|_| signals.recent_errors >= ERRORS_IN_A_ROW)?;
    let failure: String = goal_of(failure).chars().take(REPAIR_CHARS_MAX).collect();
    Some(format!("{REPAIR}{}", failure.trim_end())).filter(|_| !failure.is_empty())
}

/// What is put before an error to make a goal of it; nobody's word.
pub(super) const REPAIR: &str = "Fix ";
const REPAIR_CHARS_MAX: usize = 76;

/// Fewer errors are part of ordinary work.
const ERRORS_IN_A_ROW: u64 = 4;

/// The first line that says something, not too long for a goal.
fn goal_of(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('/'));
    let line: String = line.unwrap_or_default().chars().take(GOAL_CHARS_MAX.min(200)).collect();
    line.trim().to_owned()
}
