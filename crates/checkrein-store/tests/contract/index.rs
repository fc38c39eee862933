//! The index of a job's workspace: what is put there is found, what is gone is not, and nothing of another job.

use checkrein_core::deliverable::Digest;
use checkrein_store::{
    IndexPlace, IndexUpdate, Indexed, IndexedChunk, IndexedFile, NewVector, SearchIndex, Store, Updated,
};

use crate::{Open, time};

fn place(store: &Store, job: &str) -> IndexPlace {
    std::fs::create_dir_all(store.directory()).unwrap();
    store.index(job, &store.directory().join(format!("{job}.index.db")))
}

fn chunk(heading: &str, text: &str) -> IndexedChunk {
    let digest = Digest::of(format!("{heading}\n{text}").as_bytes());
    IndexedChunk { heading: heading.to_owned(), first_line: 1, last_line: 2, text: text.to_owned(), digest }
}

fn file(path: &str, content: &str, chunks: &[(&str, &str)]) -> IndexedFile {
    let chunks = chunks.iter().map(|(heading, text)| chunk(heading, text)).collect();
    let found = Indexed::Chunks(chunks);
    IndexedFile { path: path.to_owned(), content: content.to_owned(), phase: None, found }
}

fn as_before(path: &str, phase: &str) -> IndexedFile {
    let phase = Some(phase.to_owned());
    IndexedFile { path: path.to_owned(), content: "2".to_owned(), phase, found: Indexed::AsBefore }
}

fn update(head: &str, files: Vec<IndexedFile>) -> IndexUpdate {
    IndexUpdate { head: head.to_owned(), phase: "phase-1-strategic".to_owned(), at: time(7), files }
}

