//! Files that decide about agents, hooks and builds: a change there waits for a person at every level.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::ops::Bound;

use schemars::JsonSchema;
use serde::de::{self, value};
use serde::{Deserialize, Deserializer};

use super::Policy;

/// `protected_paths` as one layer writes it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum ProtectedPaths {
    /// Protected besides what weaker layers protect.
    Add(Vec<PathPattern>),
    /// Protected instead of it; in the user's own settings only.
    Replace(Replacement),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    /// The whole list.
    pub replace: Vec<PathPattern>,
}

impl<'de> Deserialize<'de> for ProtectedPaths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ProtectedPaths, D::Error> {
        struct ListOrReplacement;

        impl<'de> de::Visitor<'de> for ListOrReplacement {
            type Value = ProtectedPaths;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of patterns, or `{replace: [PATTERN, …]}`")
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<ProtectedPaths, A::Error> {
                Vec::deserialize(value::SeqAccessDeserializer::new(list)).map(ProtectedPaths::Add)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<ProtectedPaths, A::Error> {
                Replacement::deserialize(value::MapAccessDeserializer::new(map)).map(ProtectedPaths::Replace)
            }
        }

        deserializer.deserialize_any(ListOrReplacement)
    }
}

/// A glob seen from the root of the repository. A directory stands for everything below it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct PathPattern(pub String);

impl TryFrom<String> for PathPattern {
    type Error = String;

    fn try_from(written: String) -> Result<PathPattern, String> {
        let pattern = written.strip_prefix("./").unwrap_or(&written).trim_matches('/');
        // A pattern that can match nothing would protect nothing, and nobody would notice.
        let wrong = if pattern.trim().is_empty() {
            "names no file"
        } else if pattern.starts_with('!') {
            "begins with `!`, and a pattern cannot be taken back"
        } else if pattern.split('/').any(|part| part == "..") {
            "leads out of the repository with `..`"
        } else if !closes_its_brackets(pattern) {
            "has a bracket that is not closed"
        } else {
            return Ok(PathPattern(pattern.to_owned()));
        };
        Err(format!("`{written}` {wrong}"))
    }
}

fn closes_its_brackets(pattern: &str) -> bool {
    let mut open: Vec<char> = Vec::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match (character, open.last()) {
            ('\\', _) => _ = characters.next(),
            (']', Some('[')) | ('}', Some('{')) => _ = open.pop(),
            (_, Some('[')) => {}
            ('[' | '{', _) => open.push(character),
            ('}', _) => return false,
            _ => {}
        }
    }
    open.is_empty()
}

impl Policy {
    /// The paths among `paths` that this policy protects; `linked` are those that protected links lead to.
    pub fn protected<'p>(&self, paths: impl IntoIterator<Item = &'p str>, linked: &[String]) -> Vec<&'p str> {
        let is_named = self.named();
        let linked: HashSet<&str> = linked.iter().map(String::as_str).collect();
        let ways: HashSet<&str> = linked.iter().flat_map(|path| directories(path)).collect();
        let is_linked = |path: &str| {
            let path = as_any_system_sees(path);
            let whole: &str = &path;
            // Something else in the place of a directory on the way leads elsewhere.
            ways.contains(whole) || directories(whole).chain([whole]).any(|part| linked.contains(part))
        };
        paths.into_iter().filter(|path| is_named(path) || is_linked(path)).collect()
    }

    /// What protected links lead to, through further links and by those below it: whoever writes there changes what is
    /// protected. `links` are all of a commit, each with what it says.
    pub fn protected_by_links(&self, links: &[(String, String)]) -> Vec<String> {
        let is_named = self.named();
        let by_path: BTreeMap<Cow<'_, str>, &(String, String)> =
            links.iter().map(|link| (as_any_system_sees(&link.0), link)).collect();
        let mut known = BTreeSet::new();
        let mut left: Vec<String> = Vec::new();
        let lead = |link: &(String, String), rest: &str| {
            let target = leads_to(&link.0, &link.1, rest)?;
            Some(as_any_system_sees(&target).into_owned())
        };
        left.extend(links.iter().filter(|link| is_named(&link.0)).filter_map(|link| lead(link, "")));
        while let Some(target) = left.pop() {
            if known.len() >= LINKED_MAX || !known.insert(target.clone()) {
                continue;
            }
            for part in directories(&target).chain([target.as_str()]) {
                let rest = target.get(part.len()..).unwrap_or_default();
                left.extend(by_path.get(part).and_then(|link| lead(link, rest)));
            }
            let below = format!("{target}/");
            let links = by_path.range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded));
            let links = links.take_while(|(path, _)| path.starts_with(&below));
            left.extend(links.filter_map(|(_, link)| lead(link, "")));
        }
        known.into_iter().collect()
    }

    /// Whether a pattern names a path.
    fn named(&self) -> impl Fn(&str) -> bool + use<> {
        let patterns: Vec<String> = self
            .protected_paths
            .iter()
            .flat_map(|pattern| with_directories(&as_any_system_sees(pattern)))
            .collect();
        move |path| {
            let path = as_any_system_sees(path);
            patterns.iter().any(|pattern| fast_glob::glob_match(pattern, path.as_bytes()))
        }
    }
}

