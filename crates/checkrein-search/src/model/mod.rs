//! The built-in embedding model: all-MiniLM-L6-v2 with weights of 4 bits, run on nothing but matrix products.

mod forward;
mod math;
mod weights;

use std::sync::OnceLock;

use crate::vector::Vector;
use crate::wordpiece::{Tokens, WordPiece};
use forward::Scratch;
use weights::Weights;

/// Tokens of a text beyond this are not read: the model was taught on texts of that length.
pub const TOKENS_MAX: usize = 128;
/// Tokens that go through the model together. More of them make better use of a core, until its cache is full.
const BATCH_TOKENS: usize = 768;

pub struct Model {
    words: WordPiece,
    weights: Weights,
}

impl Model {
    /// What vectors were made with: others cannot be compared with them.
    pub const NAME: &'static str = "all-minilm-l6-v2-q4";

    /// Made whole the first time it is asked for; that takes some tens of milliseconds and 45 MB.
    pub fn builtin() -> Option<&'static Model> {
        static MODEL: OnceLock<Option<Model>> = OnceLock::new();
        MODEL
            .get_or_init(|| Some(Model { words: WordPiece::builtin(), weights: Weights::builtin()? }))
            .as_ref()
    }

    /// The vector of one text.
    pub fn embed(&self, text: &str) -> Vector {
        let tokens = self.words.tokens(text, TOKENS_MAX);
        self.weights.forward(&[tokens], &mut Scratch::default()).pop().unwrap_or_default()
    }

    /// The vectors of many texts, in their order, on so many threads.
    pub fn embed_all(&self, texts: &[&str], threads: usize) -> Vec<Vector> {
        let mut all: Vec<(usize, Tokens)> =
            texts.iter().map(|text| self.words.tokens(text, TOKENS_MAX)).enumerate().collect();
        // Texts of one length go together.
        all.sort_by_key(|(_, tokens)| tokens.len());
        let batches = batches(&all);
        let next = std::sync::atomic::AtomicUsize::new(0);
        let work = || {
            let mut scratch = Scratch::default();
            let mut done: Vec<(usize, Vector)> = Vec::new();
            while let Some(batch) = batches.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                let tokens: Vec<Tokens> = batch.iter().map(|(_, tokens)| tokens.clone()).collect();
                let vectors = self.weights.forward(&tokens, &mut scratch);
                done.extend(batch.iter().map(|(place, _)| *place).zip(vectors));
            }
            done
        };
        let mut vectors = vec![Vector::default(); texts.len()];
        let mut put = |done: Vec<(usize, Vector)>| {
            for (place, vector) in done {
                if let Some(slot) = vectors.get_mut(place) {
                    *slot = vector;
                }
            }
        };
        match threads.min(batches.len()) {
            0 | 1 => put(work()),
            threads => std::thread::scope(|scope| {
                let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                running.into_iter().filter_map(|one| one.join().ok()).for_each(&mut put);
            }),
        }
        vectors
    }

    /// How many multiplications and additions of matrices the texts take.
    pub fn operations(&self, texts: &[&str]) -> f64 {
        let lengths = texts.iter().map(|text| self.words.tokens(text, TOKENS_MAX).len());
        lengths.map(Weights::operations).sum()
    }
}

fn batches(all: &[(usize, Tokens)]) -> Vec<&[(usize, Tokens)]> {
    let mut batches = Vec::new();
    let mut rest = all;
    while !rest.is_empty() {
        let mut tokens = 0;
        let fits = rest.iter().take_while(|(_, next)| {
            tokens += next.len();
            tokens <= BATCH_TOKENS
        });
        let count = fits.count().max(1);
        let (batch, more) = rest.split_at(count.min(rest.len()));
        batches.push(batch);
        rest = more;
    }
    batches
}

/// What this machine can do at best in the same arithmetic on so many threads: operations in a second.
pub fn matmul_flops_per_second(threads: usize) -> f64 {
    math::ceiling(threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(one: &str, other: &str) -> f32 {
        let model = Model::builtin().unwrap();
        model.embed(one).similarity(&model.embed(other))
    }

    #[test]
    fn texts_that_mean_the_same_are_near_each_other() {
        let same = alike("database connection refused", "cannot connect to postgres server");
        let other = alike("rotate the API keys", "bake bread at 220 degrees");
        assert!(same > 0.45, "{same}");
        assert!(other.abs() < 0.12, "{other}");
        assert!((alike("the same text", "the same text") - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_text_has_the_same_vector_alone_and_among_others() {
        let model = Model::builtin().unwrap();
        let long = "a much longer text about roll-backs, deployments and what to do when a migration fails "
            .repeat(12);
        let texts = ["how to roll back a release", "", "ß Überschrift 日本語", long.as_str(), "x"];
        for threads in [1, 2] {
            for (text, vector) in texts.iter().zip(model.embed_all(&texts, threads)) {
                let alone = model.embed(text);
                assert!(alone.similarity(&vector) > 0.999, "{text}");
            }
        }
    }
}