/// Changes an index that nobody else changes.
fn put(mut index: impl std::borrow::BorrowMut<SearchIndex>, update: &IndexUpdate) {
    let index = index.borrow_mut();
    let before = index.head().unwrap();
    assert_eq!(index.update(update, before.as_deref()).unwrap(), Updated::Done);
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The texts found by words, best first.
fn found(index: &SearchIndex, asked: &[&str], files: Option<&[i64]>) -> Vec<String> {
    let ids = index.by_words(&words(asked), files, 9).unwrap();
    let chunks = index.chunks(&ids).unwrap();
    assert_eq!(
        chunks.iter().map(|chunk| chunk.id).collect::<Vec<_>>(),
        ids,
        "in the order they were asked for"
    );
    chunks.into_iter().map(|chunk| chunk.text).collect()
}

fn vectors_of(index: &SearchIndex, model: &str, numbers: impl Fn(&str) -> Vec<f32>) -> Vec<NewVector> {
    let missing = index.missing(model, 99).unwrap();
    let vector = |(digest, text): &(Digest, String)| {
        let numbers = numbers(text);
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        NewVector { digest: *digest, bytes, numbers }
    };
    missing.iter().map(vector).collect()
}

pub async fn what_changed_is_found_and_what_is_gone_is_not(open: Open<'_>) {
    let store = open();
    let place = place(&store, "j1");
    assert!(place.open_existing().unwrap().is_none() && !place.is_there().unwrap());
    let mut index = place.open().unwrap();
    assert_eq!((index.state("m").unwrap(), index.head().unwrap()), (None, None));
    let unreadable = Indexed::Unreadable("it is encrypted".to_owned());
    put(
        &mut index,
        &update(
            "c1",
            vec![
                file("plan.md", "1", &[("Plan", "migrating the database"), ("Plan", "a zebra")]),
                file("notes.md", "2", &[("", "nothing of note")]),
                IndexedFile { path: "x.pdf".into(), content: "3".into(), phase: None, found: unreadable },
            ],
        ),
    );
    let state = index.state("m").unwrap().unwrap();
    assert_eq!((state.files, state.chunks, state.missing), (3, 3, 3));
    assert_eq!(state.unreadable, [("x.pdf".to_owned(), "it is encrypted".to_owned())]);
    assert_eq!((state.head.as_str(), state.built_at), ("c1", time(7)));
    assert_eq!(index.head().unwrap().as_deref(), Some("c1"));
    // Endings do not matter, odd words are no syntax.
    assert_eq!(found(&index, &["migration"], None), ["migrating the database"]);
    assert_eq!(found(&index, &["zebras", "note", "NEAR(", "*", "\"", "' | !", ":*"], None).len(), 2);
    assert_eq!(found(&index, &["(", "&"], None), [] as [&str; 0]);
    let plan = index.files().unwrap().iter().find(|file| file.path == "plan.md").unwrap().id;
    assert_eq!(found(&index, &["note", "zebra"], Some(&[plan])), ["a zebra"]);
    assert_eq!(found(&index, &["note"], Some(&[])), [] as [&str; 0]);

    let vectors = vectors_of(&index, "m", |_| vec![1.0, 0.0]);
    assert_eq!(vectors.len(), 3);
    let before = index.generation().unwrap();
    index.put_vectors("m", &vectors).unwrap();
    assert!(index.generation().unwrap() > before);
    assert_eq!(index.state("m").unwrap().unwrap().missing, 0);
    assert_eq!(index.state("other").unwrap().unwrap().missing, 3);

    let second = file("plan.md", "4", &[("Plan", "migrating the database"), ("Plan", "a heron")]);
    put(&mut index, &update("c2", vec![second, as_before("notes.md", "phase-2-tactical")]));
    assert_eq!(found(&index, &["zebra"], None), [] as [&str; 0]);
    assert_eq!(found(&index, &["heron"], None), ["a heron"]);
    let files = index.files().unwrap();
    let files: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.phase.as_deref())).collect();
    assert_eq!(files, [("notes.md", Some("phase-2-tactical")), ("plan.md", None)]);
    // Only what is new is to be read by the model.
    let missing = index.missing("m", 9).unwrap();
    assert_eq!(missing.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["Plan\na heron"]);
    assert_eq!(index.vectors("m").unwrap().len(), 2);
    assert!(index.vectors("other").unwrap().is_empty());
    // What is gone when its vector comes is left out.
    index.put_vectors("m", &vectors).unwrap();
    assert_eq!(index.vectors("m").unwrap().len(), 2);
    place.remove().unwrap();
    assert!(place.open_existing().unwrap().is_none());
}

pub async fn an_index_that_was_made_again_is_another_one(open: Open<'_>) {
    let store = open();
    let place = place(&store, "j1");
    let mut index = place.open().unwrap();
    put(&mut index, &update("c1", vec![file("a.md", "1", &[("", "one")])]));
    let first = (index.identity().unwrap(), index.generation().unwrap());
    assert_eq!(place.open().unwrap().identity().unwrap(), first.0);
    // So that nothing of the first one is left where the second is kept.
    let held = place.open().unwrap();
    place.remove().unwrap();
    let mut index = place.open().unwrap();
    put(&mut index, &update("c1", vec![file("a.md", "1", &[("", "two")])]));
    assert_ne!(index.identity().unwrap(), first.0);
    drop(held);
    assert_eq!(found(&index, &["one", "two"], None), ["two"]);
}

