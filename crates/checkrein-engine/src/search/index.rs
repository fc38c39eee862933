//! The index is made when a job is held for a review, and at no other boundary (L13): only what changed since the
//! last time is read again.

use std::collections::HashMap;

use checkrein_core::run::Run;
use checkrein_core::run::job::{JobDefinition, Repository};
use checkrein_forge::{EntryKind, Oid, TreeEntry};
use checkrein_search::{DOCUMENT_BYTES_MAX, DocumentKind, Unreadable, chunks};
use checkrein_store::{IndexPlace, IndexUpdate, Indexed, IndexedChunk, IndexedFile, Updated};
use jiff::Timestamp;

use super::waits_for_review;
use crate::job::{JobPlace, JobRepository, blocking};
use crate::run::RunView;
use crate::{Engine, EngineError};

/// What is read of a repository at once.
const READ_BYTES_MAX: u64 = 24 << 20;
const READ_FILES_MAX: usize = 256;
/// Files beyond this are not searched.
const FILES_MAX: usize = 20_000;
/// As far back as it is looked which phase changed a file.
const COMMITS_MAX: usize = 5_000;
/// So often somebody else may push and index meanwhile; what they indexed is good enough then.
const OVERTAKEN_MAX: usize = 5;

impl Engine {
    /// Makes sure that a job which waits for a review can be searched as it is now. The words can be searched when
    /// this returns; meanings follow in the background.
    pub(crate) async fn index_held(&self, view: &RunView) -> Result<(), EngineError> {
        if !waits_for_review(view) {
            return Ok(());
        }
        let (run, place, now) = (view.run.clone(), JobPlace::of(&self.store, &view.run.id), self.now());
        let at = self.index_place(&run.id);
        let to = at.clone();
        let changed = blocking(move || index(&run, &place, &to, now)).await?;
        if changed {
            self.searching.background.ask(at);
        }
        Ok(())
    }
}

/// Whether there was anything to do. Whoever is overtaken by somebody who does the same looks at what they did.
fn index(run: &Run, place: &JobPlace, to: &IndexPlace, at: Timestamp) -> Result<bool, EngineError> {
    for _ in 0..OVERTAKEN_MAX {
        match index_once(run, place, to, at)? {
            Made::Overtaken => {}
            made => return Ok(made == Made::Changed),
        }
    }
    Ok(true)
}

/// What came of looking at a job's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Nothing,
    Changed,
    Overtaken,
}

fn index_once(run: &Run, place: &JobPlace, to: &IndexPlace, at: Timestamp) -> Result<Made, EngineError> {
    let Some((definition, job)) = run.job() else { return Ok(Made::Nothing) };
    let repository = JobRepository::look(run, place)?;
    let branch = repository.branch(&job.phase);
    let head = match repository.bare.head(&branch)? {
        Some(head) => head,
        None => repository.main()?,
    };
    let mut index = to.open()?;
    let before = index.head()?;
    if before.as_deref() == Some(head.as_str()) {
        return Ok(Made::Nothing);
    }
    let known: HashMap<String, String> =
        index.files()?.into_iter().map(|file| (file.path, file.content)).collect();
    let phases = phases(&repository, definition, &job.phase.name(), &head)?;
    let phase_of = |path: &str| phases.get(path).cloned();
    let own = definition.repository.artefacts();
    let wanted = repository.bare.list_files(&head)?.into_iter();
    let wanted = wanted.filter_map(|entry| kind(own, &entry).map(|(path, kind)| (path, kind, entry)));
    let (mut files, mut unread) = (Vec::new(), Vec::new());
    for (path, kind, entry) in wanted.take(FILES_MAX) {
        let content = entry.oid.to_string();
        let phase = phase_of(&path);
        if known.get(&path) == Some(&content) {
            files.push(IndexedFile { path, content, phase, found: Indexed::AsBefore });
        } else if entry.size_bytes.unwrap_or(0) > DOCUMENT_BYTES_MAX as u64 {
            let found = Indexed::Unreadable(Unreadable::TooLarge.to_string());
            files.push(IndexedFile { path, content, phase, found });
        } else {
            unread.push((path, kind, content, phase, entry.size_bytes.unwrap_or(0)));
        }
    }
    let mut rest = unread.as_slice();
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take(READ_FILES_MAX).take_while(|(.., size)| {
            bytes += size;
            bytes <= READ_BYTES_MAX
        });
        let (some, more) = rest.split_at(fits.count().clamp(1, rest.len()));
        rest = more;
        let paths: Vec<&str> = some.iter().map(|(path, ..)| path.as_str()).collect();
        let contents = repository.bare.show_files(&head, &paths, DOCUMENT_BYTES_MAX)?;
        for ((path, kind, content, phase, _), bytes) in some.iter().zip(contents) {
            let found = match bytes.map(|bytes| chunks(*kind, &bytes)) {
                Some(Ok(chunks)) => Indexed::Chunks(chunks.into_iter().map(indexed).collect()),
                Some(Err(why)) => Indexed::Unreadable(why.to_string()),
                None => Indexed::Unreadable("git has no such file".to_owned()),
            };
            files.push(IndexedFile {
                path: path.clone(),
                content: content.clone(),
                phase: phase.clone(),
                found,
            });
        }
    }
    let update = IndexUpdate { head: head.to_string(), phase: job.phase.name(), at, files };
    Ok(match index.update(&update, before.as_deref())? {
        Updated::Done => Made::Changed,
        Updated::Overtaken => Made::Overtaken,
    })
}

