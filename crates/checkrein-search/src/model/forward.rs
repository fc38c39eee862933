//! From tokens to a vector: six layers of attention, the mean over all tokens, length 1.

use ndarray::{Array2, Axis, s};

use super::math::{add_and_normalise, dense, gelu, product, softmax};
use super::weights::{HEAD, HEADS, HIDDEN, INNER, Weights};
use crate::vector::Vector;
use crate::wordpiece::Tokens;

/// Room for what is between the layers, used again from batch to batch.
#[derive(Default)]
pub(super) struct Scratch {
    attend: Array2<f32>,
    attended: Array2<f32>,
    wide: Array2<f32>,
    narrow: Array2<f32>,
    scores: Array2<f32>,
}

impl Scratch {
    fn fit(&mut self, tokens: usize, longest: usize) {
        let room = |matrix: &mut Array2<f32>, rows: usize, columns: usize| {
            if matrix.dim() != (rows, columns) {
                *matrix = Array2::zeros((rows, columns));
            }
        };
        room(&mut self.attend, tokens, 3 * HIDDEN);
        room(&mut self.attended, tokens, HIDDEN);
        room(&mut self.wide, tokens, INNER);
        room(&mut self.narrow, tokens, HIDDEN);
        room(&mut self.scores, longest, longest);
    }
}

impl Weights {
    /// The texts stand below each other in one matrix, without padding; only attention keeps them apart.
    pub fn forward(&self, texts: &[Tokens], scratch: &mut Scratch) -> Vec<Vector> {
        let total: usize = texts.iter().map(Tokens::len).sum();
        let longest = texts.iter().map(Tokens::len).max().unwrap_or(0);
        scratch.fit(total, longest);
        let mut state = self.embedded(texts, total);
        for layer in &self.layers {
            dense(&state.view(), &layer.attend, &mut scratch.attend);
            self.attention(texts, scratch);
            dense(&scratch.attended.view(), &layer.attended, &mut scratch.narrow);
            let rows = state.as_slice_mut().unwrap_or_default();
            add_and_normalise(rows, scratch.narrow.as_slice(), &layer.attended_norm);
            dense(&state.view(), &layer.widen, &mut scratch.wide);
            gelu(scratch.wide.as_slice_mut().unwrap_or_default());
            dense(&scratch.wide.view(), &layer.narrow, &mut scratch.narrow);
            let rows = state.as_slice_mut().unwrap_or_default();
            add_and_normalise(rows, scratch.narrow.as_slice(), &layer.norm);
        }
        let mut from = 0;
        let pooled = texts.iter().map(|text| {
            let rows = state.slice(s![from..from + text.len(), ..]);
            from += text.len();
            let mean = rows.mean_axis(Axis(0)).map(|mean| mean.to_vec()).unwrap_or_default();
            Vector::normalised(&mean)
        });
        pooled.collect()
    }

    fn embedded(&self, texts: &[Tokens], total: usize) -> Array2<f32> {
        let mut state = Array2::<f32>::zeros((total, HIDDEN));
        let rows = state.as_slice_mut().unwrap_or_default();
        let places = texts.iter().flat_map(|text| text.iter().enumerate());
        for (row, (position, token)) in rows.chunks_exact_mut(HIDDEN).zip(places) {
            let position = self.positions.get(position * HIDDEN..(position + 1) * HIDDEN).unwrap_or_default();
            for ((value, position), kind) in row.iter_mut().zip(position).zip(&self.kind) {
                *value = position + kind;
            }
            self.words.add_row(token, row);
        }
        add_and_normalise(rows, None, &self.norm);
        state
    }

    /// Each text by itself, each head by itself.
    fn attention(&self, texts: &[Tokens], scratch: &mut Scratch) {
        let scale = 1.0 / (HEAD as f32).sqrt();
        let Scratch { attend, attended, scores, .. } = scratch;
        let mut from = 0;
        for text in texts {
            let to = from + text.len();
            for head in 0..HEADS {
                let part = |number: usize| {
                    let column = number * HIDDEN + head * HEAD;
                    attend.slice(s![from..to, column..column + HEAD])
                };
                let (query, key, value) = (part(0), part(1), part(2));
                let mut scores = scores.slice_mut(s![..text.len(), ..text.len()]);
                product(scale, &query, &key.t(), &mut scores);
                softmax(&mut scores);
                let mut out = attended.slice_mut(s![from..to, head * HEAD..(head + 1) * HEAD]);
                product(1.0, &scores.view(), &value, &mut out);
            }
            from = to;
        }
    }
}