pub async fn words_are_ranked_by_how_rare_they_are(open: Open<'_>) {
    let store = open();
    let mut index = place(&store, "j1").open().unwrap();
    let common = "the report of the week names numbers and a report";
    let mut chunks = vec![("", common); 8];
    chunks.push(("", "the report names an axolotl"));
    chunks.push(("Axolotl", "something else entirely"));
    let chunks: Vec<(&str, String)> =
        chunks.iter().enumerate().map(|(n, (heading, text))| (*heading, format!("{text} {n}"))).collect();
    let chunks: Vec<(&str, &str)> = chunks.iter().map(|(heading, text)| (*heading, text.as_str())).collect();
    put(&mut index, &update("c1", vec![file("a.md", "1", &chunks)]));
    let ranked = found(&index, &["report", "axolotl"], None);
    assert_eq!(ranked.len(), 9, "no more than were asked for");
    assert_eq!(ranked[0], "something else entirely 9", "a heading counts more");
    assert_eq!(ranked[1], "the report names an axolotl 8");
    // What stands between words is no part of them, nor are marks on letters.
    let odd = [("", "see docs/Ledger-2.md, Café_au_lait"), ("", "mail ann@example.org")];
    put(&mut index, &update("c2", vec![file("b.md", "2", &odd)]));
    for asked in ["ledger", "docs", "cafe", "CAFÉ", "2"] {
        assert_eq!(found(&index, &[asked], None), [odd[0].1], "{asked}");
    }
    assert_eq!(found(&index, &["example"], None), [odd[1].1]);
}

pub async fn nothing_of_another_job_is_found(open: Open<'_>) {
    let store = open();
    let (one, other) = (place(&store, "j1"), place(&store, "j2"));
    let text = [("", "the same zebra")];
    for place in [&one, &other] {
        let mut index = place.open().unwrap();
        put(&mut index, &update("c1", vec![file("a.md", "1", &text)]));
        let vectors = vectors_of(&index, "m", |_| vec![1.0, 0.0]);
        index.put_vectors("m", &vectors).unwrap();
    }
    let (ours, theirs) = (one.open().unwrap(), other.open().unwrap());
    assert_eq!(found(&ours, &["zebra"], None).len(), 1);
    let their_chunk = theirs.vectors("m").unwrap()[0].chunk;
    let our_chunks: Vec<i64> = ours.vectors("m").unwrap().iter().map(|vector| vector.chunk).collect();
    assert_eq!(our_chunks.len(), 1);
    // In a file of their own, both may have the same number.
    if our_chunks[0] != their_chunk {
        assert!(ours.chunks(&[their_chunk]).unwrap().is_empty());
    }
    drop((ours, theirs));
    one.remove().unwrap();
    let theirs = other.open_existing().unwrap().unwrap();
    assert_eq!((found(&theirs, &["zebra"], None).len(), theirs.vectors("m").unwrap().len()), (1, 1));
}

pub async fn the_nearest_are_told_or_left_to_whoever_asks(open: Open<'_>) {
    let store = open();
    let mut index = place(&store, "j1").open().unwrap();
    let chunks = [("", "east"), ("", "north"), ("", "north-east")];
    let files = vec![file("a.md", "1", &chunks), file("b.md", "2", &[("", "west")])];
    put(&mut index, &update("c1", files));
    let direction = |text: &str| match text {
        "east" => vec![1.0, 0.0],
        "north" => vec![0.0, 1.0],
        "west" => vec![-1.0, 0.0],
        _ => vec![0.7, 0.7],
    };
    let vectors = vectors_of(&index, "m", direction);
    index.put_vectors("m", &vectors).unwrap();
    let text = |ids: &[i64]| -> Vec<String> {
        index.chunks(ids).unwrap().into_iter().map(|chunk| chunk.text).collect()
    };
    // Where it is left to whoever asks, there is everything to compare.
    let Some(nearest) = index.nearest("m", &[1.0, 0.1], None, 3).unwrap() else {
        let mut all =
            text(&index.vectors("m").unwrap().iter().map(|vector| vector.chunk).collect::<Vec<_>>());
        all.sort_unstable();
        assert_eq!(all, ["east", "north", "north-east", "west"]);
        return;
    };
    assert_eq!(text(&nearest), ["east", "north-east", "north"]);
    let b = index.files().unwrap().iter().find(|file| file.path == "b.md").unwrap().id;
    assert_eq!(text(&index.nearest("m", &[1.0, 0.1], Some(&[b]), 3).unwrap().unwrap()), ["west"]);
    assert_eq!(index.nearest("other", &[1.0, 0.1], None, 3).unwrap(), Some(Vec::new()));
}

