//! Diffs, files and logs as data.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

mod support;

use std::fs;
use std::os::unix::fs::symlink;

use checkrein_forge::*;
use support::*;

fn diff(job: &Job) -> Diff {
    job.bare.diff(&job.main(), &job.head(), &DiffLimits::default()).unwrap()
}

#[test]
fn every_kind_of_change() {
    let text: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let job = Job::with(&[
        ("changed", "1\n2\n3\n"),
        ("gone", "x\n"),
        ("old name", &text),
        ("retyped", "f\n"),
        ("same", "s"),
    ]);
    job.write("changed", "1\ntwo\n3\nfour");
    fs::remove_file(job.clone.join("gone")).unwrap();
    fs::rename(job.clone.join("old name"), job.clone.join("new name")).unwrap();
    fs::remove_file(job.clone.join("retyped")).unwrap();
    symlink("same", job.clone.join("retyped")).unwrap();
    job.write("binary", b"\0\x01\x02");
    // Content that looks like a diff is content.
    job.write("added", "diff --git a/x b/x\n@@ -1 +1 @@\n--- a/x\n");
    job.collect();
    let diff = diff(&job);
    let rows: Vec<_> =
        diff.files.iter().map(|f| (f.path.to_string(), f.binary, f.added, f.removed)).collect();
    let expected = [
        ("added", false, 3, 0),
        ("binary", true, 0, 0),
        ("changed", false, 2, 1),
        ("gone", false, 0, 1),
        ("new name", false, 0, 0),
        ("retyped", false, 1, 1),
    ];
    assert_eq!(
        rows,
        expected.map(|(path, binary, added, removed)| (path.to_owned(), binary, added, removed))
    );
    assert_eq!((diff.added, diff.removed, diff.cut), (6, 3, false));

    let file = |path: &str| diff.files.iter().find(|file| file.path == path.into()).unwrap();
    assert_eq!(file("added").change, Change::Added);
    assert_eq!(file("added").hunks[0].lines.len(), 3);
    assert_eq!(file("added").hunks[0].lines[0].text, "diff --git a/x b/x");
    assert_eq!(file("gone").change, Change::Deleted);
    assert_eq!(file("new name").change, Change::Renamed { from: "old name".into(), similarity_percent: 100 });
    assert_eq!(file("retyped").change, Change::Retyped);
    assert_eq!(file("retyped").new_kind, Some(EntryKind::Link));
    assert_eq!(file("retyped").hunks.len(), 2);

    let lines: Vec<_> = file("changed").hunks[0]
        .lines
        .iter()
        .map(|l| (l.kind, l.old_number, l.new_number, l.text.as_str(), l.no_line_break))
        .collect();
    assert_eq!(
        lines,
        [
            (LineKind::Same, Some(1), Some(1), "1", false),
            (LineKind::Removed, Some(2), None, "2", false),
            (LineKind::Added, None, Some(2), "two", false),
            (LineKind::Same, Some(3), Some(3), "3", false),
            (LineKind::Added, None, Some(4), "four", true),
        ]
    );
}

#[test]
fn nothing_differs() {
    let job = Job::with(&[("a", "1")]);
    assert_eq!(diff(&job), Diff::default());
}

#[test]
fn what_is_huge_is_cut_and_says_so() {
    let job = Job::with(&[("z", "1\n")]);
    let many: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    job.write("many", &many);
    job.write("wide", "w".repeat(100_000));
    job.write("z", "2\n");
    job.collect();
    let whole = diff(&job);
    let lines = |file: &FileDiff| file.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>();
    let rows: Vec<_> = whole.files.iter().map(|f| (f.path.to_string(), f.cut, lines(f), f.added)).collect();
    let expected = [("many", true, 5_000, 20_000), ("wide", false, 1, 1), ("z", false, 2, 1)];
    assert_eq!(rows, expected.map(|(path, cut, lines, added)| (path.to_owned(), cut, lines, added)));
    assert!(whole.cut);
    let wide = &whole.files[1].hunks[0].lines[0];
    assert_eq!((wide.text.len(), wide.cut_bytes, whole.files[1].is_cut()), (4_000, 96_000, true));

    let limits = DiffLimits { total_bytes: 10_000, ..DiffLimits::default() };
    let part = job.bare.diff(&job.main(), &job.head(), &limits).unwrap();
    assert_eq!(part.files.iter().map(|file| file.cut).collect::<Vec<_>>(), [true, true, true]);
    assert_eq!((part.added, part.removed), (20_002, 1));
}

#[test]
fn a_file_is_shown_up_to_a_limit() {
    let job = Job::with(&[("dir/a", "0123456789")]);
    let show = |path: &str, limit| job.bare.show_file(&job.head(), &path.into(), limit);
    let content = show("dir/a", 4).unwrap();
    assert_eq!((content.bytes.as_slice(), content.size_bytes, content.cut), (&b"0123"[..], 10, true));
    assert!(!show("dir/a", 10).unwrap().cut);
    for path in ["nothing", "dir", "", "../x", "dir/a\0", ".git/config"] {
        assert!(matches!(show(path, 10), Err(ForgeError::NoFile { .. })), "{path}");
    }
}

