//! What people said in the forge, and which of it is a verdict (L9, X10, X11). Nothing is done here.

use checkrein_core::checkpoint::Verdict;
use checkrein_core::config::ForgeShape;
use checkrein_core::run::job::Shown;
use checkrein_forge::{Opinion, Remark, Says};
use jiff::Timestamp;

/// What is known when people are listened to.
pub(super) struct Standing<'a> {
    pub shape: &'a ForgeShape,
    /// Our own account, whose words are nobody's.
    pub login: &'a str,
    /// The commit under review.
    pub head: &'a str,
    /// What the agent last showed.
    pub shown: Option<&'a Shown>,
    pub heard: &'a [String],
}

/// A verdict somebody gave in the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub id: String,
    pub by: String,
    pub verdict: Verdict,
    pub reason: Option<String>,
    /// The commit that was looked at, where that is known.
    pub commit: Option<String>,
    pub start_over: bool,
}

/// Words that are no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub id: String,
    pub by: String,
    pub text: String,
}

/// Something that was meant as a verdict and is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Vain {
    pub id: String,
    pub why: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Weighed {
    pub verdict: Option<Given>,
    /// Bodies of opinions, for the agent.
    pub words: Vec<Said>,
    pub vain: Vec<Vain>,
}

/// How a comment begins that is meant for Checkrein.
const COMMAND: &str = "/checkrein";

impl Standing<'_> {
    /// Who said it here, if it counts and is new.
    fn person(&self, login: &str, id: &str) -> Option<String> {
        if login.eq_ignore_ascii_case(self.login) || self.heard.iter().any(|heard| heard == id) {
            return None;
        }
        self.shape.person(login).map(str::to_owned)
    }

    /// Whether somebody who spoke then can have meant what is shown now.
    fn is_of_now(&self, at: Option<Timestamp>) -> bool {
        match (at, self.shown) {
            (Some(at), Some(shown)) => at.as_second() >= shown.at.as_second(),
            _ => false,
        }
    }

    fn is_known(&self, commit: &str) -> bool {
        commit == self.head || self.shown.is_some_and(|shown| shown.head == commit)
    }
}

/// The last word of each person counts; of several people's the strictest.
pub(super) fn weigh(standing: &Standing<'_>, opinions: &[Opinion], remarks: &[Remark]) -> Weighed {
    let mut weighed = Weighed::default();
    let mut given: Vec<(Option<Timestamp>, Given)> = Vec::new();
    for opinion in opinions {
        let Some(by) = standing.person(&opinion.by, &opinion.id) else { continue };
        let words = || Said { id: opinion.id.clone(), by: by.clone(), text: opinion.body.trim().to_owned() };
        let commit = opinion.commit.as_deref().unwrap_or_default();
        let verdict = match opinion.says {
            Says::Nothing => continue,
            Says::Approve if commit == standing.head => Verdict::Approve,
            Says::RequestChanges if standing.is_known(commit) || standing.is_of_now(opinion.at) => {
                Verdict::RequestChanges
            }
            // Whoever says so now looked at something else, and should know.
            Says::Approve if standing.is_of_now(opinion.at) => {
                let why = format!(
                    "it approves commit {}, and what is under review is commit {}; look at it, then approve that",
                    short(commit),
                    short(standing.head)
                );
                weighed.vain.push(Vain { id: opinion.id.clone(), why });
                if !opinion.body.trim().is_empty() {
                    weighed.words.push(words());
                }
                continue;
            }
            // Of something older: what was said about it may still help.
            Says::Approve | Says::RequestChanges | Says::Comment => {
                weighed.words.push(words());
                continue;
            }
        };
        let reason = Some(opinion.body.trim().to_owned()).filter(|reason| !reason.is_empty());
        let (id, commit) = (opinion.id.clone(), opinion.commit.clone());
        given.push((opinion.at, Given { id, by, verdict, reason, commit, start_over: false }));
    }
    for remark in remarks {
        let Some(by) = standing.person(&remark.by, &remark.id) else { continue };
        let Some(command) = command_of(&remark.body) else { continue };
        match commanded(standing, remark, &by, command) {
            Ok(one) => given.push((remark.at, one)),
            Err(why) => weighed.vain.push(Vain { id: remark.id.clone(), why }),
        }
    }
    given.sort_by_key(|(at, _)| *at);
    let mut last: Vec<Given> = Vec::new();
    for (_, one) in given {
        last.retain(|known| known.by != one.by);
        last.push(one);
    }
    let strictness = |verdict: Verdict| match verdict {
        Verdict::Approve => 0,
        Verdict::RequestChanges => 1,
        Verdict::Reject => 2,
    };
    last.sort_by_key(|one| strictness(one.verdict));
    weighed.verdict = last.pop();
    weighed
}

