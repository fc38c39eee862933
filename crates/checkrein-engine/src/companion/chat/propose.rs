//! Proposals: made by the companion, done by people. Applying one is an act of its own, by somebody who is known; the
//! commit or the comment is in their name (X14).

use checkrein_core::companion::{Proposal, ProposalStatus, Proposed};
use checkrein_core::deliverable::Digest;
use checkrein_core::principal::Principal;
use checkrein_core::run::RunId;
use checkrein_core::run::job::NewComment;
use checkrein_forge::{EntryKind, ForgeError, TreePath};
use checkrein_store::NewProposal;

use super::{Asking, ChatOf};
use crate::authority::{Act, require};
use crate::job::{EDIT_BYTES_MAX, Edit, FileEdit, Reviewed, Side};
use crate::{Engine, EngineError};

/// More than so many in one conversation are nobody's to look through.
const PROPOSALS_MAX: usize = 500;
const COMMENT_BYTES_MAX: usize = 16 << 10;

/// A file on the branch of a review, as far as there is one.
struct There {
    head: String,
    text: Option<String>,
}

impl Engine {
    /// Proposes a whole file.
    pub(super) async fn propose_file(
        &self,
        asking: &Asking,
        run: &RunId,
        path: &str,
        text: &str,
    ) -> Result<Proposal, EngineError> {
        if path.trim().is_empty() {
            return Err(EngineError::Empty("path"));
        }
        if !TreePath::from(path).is_plain() {
            return Err(ForgeError::BadPath { path: TreePath::from(path) }.into());
        }
        if text.len() > EDIT_BYTES_MAX {
            return Err(EngineError::TooLong { what: path.to_owned(), bytes_max: EDIT_BYTES_MAX });
        }
        let reviewed = self.review(&asking.by, run.as_str()).await?;
        let there = self.there(&asking.by, &reviewed, path).await?;
        let proposed = Proposed::File {
            path: path.to_owned(),
            base: there.head,
            was: there.text.as_ref().map(|text| Digest::of(text.as_bytes()).to_string()),
            text: text.to_owned(),
            diff: difference(path, there.text.as_deref(), text),
        };
        self.keep_proposal(asking, proposed).await
    }

    /// Proposes to replace one text by another in a file.
    pub(super) async fn propose_edit(
        &self,
        asking: &Asking,
        run: &RunId,
        path: &str,
        (old, new): (&str, &str),
    ) -> Result<Proposal, EngineError> {
        let reviewed = self.review(&asking.by, run.as_str()).await?;
        let there = self.there(&asking.by, &reviewed, path).await?;
        let Some(text) = there.text else {
            return Err(EngineError::NoFile { path: path.to_owned(), commit: there.head });
        };
        match text.matches(old).count() {
            1 if !old.is_empty() => self.propose_file(asking, run, path, &text.replacen(old, new, 1)).await,
            times => Err(EngineError::NotOnce { path: path.to_owned(), times }),
        }
    }

    pub(super) async fn propose_comment(
        &self,
        asking: &Asking,
        file: Option<&str>,
        line: Option<u32>,
        text: &str,
    ) -> Result<Proposal, EngineError> {
        if text.trim().is_empty() {
            return Err(EngineError::Empty("text"));
        }
        if text.len() > COMMENT_BYTES_MAX {
            return Err(EngineError::TooLong { what: "text".to_owned(), bytes_max: COMMENT_BYTES_MAX });
        }
        if let Some(run) = &asking.run {
            let about = NewComment { file: file.map(str::to_owned), line, ..NewComment::default() };
            self.check_comments(&self.load_run(run).await?, &[about]).await?;
        }
        let line = line.filter(|_| file.is_some());
        let proposed = Proposed::Comment { file: file.map(str::to_owned), line, text: text.to_owned() };
        self.keep_proposal(asking, proposed).await
    }

    async fn keep_proposal(&self, asking: &Asking, proposed: Proposed) -> Result<Proposal, EngineError> {
        if self.store.proposals(&asking.chat).await?.len() >= PROPOSALS_MAX {
            return Err(EngineError::TooManyProposals(PROPOSALS_MAX));
        }
        let new = NewProposal {
            chat: asking.chat.clone(),
            message: asking.answer.clone(),
            asked_by: asking.by.name.clone(),
            proposed,
            at: self.now(),
        };
        let id = self.store.propose(new).await?;
        let kept = self.store.proposal(&asking.chat, &id).await?;
        kept.ok_or(EngineError::NoProposal(id))
    }

    /// Does what was proposed, in the name of whoever says so: a commit, a comment, or words to the agent.
    pub async fn apply_proposal(&self, by: &Principal, run: &str, id: &str) -> Result<Proposal, EngineError> {
        let (chat, run, proposal) = self.proposal_of(by, run, id).await?;
        require(by, takes(&proposal))?;
        if proposal.status == ProposalStatus::Applied {
            return Ok(proposal);
        }
        open(&proposal)?;
        let outcome = match &proposal.proposed {
            Proposed::File { .. } => self.apply_file(by, &run, &proposal).await?,
            Proposed::Comment { file, line, text } => {
                let comment = NewComment {
                    text: text.clone(),
                    file: file.clone(),
                    line: *line,
                    // Whoever died before they were answered posts it again, and it is there once.
                    key: Some(format!("chat {chat} {id}")),
                    ..NewComment::default()
                };
                self.apply_comment(by, &run, comment).await?
            }
        };
        self.settled(by, (chat, id), ProposalStatus::Applied, Some(outcome)).await
    }

