//! The forge of a job as programs see it.

use checkrein_core::run::job::{ForgeKind, Settled};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgeLink {
    pub kind: ForgeKind,
    /// As people open it in a browser; null while there is none
    pub url: Option<String>,
    pub number: Option<u64>,
    /// `merged` or `closed`; null while it is open
    #[schemars(with = "Option<String>")]
    pub settled: Option<Settled>,
    /// What keeps the job from its forge; it is tried again
    pub trouble: Option<String>,
}

impl From<checkrein_engine::ForgeLink> for ForgeLink {
    fn from(link: checkrein_engine::ForgeLink) -> ForgeLink {
        let checkrein_engine::ForgeLink { kind, url, number, settled, trouble } = link;
        ForgeLink { kind, url, number, settled, trouble }
    }
}
