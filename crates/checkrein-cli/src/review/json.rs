//! A review as data, for programs. Texts are as they were written.

use checkrein_engine::{Found, ReviewMaterial, Reviewed};
use checkrein_forge::{Change, Commit, Diff, EntryKind, FileDiff, Line, LineKind};
use serde_json::{Value, json};

pub fn json(reviewed: &Reviewed, material: &ReviewMaterial) -> Value {
    let asked = reviewed.asked();
    let field = |name: &str| asked.get(name).cloned().unwrap_or_default();
    let checkpoint = &reviewed.checkpoint.checkpoint;
    json!({
        "id": checkpoint.id,
        "run_id": reviewed.view.run.id,
        "status": checkpoint.status,
        "open": reviewed.open,
        "moved": checkpoint.moved,
        "digest": checkpoint.digest.to_string(),
        "created_at": checkpoint.created_at,
        "resolved_at": checkpoint.resolved_at,
        "resolved_by": checkpoint.resolved_by,
        "reason": checkpoint.reason,
        "because": reviewed.because,
        "description": field("description"),
        "level": field("level"),
        "phase": checkpoint.phase,
        "phase_number": field("phase_number"),
        "phase_kind": field("phase_kind"),
        "context": field("context"),
        "revision": field("revision"),
        "round": checkpoint.round,
        "repository": material.repository.to_string_lossy(),
        "branch": material.branch,
        "base": material.base.to_string(),
        "head": material.head.to_string(),
        "summary": field("summary"),
        "todos": field("todos"),
        "next_todos": field("next_todos"),
        "deliverables": field("deliverables"),
        "confidence": field("confidence"),
        "milestone": field("milestone"),
        "findings": reviewed.findings.iter().map(found).collect::<Vec<_>>(),
        "protected": field("protected"),
        "no_change_since_last_round": field("no_change_since_last_round"),
        "conflict": conflict(&asked, material),
        "artefacts": material.artefacts.iter().map(|(name, text)| json!({"path": name, "text": text})).collect::<Vec<_>>(),
        "commits": material.commits.iter().map(|one| commit(one, material)).collect::<Vec<_>>(),
        "diff": diff(&material.diff, reviewed),
        "since_last_round": material.since_last_round.as_ref().map(|since| diff(since, reviewed)),
        "comments": reviewed.comments,
    })
}

fn conflict(asked: &Value, material: &ReviewMaterial) -> Value {
    let mut told = asked.get("conflict").cloned().unwrap_or_default();
    if let (Some(told), Some(now)) = (told.as_object_mut(), &material.conflict) {
        let file = |file: &checkrein_forge::ConflictedFile| json!({"path": file.path.to_string(), "text": file.text, "cut": file.cut});
        told.insert("texts".to_owned(), now.files.iter().map(file).collect());
    }
    told
}

fn found(found: &Found) -> Value {
    let finding = &found.finding;
    json!({
        "phase": found.phase,
        "kind": finding.kind.to_string(),
        "severity": finding.severity,
        "category": finding.category,
        "text": finding.text,
    })
}

fn commit(commit: &Commit, material: &ReviewMaterial) -> Value {
    json!({
        "id": commit.oid.to_string(),
        "author": commit.author_name,
        "email": commit.author_email,
        "at": jiff::Timestamp::from_second(commit.authored_at_seconds).ok(),
        "message": commit.message,
        "human": material.human.contains(&commit.oid),
    })
}

fn diff(diff: &Diff, reviewed: &Reviewed) -> Value {
    json!({
        "added": diff.added,
        "removed": diff.removed,
        "cut": diff.cut,
        "files": diff.files.iter().map(|one| file(one, reviewed)).collect::<Vec<_>>(),
    })
}

fn file(file: &FileDiff, reviewed: &Reviewed) -> Value {
    let path = file.path.to_string();
    let (change, from) = match &file.change {
        Change::Added => ("added", None),
        Change::Deleted => ("deleted", None),
        Change::Modified => ("modified", None),
        Change::Retyped => ("retyped", None),
        Change::Renamed { from, .. } => ("renamed", Some(from.to_string())),
    };
    let hunks = file.hunks.iter().map(
        |hunk| json!({"heading": hunk.heading, "lines": hunk.lines.iter().map(line).collect::<Vec<_>>()}),
    );
    json!({
        "path": &path,
        "mark": reviewed.marks.get(&path),
        "change": change,
        "from": from,
        "added": file.added,
        "removed": file.removed,
        "old_mode": file.old_kind.map(EntryKind::mode),
        "new_mode": file.new_kind.map(EntryKind::mode),
        "link_target": file.link_target(),
        "binary": file.binary,
        "cut": file.cut,
        "hunks": hunks.collect::<Vec<_>>(),
    })
}

fn line(line: &Line) -> Value {
    let kind = match line.kind {
        LineKind::Same => "same",
        LineKind::Added => "added",
        LineKind::Removed => "removed",
    };
    json!({"kind": kind, "old": line.old_number, "new": line.new_number, "text": line.text})
}
