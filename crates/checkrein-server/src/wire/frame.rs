use checkrein_store::SessionItem;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A session of frames in a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FrameSessionItem {
    pub id: String,
    /// Where the agent works, on the machine it works on
    pub directory: Option<String>,
    /// What tells of it, such as `claude-code`
    pub client: Option<String>,
    /// What its first frame is for
    pub goal: Option<String>,
    pub frames: u64,
    /// The frame that is worked in
    pub current: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl From<SessionItem> for FrameSessionItem {
    fn from(item: SessionItem) -> FrameSessionItem {
        let SessionItem { id, owner: _, directory, client, goal, frames, current, created_at, updated_at } =
            item;
        FrameSessionItem { id, directory, client, goal, frames, current, created_at, updated_at }
    }
}