/// Links that lead in circles come to an end.
const LINKED_MAX: usize = 10_000;
const LINKED_BYTES_MAX: usize = 4096;

/// Each directory above a path.
fn directories(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(end, _)| path.get(..end))
}

/// Where a link leads, and from there; none outside of the repository.
fn leads_to(link: &str, says: &str, rest: &str) -> Option<String> {
    if says.starts_with('/') {
        return None;
    }
    let above = link.rsplit_once('/').map_or("", |(above, _)| above);
    let mut parts = Vec::new();
    for part in above.split('/').chain(says.split('/')).chain(rest.split('/')) {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    // No system follows one that is longer.
    (!path.is_empty() && path.len() <= LINKED_BYTES_MAX).then_some(path)
}

/// A name as the least particular file system takes it: some do not tell `.GitHub` from `.github`, some skip
/// characters that do not show, some drop dots and spaces at the end.
fn as_any_system_sees(path: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    if path.bytes().all(plain) && !path.contains(" /") && !path.contains("./") && !path.ends_with(['.', ' '])
    {
        return Cow::Borrowed(path);
    }
    let shown = path.chars().filter(|character| !is_ignorable(*character));
    let folded: String = shown.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    let parts: Vec<&str> = folded
        .split('/')
        .map(|part| match part.trim_end_matches(['.', ' ']) {
            "" => part,
            kept => kept,
        })
        .collect();
    Cow::Owned(parts.join("/"))
}

const fn is_ignorable(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

/// A pattern, what is below it, and each directory it leads through: a link in the place of one leads elsewhere.
fn with_directories(pattern: &str) -> Vec<String> {
    let parts: Vec<&str> = pattern.split('/').collect();
    let ends = parts.iter().enumerate().filter(|(_, part)| **part != "**").map(|(at, _)| at + 1);
    let mut all: Vec<String> = ends.filter_map(|end| Some(parts.get(..end)?.join("/"))).collect();
    all.push(pattern.to_owned());
    all.push(format!("{pattern}/**"));
    all
}

/// What is protected where nobody says otherwise. Build files such as a `Makefile` are not: they change with the
/// work, and whoever wants them protected adds them.
pub(super) const DEFAULT: &[&str] = &[
    // Checkrein itself, and who has to review.
    "**/checkrein.{yaml,yml,json,toml}",
    "**/.checkrein/**",
    "**/CODEOWNERS",
    // Git, and what it runs.
    "**/.git/**",
    "**/.{gitattributes,gitconfig,gitmodules,lfsconfig}",
    "**/.{githooks,git-hooks,husky}/**",
    "**/.pre-commit-{config,hooks}.y{a,}ml",
    "**/{.,}lefthook*",
    "**/.overcommit.yml",
    "**/{.lintstagedrc*,lint-staged.config.*}",
    // What agents are told, may do and connect to.
    "**/{AGENTS,CLAUDE,GEMINI,QWEN,CRUSH,WARP}{.*,}.md",
    "**/{.,}mcp.json",
    "**/.{agent,agents,claude,codex,gemini,opencode,cursor,windsurf,qwen,roo,cline,kilocode}/**",
    "**/.{continue,goose,kiro,amazonq,augment,junie,factory,crush,trae}/**",
    "**/.claude.json",
    "**/opencode.json{c,}",
    "**/{.,}crush.json",
    "**/.aider*",
    "**/.{cursor,windsurf,cline,roo}*{rules,ignore,modes}",
    "**/.{rules,goosehints}",
    // What builds and releases.
    "**/.{github,gitea,forgejo,gitlab}/**",
    "**/.gitlab-ci*.y{a,}ml",
    "**/.{ci,circleci,buildkite,azure-pipelines,jenkins,teamcity,semaphore,tekton,builds}/**",
    "**/.{woodpecker,drone,travis,cirrus,appveyor,build,mergify}*",
    "**/{azure-pipelines*,bitbucket-pipelines,appveyor,cloudbuild,buildspec}.y{a,}ml",
    "**/Jenkinsfile*",
    // What runs when a directory is opened or entered.
    "**/.{vscode,devcontainer,idea,fleet,zed}/**",
    "**/.devcontainer.json",
    "**/*.code-workspace",
    "**/.{exrc,nvim.lua,nvimrc,vimrc,dir-locals.el}",
    "**/.{envrc,gitpod.yml}",
    "**/{.mise*,mise*.toml}",
    // Where packages come from, and what their managers run.
    "**/.{npmrc,yarnrc,yarnrc.yml,pnpmfile.cjs,condarc,netrc,bazelrc}",
    "**/.yarn/{plugins,releases}/**",
    "**/.{cargo,mvn,bundle}/**",
    "**/bunfig.toml",
    "**/pip.conf",
    "**/nuget.config",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Scope;

    fn protected(patterns: Option<&[&str]>, path: &str) -> bool {
        let mut policy = Policy::builtin(Scope::Job);
        if let Some(patterns) = patterns {
            let patterns =
                patterns.iter().map(|pattern| PathPattern::try_from((*pattern).to_owned()).unwrap().0);
            policy.protected_paths = patterns.collect();
        }
        !policy.protected([path], &[]).is_empty()
    }

    #[test]
    fn what_decides_about_agents_hooks_and_builds_is_protected_by_default() {
        for path in [
            "checkrein.yaml",
            "checkrein.yml",
            ".checkrein/experts/me/config.yaml",
            "CODEOWNERS",
            ".github/CODEOWNERS",
            ".git/config",
            ".gitattributes",
            ".gitmodules",
            ".githooks/pre-push",
            ".husky/pre-commit",
            ".pre-commit-config.yaml",
            ".pre-commit-config.yml",
            "lefthook.yml",
            ".lefthook.toml",
            "lefthook-local.yml",
            ".lefthook/pre-push/x",
            "AGENTS.md",
            "AGENTS.override.md",
            "CLAUDE.md",
            "CLAUDE.local.md",
            "GEMINI.md",
            ".mcp.json",
            "opencode.json",
            "opencode.jsonc",
            ".opencode/agent/x.md",
            ".claude/settings.json",
            ".codex/config.toml",
            ".gemini/settings.json",
            ".cursor/mcp.json",
            ".cursorrules",
            ".cursorignore",
            ".windsurfrules",
            ".windsurf/rules/x.md",
            ".clinerules",
            ".clinerules/x.md",
            ".roomodes",
            ".aider.conf.yml",
            ".aiderignore",
            ".github/workflows/ci.yml",
            ".github/copilot-instructions.md",
            ".github/dependabot.yml",
            ".github/actions/x/action.yml",
            ".gitea/workflows/ci.yml",
            ".forgejo/workflows/ci.yml",
            ".gitlab-ci.yml",
            ".gitlab/ci/x.yml",
            ".ci/run",
            ".circleci/config.yml",
            ".buildkite/pipeline.yml",
            ".woodpecker.yml",
            ".woodpecker/ci.yaml",
            ".drone.yml",
            ".travis.yml",
            "bitbucket-pipelines.yml",
            "azure-pipelines.yml",
            "azure-pipelines-release.yaml",
            "Jenkinsfile",
            "ci/Jenkinsfile.release",
            ".vscode/tasks.json",
            ".devcontainer/devcontainer.json",
            ".devcontainer.json",
            ".idea/workspace.xml",
            "x.code-workspace",
            ".envrc",
            ".npmrc",
            ".yarnrc.yml",
            ".yarn/releases/yarn.cjs",
            ".cargo/config.toml",
            ".cargo/config",
            ".mise.toml",
        ] {
            for path in [path.to_owned(), format!("deep/down/{path}"), path.to_uppercase()] {
                assert!(protected(None, &path), "{path}");
            }
        }
        for path in [
            "Makefile",
            "src/main.rs",
            "README.md",
            "package.json",
            "docs/agents.md.txt",
            "github/x",
            "a.claude",
        ] {
            assert!(!protected(None, path), "{path}");
        }
    }

    #[test]
    fn what_a_protected_link_leads_to_is_protected() {
        let links = |links: &[(&str, &str)]| -> Vec<(String, String)> {
            links.iter().map(|(path, target)| ((*path).to_owned(), (*target).to_owned())).collect()
        };
        let policy = Policy::builtin(Scope::Job);
        for (there, path, expected) in [
            (links(&[("CLAUDE.md", "docs/guide.md")]), "docs/guide.md", true),
            (links(&[("CLAUDE.md", "docs/guide.md")]), "Docs/Guide.md", true),
            (links(&[("CLAUDE.md", "docs/guide.md")]), "docs", true),
            (links(&[("CLAUDE.md", "docs/guide.md")]), "docs/other.md", false),
            (links(&[("readme", "docs/guide.md")]), "docs/guide.md", false),
            (links(&[(".claude/skills", "../skills")]), "skills/a/b.md", true),
            (links(&[(".claude/skills", "../skills"), ("skills/a", "../all/a")]), "all/a/b.md", true),
            (links(&[("CLAUDE.md", "guide"), ("guide", "docs/guide.md")]), "docs/guide.md", true),
            (links(&[("CLAUDE.md", "now/guide.md"), ("now", "docs/v2")]), "docs/v2/guide.md", true),
            (links(&[("CLAUDE.md", "now/guide.md"), ("now", "docs/v2")]), "docs/v2/other", false),
            (links(&[("a/CLAUDE.md", "../../x")]), "x", false),
            (
                links(&[("CLAUDE.md", "/etc/x"), ("AGENTS.md", "GEMINI.md"), ("GEMINI.md", "AGENTS.md")]),
                "x",
                false,
            ),
            (links(&[("CLAUDE.md", "a"), ("a", "a/a")]), "b", false),
        ] {
            let linked = policy.protected_by_links(&there);
            assert_eq!(!policy.protected([path], &linked).is_empty(), expected, "{there:?} {path}");
        }
    }

    #[test]
    fn other_spellings_of_the_same_file_are_the_same_file() {
        for path in [
            ".GitHub/x",
            ".github./x",
            ".github /x",
            ".git\u{200c}hub/x",
            ".m\u{17f}vn/x",
            "Cla\u{feff}ude.md",
            "AGENTS.md.",
        ] {
            let expected = path != ".m\u{17f}vn/x";
            assert_eq!(protected(None, path), expected, "{path:?}");
        }
        assert!(protected(None, ".v\u{17f}code/tasks.json"), "a long s is an s");
        assert!(
            protected(None, ".\u{212a}ilocode/x") == protected(None, ".kilocode/x"),
            "a Kelvin sign is a k"
        );
    }

    #[test]
    fn a_pattern_means_the_file_the_link_in_its_way_and_all_below_it() {
        for (pattern, path, expected) in [
            ("infra", "infra", true),
            ("infra", "infra/a/b", true),
            ("infra/", "infra/a", true),
            ("/infra", "infra/a", true),
            ("./infra/**", "infra", true),
            ("infra/prod/**", "infra", true),
            ("infra/prod/**", "infra/test/x", false),
            ("infra", "deep/infra/x", false),
            ("*.sql", "schema.sql", true),
            ("*.sql", "db/schema.sql", false),
            ("**/*.{sql,SQLITE}", "db/Schema.sqlite", true),
        ] {
            assert_eq!(protected(Some(&[pattern]), path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_that_protects_nothing_is_refused() {
        for (pattern, said) in [
            ("", "names no file"),
            ("/", "names no file"),
            ("  ", "names no file"),
            ("!x", "begins with `!`"),
            ("../x", "leads out of the repository"),
            ("a/[b", "has a bracket that is not closed"),
            ("a/{b,c", "has a bracket that is not closed"),
            ("a}", "has a bracket that is not closed"),
        ] {
            let error = PathPattern::try_from(pattern.to_owned()).unwrap_err();
            assert!(error.starts_with(&format!("`{pattern}` {said}")), "{error}");
        }
        for pattern in ["a[b]c", "a[{]", r"a\[b", "{a,{b,c}}"] {
            PathPattern::try_from(pattern.to_owned()).unwrap();
        }
    }
}
