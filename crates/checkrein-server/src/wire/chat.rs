//! Conversations about jobs, as programs see them.

pub use checkrein_core::companion::Message;
use checkrein_core::companion::{self, Draft, ProposalStatus, Proposed, Stage, ToolUse};
use checkrein_engine::{ChatPiece, ChatView};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A conversation about a job, or about one that is to be given.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Chat {
    /// None where nobody has said anything yet
    pub id: Option<String>,
    /// The job it is about; none before there is one
    pub run_id: Option<String>,
    pub stage: Stage,
    /// What the companion is good for at this stage
    pub about: String,
    /// Questions to begin with
    pub questions: Vec<String>,
    /// The tools its model has at this stage
    pub tools: Vec<String>,
    /// What the job is to be given, as far as it is written down
    pub draft: Draft,
    /// In the order they were said
    pub messages: Vec<Message>,
    /// Pass it as `after`; none when this was the last part
    pub next: Option<i64>,
    /// In the order they were made
    pub proposals: Vec<Proposal>,
    /// Who answers; none where a search does
    pub model: Option<String>,
    /// What is worth knowing about this conversation
    pub notes: Vec<String>,
}

/// A conversation that has led to no job yet.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OpenChat {
    pub id: String,
    /// Who began it
    pub by: String,
    /// What the job is to be, as far as it is written down
    pub draft: Draft,
    /// What was asked first
    pub first_question: Option<String>,
    pub created_at: Timestamp,
    /// When somebody last said something, or wrote something down
    pub updated_at: Timestamp,
}

/// Something the companion proposes, which a person does or does not.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Proposal {
    /// `p1`, `p2`, …
    pub id: String,
    /// The answer it was made in
    pub message: String,
    pub asked_by: String,
    pub kind: ProposalKind,
    /// The file it is about; a comment may be about the whole
    pub file: Option<String>,
    pub line: Option<u32>,
    /// The file as it is to be, or what the comment says
    pub text: String,
    /// The commit it was made on
    pub base: Option<String>,
    /// How the file would differ
    pub diff: Option<String>,
    pub status: ProposalStatus,
    pub made_at: Timestamp,
    pub settled_by: Option<String>,
    pub settled_at: Option<Timestamp>,
    /// What came of it: a commit, or the id of a comment
    pub outcome: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalKind {
    File,
    Comment,
}

/// What happens while an answer is written, piece by piece.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(rename = "ChatPiece")]
pub enum Piece {
    /// The question was taken down
    Asked { message: Message },
    /// The next words of the answer
    Text { text: String },
    /// What came so far does not count; this is what there is
    Anew { text: String },
    /// The companion looked at something
    Used { used: ToolUse },
    /// It proposed something
    Proposed { proposal: Box<Proposal> },
    /// What is written down of the job was changed
    Drafted { draft: Draft },
    /// The model is asked again after a while
    Waits { why: String },
    /// The answer has ended; nothing comes after that
    Answered { message: Message },
    /// A message as it is now, for whoever follows the conversation
    Said { message: Message },
    /// The job was given, and the conversation goes on in it; for whoever follows it
    Given { run_id: String },
}

impl From<ChatView> for Chat {
    fn from(view: ChatView) -> Chat {
        Chat {
            id: view.id,
            run_id: view.run.map(|run| run.to_string()),
            stage: view.stage,
            about: view.stage.about().to_owned(),
            questions: view.stage.questions().iter().map(ToString::to_string).collect(),
            tools: view.tools.iter().map(ToString::to_string).collect(),
            draft: view.draft,
            messages: view.messages,
            next: view.next,
            proposals: view.proposals.into_iter().map(Proposal::from).collect(),
            model: view.model,
            notes: view.notes,
        }
    }
}

impl From<checkrein_engine::OpenChat> for OpenChat {
    fn from(open: checkrein_engine::OpenChat) -> OpenChat {
        OpenChat {
            id: open.chat.id,
            by: open.chat.begun_by,
            draft: open.chat.draft,
            first_question: open.first_question,
            created_at: open.chat.created_at,
            updated_at: open.updated_at,
        }
    }
}

impl From<companion::Proposal> for Proposal {
    fn from(proposal: companion::Proposal) -> Proposal {
        let (kind, file, line, text, base, diff) = match proposal.proposed {
            Proposed::File { path, base, text, diff, .. } => {
                (ProposalKind::File, Some(path), None, text, Some(base), Some(diff))
            }
            Proposed::Comment { file, line, text } => (ProposalKind::Comment, file, line, text, None, None),
        };
        let (settled_by, settled_at) = proposal.settled.unzip();
        Proposal {
            id: proposal.id,
            message: proposal.message,
            asked_by: proposal.asked_by,
            kind,
            file,
            line,
            text,
            base,
            diff,
            status: proposal.status,
            made_at: proposal.made_at,
            settled_by,
            settled_at,
            outcome: proposal.outcome,
        }
    }
}

impl From<ChatPiece> for Piece {
    fn from(piece: ChatPiece) -> Piece {
        match piece {
            ChatPiece::Text(text) => Piece::Text { text },
            ChatPiece::Anew(text) => Piece::Anew { text },
            ChatPiece::Used(used) => Piece::Used { used },
            ChatPiece::Proposed(proposal) => Piece::Proposed { proposal: Box::new((*proposal).into()) },
            ChatPiece::Drafted(draft) => Piece::Drafted { draft },
            ChatPiece::Waits(why) => Piece::Waits { why },
        }
    }
}