/// Whether a remark is meant for Checkrein, and what it says then.
pub(super) fn command_of(body: &str) -> Option<&str> {
    let rest = body.trim_start().strip_prefix(COMMAND)?;
    rest.starts_with(|next: char| next.is_whitespace()).then(|| rest.trim())
}

fn commanded(standing: &Standing<'_>, remark: &Remark, by: &str, command: &str) -> Result<Given, String> {
    let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let rest = rest.trim();
    let given = |verdict: Verdict, reason: Option<String>, start_over: bool| Given {
        id: remark.id.clone(),
        by: by.to_owned(),
        verdict,
        reason,
        commit: None,
        start_over,
    };
    let because = |what: &str| match rest {
        "" => Err(format!("`{COMMAND} {word}` needs words: say {what} behind it")),
        said => Ok(Some(said.to_owned())),
    };
    match word {
        "approve" if rest.is_empty() && !standing.is_of_now(remark.at) => Err(format!(
            "this was said before what is shown now was there; look at it, then say `{COMMAND} approve {}`",
            short(standing.head)
        )),
        "approve" if rest.is_empty() => Ok(given(Verdict::Approve, None, false)),
        "approve" => {
            let named = rest.split_whitespace().next().unwrap_or_default().to_lowercase();
            if named.len() >= 7 && standing.head.starts_with(&named) {
                Ok(Given { commit: Some(standing.head.to_owned()), ..given(Verdict::Approve, None, false) })
            } else {
                Err(format!("what is under review is commit {}, not `{named}`", short(standing.head)))
            }
        }
        "request-changes" => Ok(given(Verdict::RequestChanges, because("what is to be changed")?, false)),
        "start-over" => Ok(given(Verdict::RequestChanges, because("what is to be done otherwise")?, true)),
        "reject" => Ok(given(Verdict::Reject, because("why")?, false)),
        _ => Err(format!(
            "`{COMMAND}` takes `approve`, `approve COMMIT`, `request-changes WHAT`, `start-over WHAT` and `reject WHY`"
        )),
    }
}

