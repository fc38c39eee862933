//! Who acts: a person, an agent, a program, each with a role.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    pub name: String,
    pub kind: PrincipalKind,
    pub role: Role,
    /// The id of the token that proved it; none where the machine's word was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The one worker it speaks for; none is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

impl Principal {
    pub fn new(name: impl Into<String>, kind: PrincipalKind, role: Role) -> Principal {
        Principal { name: name.into(), kind, role, token: None, worker: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PrincipalKind {
    Person,
    Agent,
    Program,
}

/// What a principal may do. Each role may do what the one before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Viewer,
    Agent,
    Reviewer,
    Admin,
}

impl Role {
    pub const ALL: [Role; 4] = [Role::Viewer, Role::Agent, Role::Reviewer, Role::Admin];

    pub const fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Agent => "agent",
            Role::Reviewer => "reviewer",
            Role::Admin => "admin",
        }
    }

    pub fn parse(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == word)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PrincipalKind {
    /// Who usually has a role.
    pub const fn of_role(role: Role) -> PrincipalKind {
        match role {
            Role::Agent => PrincipalKind::Agent,
            Role::Viewer => PrincipalKind::Program,
            Role::Reviewer | Role::Admin => PrincipalKind::Person,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            PrincipalKind::Person => "person",
            PrincipalKind::Agent => "agent",
            PrincipalKind::Program => "program",
        }
    }

    pub fn parse(word: &str) -> Option<PrincipalKind> {
        [PrincipalKind::Person, PrincipalKind::Agent, PrincipalKind::Program]
            .into_iter()
            .find(|kind| kind.name() == word)
    }
}
