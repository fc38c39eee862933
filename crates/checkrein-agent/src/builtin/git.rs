//! What git knows about the directory, to read.

use std::path::Path;
use std::time::Duration;

use super::command;

const TIME_MAX: Duration = Duration::from_secs(60);

/// A name git takes for nothing but a revision or a path.
fn plain(word: &str) -> Result<&str, String> {
    let odd = word.starts_with('-') || word.is_empty() || word.contains(['\n', '\0']);
    if odd { Err(format!("`{word}` is no revision or path")) } else { Ok(word) }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

pub async fn git(root: &Path, words: &[&str], hidden: &[String]) -> Result<String, String> {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let line = format!("git --no-pager --no-optional-locks -c color.ui=false {}", words.join(" "));
    command::run(root, &line, TIME_MAX, hidden).await
}

pub async fn log(root: &Path, max: u64, path: Option<&str>, hidden: &[String]) -> Result<String, String> {
    let max = format!("-n{}", max.clamp(1, 500));
    let mut words = vec!["log", "--date=iso", "--stat", &max, "--"];
    if let Some(path) = path {
        words.push(plain(path)?);
    }
    git(root, &words, hidden).await
}

pub async fn diff(
    root: &Path,
    from: Option<&str>,
    to: Option<&str>,
    path: Option<&str>,
    hidden: &[String],
) -> Result<String, String> {
    let mut words = vec!["diff", "--no-ext-diff", "--no-textconv"];
    for revision in [from, to].into_iter().flatten() {
        words.push(plain(revision)?);
    }
    words.push("--");
    if let Some(path) = path {
        words.push(plain(path)?);
    }
    git(root, &words, hidden).await
}

pub async fn show(root: &Path, revision: &str, hidden: &[String]) -> Result<String, String> {
    git(root, &["show", "--no-ext-diff", "--no-textconv", plain(revision)?, "--"], hidden).await
}

pub async fn status(root: &Path, hidden: &[String]) -> Result<String, String> {
    git(root, &["status", "--short", "--branch"], hidden).await
}

/// Searches what git knows and what is new, and nothing it ignores.
pub async fn search(
    root: &Path,
    pattern: &str,
    path: Option<&str>,
    hidden: &[String],
) -> Result<String, String> {
    let mut words = vec!["grep", "-n", "-I", "-E", "--untracked", "--no-color", "-e", pattern, "--"];
    words.push(path.map_or(Ok("."), plain)?);
    match git(root, &words, hidden).await {
        Err(text) if text.trim() == "(exit code 1)" => Ok("(nothing found)".to_owned()),
        // Outside of a repository there is nothing that is ignored.
        Err(text) if text.contains("not a git repository") => {
            let path = quoted(path.map_or(Ok("."), plain)?);
            let line = format!("grep -rnIE -e {} -- {path}", quoted(pattern));
            match command::run(root, &line, TIME_MAX, hidden).await {
                Err(text) if text.trim() == "(exit code 1)" => Ok("(nothing found)".to_owned()),
                found => found,
            }
        }
        found => found,
    }
}
