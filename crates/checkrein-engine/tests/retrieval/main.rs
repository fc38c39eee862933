//! How well passages are found: 127 questions over 34 documents, many of them without a word in common with what
//! they are about. The numbers are printed; both together must be better than each alone.

use std::collections::HashMap;
use std::path::Path;

use checkrein_search::{DocumentKind, Model, Vector, chunks, fuse, nearest, terms, weight_by_words};
use checkrein_store::{IndexUpdate, Indexed, IndexedChunk, IndexedFile, SearchIndex};
use jiff::Timestamp;

const RANKED: usize = 60;
const QUESTIONS: &str = include_str!("questions.tsv");

#[derive(Default)]
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

#[test]
fn words_and_meaning_together_find_more_than_each_alone() {
    let directory = tempfile::tempdir().unwrap();
    let mut index = SearchIndex::open(&directory.path().join("index.db")).unwrap();
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
    assert!(files.len() >= 30);
    let update = IndexUpdate { head: "h".into(), phase: "p".into(), at: Timestamp::UNIX_EPOCH, files };
    index.update(&update).unwrap();

    let model = Model::builtin().unwrap();
    let missing = index.missing(Model::NAME, 10_000).unwrap();
    let texts: Vec<&str> = missing.iter().map(|(_, text)| text.as_str()).collect();
    let vectors = model.embed_all(&texts, 2);
    let rows: Vec<_> = missing.iter().zip(&vectors).map(|((digest, _), v)| (*digest, v.to_bytes())).collect();
    index.put_vectors(Model::NAME, &rows).unwrap();
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
    for line in QUESTIONS.lines() {
        let [file, heading, question] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let right = &places[&(file.to_owned(), heading.to_owned())];
        let by_words = index.by_words(&terms(question), None, RANKED).unwrap();
        let asked = model.embed(question);
        let near = nearest(&asked, vectors.iter().map(|(id, vector)| (*id, vector)), RANKED);
        let by_meaning: Vec<i64> = near.into_iter().map(|(id, _)| id).collect();
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
    assert!(words.asked >= 100);
    println!("{} questions, {} passages", words.asked, vectors.len());
    for (name, quality) in [("words", &words), ("meaning", &meaning), ("both", &both)] {
        println!("{name:>8}: recall@5 {:.3}  MRR {:.3}", quality.recall(), quality.mrr());
    }
    for alone in [&words, &meaning] {
        assert!(both.recall() > alone.recall() && both.mrr() > alone.mrr());
    }
}
