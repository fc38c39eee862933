//! In whose name a commit is made.

use crate::error::ForgeError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    name: String,
    email: String,
}

impl Identity {
    pub fn new(name: &str, email: &str) -> Result<Identity, ForgeError> {
        let plain = |text: &str| !text.trim().is_empty() && !text.contains(['<', '>', '\n', '\r', '\0']);
        if plain(name) && plain(email) {
            Ok(Identity { name: name.trim().to_owned(), email: email.trim().to_owned() })
        } else {
            Err(ForgeError::BadIdentity { text: format!("{name} <{email}>") })
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn email(&self) -> &str {
        &self.email
    }

    pub fn at(&self, at_seconds: i64) -> Signature {
        Signature { identity: self.clone(), at_seconds }
    }
}

/// Who and when. Time is an argument, so the same work twice is the same commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub identity: Identity,
    /// Seconds since 1970; git has no others, and none before.
    pub at_seconds: i64,
}

impl Signature {
    /// As it stands in a commit.
    pub(crate) fn line(&self) -> String {
        format!("{} <{}> {} +0000", self.identity.name, self.identity.email, self.seconds())
    }

    /// A time git accepts: others wrote some of them, and one in a far future would end every merge.
    fn seconds(&self) -> i64 {
        self.at_seconds.clamp(0, LAST_SECOND)
    }

    pub(crate) fn environment(&self, role: Role) -> [(String, String); 3] {
        let role = match role {
            Role::Author => "AUTHOR",
            Role::Committer => "COMMITTER",
        };
        [
            (format!("GIT_{role}_NAME"), self.identity.name.clone()),
            (format!("GIT_{role}_EMAIL"), self.identity.email.clone()),
            (format!("GIT_{role}_DATE"), format!("@{} +0000", self.seconds())),
        ]
    }
}

/// The end of the year 9999.
const LAST_SECOND: i64 = 253_402_300_799;

#[derive(Clone, Copy)]
pub(crate) enum Role {
    Author,
    Committer,
}