/// Another handle is another server of the team.
pub async fn what_one_handle_indexed_another_finds(open: Open<'_>) {
    let (one, other) = (open(), open());
    let files = vec![file("a.md", "1", &[("", "a zebra")])];
    put(place(&one, "j1").open().unwrap(), &update("c1", files));
    // A file beside the store is this machine's, and both handles are on it.
    let at = one.index("j1", &one.directory().join("j1.index.db"));
    let theirs = other.index("j1", &one.directory().join("j1.index.db"));
    assert_eq!(found(&theirs.open_existing().unwrap().unwrap(), &["zebra"], None), ["a zebra"]);
    let both = [at.clone(), theirs];
    let updating = both.iter().enumerate().map(|(n, place)| {
        let place = place.clone();
        tokio::task::spawn_blocking(move || {
            for round in 0..10 {
                let text = format!("heron {n} {round}");
                let change = update(&text, vec![file("a.md", &text, &[("", &text)])]);
                let mut index = place.open().unwrap();
                while index.update(&change, index.head().unwrap().as_deref()).unwrap() == Updated::Overtaken {
                }
            }
        })
    });
    for updated in updating.collect::<Vec<_>>() {
        updated.await.unwrap();
    }
    let index = at.open().unwrap();
    assert_eq!(found(&index, &["heron"], None).len(), 1, "one of them was last, whole");
    assert_eq!(index.state("m").unwrap().unwrap().chunks, 1);
}

/// Whoever is held and whoever asks about it both see to the index: the second one must not take out what the first has
/// just found.
pub async fn a_change_that_was_made_against_another_commit_is_left_out(open: Open<'_>) {
    let store = open();
    let place = place(&store, "j1");
    let (mut first, mut second) = (place.open().unwrap(), place.open().unwrap());
    let files = || vec![file("a.md", "2", &[("", "a zebra")])];
    for before in [None, Some("c1")] {
        let head = if before.is_none() { "c1" } else { "c2" };
        assert_eq!(first.update(&update(head, files()), before).unwrap(), Updated::Done);
        let ids = first.by_words(&words(&["zebra"]), None, 9).unwrap();
        let generation = first.generation().unwrap();
        for late in [update(head, files()), update("c9", vec![as_before("a.md", "p")])] {
            assert_eq!(second.update(&late, before).unwrap(), Updated::Overtaken);
        }
        assert_eq!((first.chunks(&ids).unwrap().len(), first.generation().unwrap()), (1, generation));
        assert_eq!(first.head().unwrap().as_deref(), Some(head));
    }
    // What it was made against is gone.
    place.remove().unwrap();
    let mut again = place.open().unwrap();
    assert_eq!(again.update(&update("c3", files()), Some("c2")).unwrap(), Updated::Overtaken);
}

/// Many at once, with what no back end may stumble over.
pub async fn much_is_indexed_at_once(open: Open<'_>) {
    let store = open();
    let mut index = place(&store, "j1").open().unwrap();
    let texts: Vec<String> =
        (0..1_300).map(|n| format!("passage {n} of\0 many {}", "ü".repeat(20))).collect();
    let files: Vec<IndexedFile> = texts
        .chunks(100)
        .enumerate()
        .map(|(n, texts)| {
            let chunks: Vec<(&str, &str)> = texts.iter().map(|text| ("H\0", text.as_str())).collect();
            file(&format!("f{n}.md"), "1", &chunks)
        })
        .collect();
    put(&mut index, &update("c1", files));
    assert_eq!(index.state("m").unwrap().unwrap().chunks, 1_300);
    assert_eq!(found(&index, &["1234"], None).len(), 1);
    assert_eq!(index.missing("m", 2_000).unwrap().len(), 1_300);
}