fn indexed(chunk: checkrein_search::Chunk) -> IndexedChunk {
    let digest = chunk.digest();
    let (first_line, last_line) = (chunk.first_line, chunk.last_line);
    IndexedChunk { heading: chunk.heading, first_line, last_line, text: chunk.text, digest }
}

/// What is searched: every Markdown file, the job's archive and todos, and what was handed over with it.
fn kind(own: &str, entry: &TreeEntry) -> Option<(String, DocumentKind)> {
    if !matches!(entry.kind, EntryKind::File | EntryKind::Executable) {
        return None;
    }
    let path = std::str::from_utf8(entry.path.as_bytes()).ok()?.to_owned();
    let kind = DocumentKind::of(&path)?;
    let of_job = path.strip_prefix(own).is_some_and(|name| {
        name == "todos.yaml" || name.starts_with("archive/") || name.starts_with("documents/")
    });
    (kind == DocumentKind::Markdown || of_job).then_some((path, kind))
}

/// The phase that changed each file last: the one under way for what is not merged yet, else the one a commit of
/// the job's main branch is named after.
fn phases(
    repository: &JobRepository,
    definition: &JobDefinition,
    phase: &str,
    head: &Oid,
) -> Result<HashMap<String, String>, EngineError> {
    let main = repository.main()?;
    let mut phases = HashMap::new();
    for (_, files) in repository.bare.changed_by_commit(Some(&main), head, COMMITS_MAX)? {
        for file in files {
            phases.entry(file.to_string()).or_insert_with(|| phase.to_owned());
        }
    }
    let start = match &definition.repository {
        Repository::Existing { commit, .. } => Some(Oid::parse(commit)?),
        Repository::Own => None,
    };
    for (title, files) in repository.bare.changed_by_commit(start.as_ref(), &main, COMMITS_MAX)? {
        let Some(name) = phase_of_title(&title) else { continue };
        for file in files {
            phases.entry(file.to_string()).or_insert_with(|| name.clone());
        }
    }
    Ok(phases)
}

/// `phase 3 (tactical): …` is of `phase-3-tactical`.
pub(crate) fn phase_of_title(title: &str) -> Option<String> {
    let (number, rest) = title.strip_prefix("phase ")?.split_once(" (")?;
    let (kind, _) = rest.split_once("):")?;
    let plain = number.bytes().all(|byte| byte.is_ascii_digit()) && matches!(kind, "strategic" | "tactical");
    plain.then(|| format!("phase-{number}-{kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_of_the_main_branch_says_its_phase() {
        for (title, phase) in [
            ("phase 3 (tactical): the parser", Some("phase-3-tactical")),
            ("phase 1 (strategic): a plan", Some("phase-1-strategic")),
            ("phase x (tactical): no", None),
            ("documents of the job", None),
        ] {
            assert_eq!(phase_of_title(title).as_deref(), phase, "{title}");
        }
    }
}