    /// Says that a proposal will not be done.
    pub async fn discard_proposal(
        &self,
        by: &Principal,
        run: &str,
        id: &str,
    ) -> Result<Proposal, EngineError> {
        require(by, Act::Ask)?;
        let (chat, _, proposal) = self.proposal_of(by, run, id).await?;
        if proposal.status == ProposalStatus::Discarded {
            return Ok(proposal);
        }
        open(&proposal)?;
        self.settled(by, (chat, id), ProposalStatus::Discarded, None).await
    }

    async fn proposal_of(
        &self,
        by: &Principal,
        run: &str,
        id: &str,
    ) -> Result<(String, RunId, Proposal), EngineError> {
        let (row, view) = self.chat_seen(by, &ChatOf::Run(run.to_owned())).await?;
        let none = || EngineError::NoProposal(id.to_owned());
        let (row, view) = (row.ok_or_else(none)?, view.ok_or_else(none)?);
        let proposal = self.store.proposal(&row.id, id).await?.ok_or_else(none)?;
        Ok((row.id, view.run.id, proposal))
    }

    async fn settled(
        &self,
        by: &Principal,
        (chat, id): (String, &str),
        status: ProposalStatus,
        outcome: Option<String>,
    ) -> Result<Proposal, EngineError> {
        let who = (by.name.clone(), self.now());
        let first = self.store.settle_proposal((chat.clone(), id.to_owned()), status, who, outcome).await?;
        let now =
            self.store.proposal(&chat, id).await?.ok_or_else(|| EngineError::NoProposal(id.to_owned()))?;
        // Of two who do the same at once both have done it.
        if first || now.status == status { Ok(now) } else { Err(over(&now)) }
    }

    async fn apply_file(
        &self,
        by: &Principal,
        run: &RunId,
        proposal: &Proposal,
    ) -> Result<String, EngineError> {
        let Proposed::File { path, was, text, .. } = &proposal.proposed else {
            return Err(EngineError::NoProposal(proposal.id.clone()));
        };
        let reviewed = self.review(by, run.as_str()).await?;
        let there = self.there(by, &reviewed, path).await?;
        if there.text.as_ref() == Some(text) {
            return Ok(there.head);
        }
        let now = there.text.as_ref().map(|text| Digest::of(text.as_bytes()).to_string());
        if now != *was {
            return Err(EngineError::StaleProposal { id: proposal.id.clone(), path: path.clone() });
        }
        let (path, content) = (path.clone(), text.clone());
        let (word, file) = match was {
            Some(_) => ("edit", FileEdit::Write { path: path.clone(), content }),
            None => ("add", FileEdit::Create { path: path.clone(), content }),
        };
        let message = format!(
            "{word} {path}\n\nProposed by the companion ({}), asked by {}.",
            proposal.id, proposal.asked_by
        );
        let edit = Edit { head: there.head, message: Some(message), files: vec![file] };
        let edited = self.edit_files(by, reviewed.checkpoint.checkpoint.id.as_str(), &edit).await?;
        Ok(edited.head)
    }

    /// On the review the job waits at; to its agent where it waits at none.
    async fn apply_comment(
        &self,
        by: &Principal,
        run: &RunId,
        comment: NewComment,
    ) -> Result<String, EngineError> {
        let view = self.load_run(run).await?;
        if view.checkpoint.is_some() {
            return Ok(self.comment(by, run.as_str(), comment, None).await?.id);
        }
        if let Some(said) = comment.key.as_deref().and_then(|key| view.said(key)) {
            return Ok(said.id.clone());
        }
        let text = match (&comment.file, comment.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: {}", comment.text),
            (Some(file), None) => format!("{file}: {}", comment.text),
            _ => comment.text.clone(),
        };
        let told = NewComment { text, key: comment.key, ..NewComment::default() };
        let (_, said) = self.tell_agent(by, run.clone(), told).await?;
        Ok(said.id)
    }

    async fn there(&self, by: &Principal, reviewed: &Reviewed, path: &str) -> Result<There, EngineError> {
        let head =
            reviewed.asked().get("head").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        if !reviewed.open {
            return Err(EngineError::ReviewOver(reviewed.checkpoint.checkpoint.id.clone()));
        }
        match self.review_file(by, reviewed, path, Side::Head).await {
            Ok(file) if matches!(file.kind, EntryKind::File | EntryKind::Executable) => match file.text() {
                Some(text) => Ok(There { head, text: Some(text.to_owned()) }),
                None => Err(EngineError::NotAText(path.to_owned())),
            },
            Ok(_) => Err(EngineError::NotAText(path.to_owned())),
            Err(EngineError::NoFile { .. }) => Ok(There { head, text: None }),
            Err(error) => Err(error),
        }
    }
}

/// What doing it takes.
const fn takes(proposal: &Proposal) -> Act {
    match proposal.proposed {
        Proposed::File { .. } => Act::PushToBranches,
        Proposed::Comment { .. } => Act::Comment,
    }
}

/// Refuses what was settled before.
fn open(proposal: &Proposal) -> Result<(), EngineError> {
    match proposal.status {
        ProposalStatus::Proposed => Ok(()),
        ProposalStatus::Applied | ProposalStatus::Discarded => Err(over(proposal)),
    }
}

fn over(proposal: &Proposal) -> EngineError {
    let by = proposal.settled.as_ref().map_or_else(String::new, |(by, _)| by.clone());
    EngineError::ProposalOver { id: proposal.id.clone(), status: proposal.status, by }
}

fn difference(path: &str, old: Option<&str>, new: &str) -> String {
    let before = if old.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    let diff = similar::TextDiff::from_lines(old.unwrap_or_default(), new);
    diff.unified_diff().context_radius(3).header(&before, &format!("b/{path}")).to_string()
}