#[test]
fn commits_are_read_whole() {
    let job = Job::with(&[("a", "1")]);
    job.person_pushes(&[("b", "2")]);
    let log = job.bare.log(Some(&job.main()), &job.head(), 10).unwrap();
    assert_eq!(log.len(), 1);
    assert_eq!((log[0].author_name.as_str(), log[0].author_email.as_str()), ("Ada", "ada@example.org"));
    assert_eq!(log[0].parents, [job.main()]);
    assert_eq!(job.bare.log(None, &job.head(), 2).unwrap().len(), 2);
}

#[test]
fn commits_are_told_in_parts_and_by_file() {
    let job = Job::with(&[("a", "1")]);
    for (file, text) in [("b", "2"), (":b", "3"), ("b", "4")] {
        job.person_pushes(&[(file, text)]);
    }
    let (main, head) = (job.main(), job.head());
    let count = |path: Option<&str>, skip: usize, limit: usize| {
        let path = path.map(TreePath::from);
        let wanted = LogWanted { since: Some(&main), head: &head, path: path.as_ref(), skip, limit };
        job.bare.log_of(&wanted).unwrap().len()
    };
    for (path, skip, limit, expected) in [
        (None, 0, 10, 3),
        (None, 2, 10, 1),
        (None, 0, 2, 2),
        (Some("b"), 0, 10, 2),
        // No pattern of git's own.
        (Some(":b"), 0, 10, 1),
        (Some(":/"), 0, 10, 0),
        (Some("*"), 0, 10, 0),
    ] {
        assert_eq!(count(path, skip, limit), expected, "{path:?} {skip} {limit}");
    }
}

#[test]
fn a_commit_is_named_by_its_beginning_and_nothing_else() {
    let job = Job::with(&[("a", "1")]);
    let head = job.person_pushes(&[("b", "2")]);
    let short = head.as_str().get(..10).unwrap();
    let named = |text: &str| job.bare.commit_named(text).unwrap();
    assert_eq!((named(short), named(head.as_str())), (Some(head.clone()), Some(head.clone())));
    assert_eq!(
        (named(&format!("{short}~1")), named(&format!("{short}^"))),
        (Some(job.main()), Some(job.main()))
    );
    let tree = sh(job.bare.path(), &["rev-parse", &format!("{head}^{{tree}}")]);
    for text in [
        "",
        "abc",
        "HEAD",
        "main",
        "--all",
        "-h",
        ":/first",
        "main@{1}",
        &format!("{short}:b"),
        &format!("{short}^{{tree}}"),
        &tree,
        "ffffffffff",
    ] {
        assert_eq!(named(text), None, "{text}");
    }
}

#[test]
fn a_text_is_found_as_it_is_written() {
    let job = Job::with(&[
        ("docs/a b.md", "one\nThe [gate] is open.\n"),
        ("b", "the [GATE]\nno gate here\n"),
        ("binary", "\0[gate]\n"),
        ("odd:1:name", "x [gate] y\n"),
    ]);
    let found = |text: &str, letters: Letters| {
        let found = job.bare.grep(&job.main(), text, letters, 1 << 20).unwrap();
        assert!(!found.cut);
        let row = |hit: Occurrence| (hit.path.to_string(), hit.line, hit.column, hit.text);
        found.found.into_iter().map(row).collect::<Vec<_>>()
    };
    let row = |path: &str, line, column, text: &str| (path.to_owned(), line, column, text.to_owned());
    let plan = row("docs/a b.md", 2, 5, "The [gate] is open.");
    let odd = row("odd:1:name", 1, 3, "x [gate] y");
    assert_eq!(found("[gate]", Letters::AsTheyAre), [plan.clone(), odd.clone()]);
    assert_eq!(found("[gate]", Letters::Either), [row("b", 1, 5, "the [GATE]"), plan, odd]);
    for text in ["[gate].*", "nothing", "", "a\nb", "a\0b"] {
        assert!(found(text, Letters::Either).is_empty(), "{text:?}");
    }
    // What begins like an option is a text.
    assert!(found("--open-files-in-pager=sh", Letters::Either).is_empty());
    let cut = job.bare.grep(&job.main(), "gate", Letters::Either, 30).unwrap();
    assert!(cut.cut && cut.found.len() < 3, "{cut:?}");
}

#[test]
fn a_first_commit_differs_from_nothing() {
    let job = Job::with(&[("a", "1\n2\n")]);
    let root = job.bare.root(&job.main()).unwrap();
    let nothing = job.bare.empty_tree().unwrap();
    assert_eq!(job.bare.diff(&nothing, &root, &DiffLimits::default()).unwrap().files, []);
    let whole = job.bare.diff(&nothing, &job.main(), &DiffLimits::default()).unwrap();
    assert_eq!((whole.files.len(), whole.added), (1, 2));
}

#[test]
fn a_line_that_is_cut_says_by_how_much() {
    let job = Job::with(&[("z", "1\n")]);
    job.write("evil.js", format!("{}; attack()\n", "x".repeat(4_000)));
    job.write("umlaut.txt", "ü".repeat(2_001));
    job.write("odd.txt", format!("a{}\n", "ü".repeat(2_000)));
    job.collect();
    let diff = diff(&job);
    let cut = |file: &FileDiff| (file.hunks[0].lines[0].text.len(), file.hunks[0].lines[0].cut_bytes);
    assert_eq!(diff.files.iter().map(cut).collect::<Vec<_>>(), [(4_000, 10), (3_999, 2), (4_000, 2)]);
    assert!(diff.cut && diff.files.iter().all(|file| file.is_cut() && !file.cut));
}
