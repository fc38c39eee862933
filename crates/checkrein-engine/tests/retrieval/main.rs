//! How well passages are found: questions over 34 documents, many of them without a word in common with what they are
//! about. How the rankings are fused was chosen by the first set of questions; the second set was written afterwards and
//! nothing was chosen by it. The numbers of both are printed, on both back ends; both rankings together must be better
//! than each alone.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

#[path = "../../../checkrein-store/tests/shared/postgres.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod server;

use std::collections::HashMap;
use std::path::Path;

use checkrein_search::{DocumentKind, Model, Vector, chunks, fuse, nearest, terms, weight_by_words};
use checkrein_store::{
    IndexUpdate, Indexed, IndexedChunk, IndexedFile, NewVector, SearchIndex, Store, StoreAddress,
};
use jiff::Timestamp;

use server::PostgresServer;

const RANKED: usize = 60;
const QUESTIONS: &str = include_str!("questions.tsv");
const HELD_OUT: &str = include_str!("held-out.tsv");

#[derive(Clone, Copy, Default)]
struct Quality {
    found: usize,
    reciprocal: f64,
    asked: usize,
}

impl Quality {
    fn count(&mut self, ranking: &[i64], right: &[i64]) {
        self.asked += 1;
        if let Some(rank) = ranking.iter().position(|id| right.contains(id)) {
            self.found += usize::from(rank < 5);
            self.reciprocal += 1.0 / (rank + 1) as f64;
        }
    }

    fn recall(&self) -> f64 {
        self.found as f64 / self.asked as f64
    }

    fn mrr(&self) -> f64 {
        self.reciprocal / self.asked as f64
    }
}

struct Measured {
    words: Quality,
    meaning: Quality,
    both: Quality,
}

impl Measured {
    fn print(&self, name: &str) {
        println!("{name}: {} questions", self.words.asked);
        for (name, quality) in [("words", &self.words), ("meaning", &self.meaning), ("both", &self.both)] {
            println!("{name:>8}: recall@5 {:.3}  MRR {:.3}", quality.recall(), quality.mrr());
        }
    }

    fn together_is_better(&self) {
        for alone in [&self.words, &self.meaning] {
            assert!(self.both.recall() > alone.recall() && self.both.mrr() > alone.mrr());
        }
    }
}

#[test]
fn words_and_meaning_together_find_more_than_each_alone() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("store.db")).unwrap();
    measured(&store, "SQLite");
}

#[test]
fn the_same_on_a_server() {
    let (server, directory) = (PostgresServer::shared(), tempfile::tempdir().unwrap());
    let address = StoreAddress::parse(&server.database()).unwrap();
    let store = Store::open_at(&address, directory.path()).unwrap();
    measured(&store, "PostgreSQL");
}

fn measured(store: &Store, name: &str) {
    std::fs::create_dir_all(store.directory()).unwrap();
    let mut index = store.index("job", &store.directory().join("index.db")).open().unwrap();
    let files = documents();
    assert!(files.len() >= 30);
    let update = IndexUpdate { head: "h".into(), phase: "p".into(), at: Timestamp::UNIX_EPOCH, files };
    index.update(&update, None).unwrap();
    let model = Model::builtin().unwrap();
    let missing = index.missing(Model::NAME, 10_000).unwrap();
    let texts: Vec<&str> = missing.iter().map(|(_, text)| text.as_str()).collect();
    let vectors = model.embed_all(&texts, 2);
    let row = |(digest, vector): (&checkrein_core::deliverable::Digest, &Vector)| NewVector {
        digest: *digest,
        bytes: vector.to_bytes(),
        numbers: vector.numbers().collect(),
    };
    let rows: Vec<NewVector> = missing.iter().map(|(digest, _)| digest).zip(&vectors).map(row).collect();
    index.put_vectors(Model::NAME, &rows).unwrap();

    let tuned = asked(&index, model, QUESTIONS);
    assert!(tuned.words.asked >= 100);
    tuned.print(&format!("{name}, the set that fusion was chosen by"));
    let held_out = asked(&index, model, HELD_OUT);
    held_out.print(&format!("{name}, held out"));
    tuned.together_is_better();
    held_out.together_is_better();
}

fn documents() -> Vec<IndexedFile> {
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/retrieval/documents");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(documents).unwrap() {
        let entry = entry.unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        let found = chunks(DocumentKind::Markdown, &bytes).unwrap().into_iter().map(|chunk| IndexedChunk {
            digest: chunk.digest(),
            heading: chunk.heading,
            first_line: chunk.first_line,
            last_line: chunk.last_line,
            text: chunk.text,
        });
        files.push(IndexedFile {
            path: entry.file_name().into_string().unwrap(),
            content: "1".to_owned(),
            phase: None,
            found: Indexed::Chunks(found.collect()),
        });
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

fn asked(index: &SearchIndex, model: &Model, questions: &str) -> Measured {
    let vectors: Vec<(i64, Vector)> = index
        .vectors(Model::NAME)
        .unwrap()
        .into_iter()
        .map(|row| (row.chunk, Vector::from_bytes(&row.vector).unwrap()))
        .collect();
    let ids: Vec<i64> = vectors.iter().map(|(id, _)| *id).collect();
    let mut places: HashMap<(String, String), Vec<i64>> = HashMap::new();
    for chunk in index.chunks(&ids).unwrap() {
        let heading = chunk.heading.rsplit(" › ").next().unwrap().to_owned();
        places.entry((chunk.path, heading)).or_default().push(chunk.id);
    }
    let (mut words, mut meaning, mut both) = (Quality::default(), Quality::default(), Quality::default());
    for line in questions.lines() {
        let [file, heading, question] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let right = &places[&(file.to_owned(), heading.to_owned())];
        let by_words = index.by_words(&terms(question), None, RANKED).unwrap();
        let asked = model.embed(question);
        let numbers: Vec<f32> = asked.numbers().collect();
        let by_meaning = index.nearest(Model::NAME, &numbers, None, RANKED).unwrap().unwrap_or_else(|| {
            let near = nearest(&asked, vectors.iter().map(|(id, vector)| (*id, vector)), RANKED);
            near.into_iter().map(|(id, _)| id).collect()
        });
        let weighted: Vec<(i64, f32)> = index
            .chunks(&by_words)
            .unwrap()
            .iter()
            .map(|chunk| {
                (chunk.id, weight_by_words(&format!("{} {}", chunk.heading, chunk.text), &terms(question)))
            })
            .collect();
        let near: Vec<(i64, f32)> = by_meaning.iter().map(|id| (*id, 1.0)).collect();
        let fused: Vec<i64> = fuse(&[&weighted, &near]).into_iter().map(|(id, _)| id).collect();
        if std::env::var_os("CHECKREIN_SHOW").is_some() {
            let place =
                |ranking: &[i64]| ranking.iter().position(|id| right.contains(id)).map_or(0, |r| r + 1);
            println!("{:>3} {:>3} {:>3}  {question}", place(&by_words), place(&by_meaning), place(&fused));
        }
        words.count(&by_words, right);
        meaning.count(&by_meaning, right);
        both.count(&fused, right);
    }
    Measured { words, meaning, both }
}