fn short(commit: &str) -> String {
    commit.chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const OLD: &str = "1111111111111111111111111111111111111111";
    const NOW: &str = "2222222222222222222222222222222222222222";

    fn at(minute: u32) -> Option<Timestamp> {
        Some(format!("2026-03-01T12:{minute:02}:00Z").parse().unwrap())
    }

    fn opinion(id: &str, by: &str, says: Says, commit: &str, minute: u32) -> Opinion {
        let body = if says == Says::Approve { "" } else { "no" };
        let (id, by, body) = (id.to_owned(), by.to_owned(), body.to_owned());
        Opinion { id, by, says, body, commit: Some(commit.to_owned()), at: at(minute) }
    }

    fn remark(id: &str, by: &str, body: &str, minute: u32) -> Remark {
        let (id, by, body) = (id.to_owned(), by.to_owned(), body.to_owned());
        Remark { id, by, body, place: None, reply_to: None, at: at(minute) }
    }

    fn check(opinions: &[Opinion], remarks: &[Remark], expected: &str) {
        let people = BTreeMap::from([
            ("ann-b".into(), "ann".into()),
            ("bob".into(), "bob".into()),
            ("bot".into(), "x".into()),
        ]);
        let shape = ForgeShape { people, ..ForgeShape::default() };
        let shown = Shown { head: NOW.to_owned(), at: at(10).unwrap() };
        let heard = ["heard".to_owned()];
        let standing =
            Standing { shape: &shape, login: "Bot", head: NOW, shown: Some(&shown), heard: &heard };
        let weighed = weigh(&standing, opinions, remarks);
        let verdict = weighed.verdict.map_or("nothing".to_owned(), |given| {
            let commit = given.commit.map(|commit| commit.chars().take(2).collect::<String>());
            let over = if given.start_over { " anew" } else { "" };
            format!("{} {:?}{over} {}", given.by, given.verdict, commit.unwrap_or_default())
        });
        let words = weighed.words.len();
        assert_eq!(format!("{} {words} {}", verdict.trim(), weighed.vain.len()), expected);
    }

    #[test]
    fn what_is_a_verdict() {
        use Says::{Approve, Comment, Nothing, RequestChanges};
        let one = |by: &str, says, commit: &str| [opinion("1", by, says, commit, 11)];
        check(&one("ann-b", Approve, NOW), &[], "ann Approve 22 0 0");
        check(&one("ANN-B", Approve, NOW), &[], "ann Approve 22 0 0");
        check(&one("ann-b", RequestChanges, NOW), &[], "ann RequestChanges 22 0 0");
        check(&one("ann-b", Approve, OLD), &[], "nothing 0 1");
        check(&[opinion("1", "ann-b", Approve, OLD, 5)], &[], "nothing 1 0");
        check(&one("ann-b", Comment, NOW), &[], "nothing 1 0");
        check(&one("ann-b", Nothing, NOW), &[], "nothing 0 0");
        // Nobody here, and our own account although it is among the people.
        check(&one("zoe", Approve, NOW), &[], "nothing 0 0");
        check(&one("bot", Approve, NOW), &[], "nothing 0 0");
        // Once is enough, and what was said of an older commit before is no verdict now.
        check(&[opinion("heard", "ann-b", Approve, NOW, 11)], &[], "nothing 0 0");
        check(&[opinion("1", "ann-b", RequestChanges, OLD, 5)], &[], "nothing 1 0");
        check(&[opinion("1", "ann-b", RequestChanges, OLD, 15)], &[], "ann RequestChanges 11 0 0");
        // The last word of one person, the strictest of several.
        let two = |first, second, by: &str| {
            [opinion("1", "ann-b", first, NOW, 11), opinion("2", by, second, NOW, 12)]
        };
        check(&two(RequestChanges, Approve, "ann-b"), &[], "ann Approve 22 0 0");
        check(&two(Approve, RequestChanges, "ann-b"), &[], "ann RequestChanges 22 0 0");
        check(&two(RequestChanges, Approve, "bob"), &[], "ann RequestChanges 22 0 0");
        check(&two(Approve, RequestChanges, "bob"), &[], "bob RequestChanges 22 0 0");
    }

    #[test]
    fn what_a_command_says() {
        for (by, body, minute, expected) in [
            ("ann-b", "/checkrein approve", 11, "ann Approve 0 0"),
            ("ann-b", "/checkrein approve", 10, "ann Approve 0 0"),
            ("ann-b", "/checkrein approve", 9, "nothing 0 1"),
            ("ann-b", "/checkrein approve 2222222", 9, "ann Approve 22 0 0"),
            ("ann-b", "/checkrein approve 2222", 11, "nothing 0 1"),
            ("ann-b", "/checkrein approve 1111111111", 11, "nothing 0 1"),
            ("ann-b", "  /checkrein request-changes shorter, please", 11, "ann RequestChanges 0 0"),
            ("ann-b", "/checkrein request-changes", 11, "nothing 0 1"),
            ("ann-b", "/checkrein start-over another way", 11, "ann RequestChanges anew 0 0"),
            ("ann-b", "/checkrein reject no use", 11, "ann Reject 0 0"),
            ("ann-b", "/checkrein aprove", 11, "nothing 0 1"),
            ("ann-b", "/checkreinapprove", 11, "nothing 0 0"),
            ("ann-b", "say /checkrein approve", 11, "nothing 0 0"),
            ("ann-b", "[APPROVE] fine", 11, "nothing 0 0"),
            ("zoe", "/checkrein approve", 11, "nothing 0 0"),
            ("bot", "/checkrein approve", 11, "nothing 0 0"),
        ] {
            check(&[], &[remark("1", by, body, minute)], expected);
        }
    }
}
