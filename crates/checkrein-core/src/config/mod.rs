//! The files and variables settings come from, read into typed values. Reading is pure: whoever
//! calls brings the text.

pub mod agent;
mod checkrein;
mod companion;
pub mod env;
mod expert;
mod forge;
mod idle;
pub mod model;
mod owner;
mod retention;
mod schema;
mod search;
mod settings;
mod tenant;
mod workflow;

pub use checkrein::{CheckreinFile, MachineShape, SandboxRule, ScopedAutonomy};
pub use companion::{CompanionShape, WebSearchShape};
pub use expert::{BUILTIN_EXPERTS, BuiltinExpert, Expert, ExpertFile, JobSettings};
pub use forge::ForgeShape;
pub use owner::Owner;
pub use retention::{Fate, Keep, Kept, fate};
pub use schema::{SCHEMAS, SchemaSource};
pub use search::{EmbeddingsShape, SearchShape};
pub use settings::{NamedBy, Settings, Subject};
pub use tenant::{Reviewer, Tenant, WorkerEntry};
pub use workflow::{Hook, HookKind, Phase, Step, Workflow, WorkflowFile};

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
