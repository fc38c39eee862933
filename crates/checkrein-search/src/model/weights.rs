//! The weights: read from the file that is part of the program.
//!
//! Tensors of two dimensions are kept in blocks of 32 values of 4 bits with one scale of 16 bits each; the words'
//! own vectors stay so and are unpacked as they are used.

use std::collections::HashMap;

use ndarray::Array2;
use serde::Deserialize;

pub(super) const HIDDEN: usize = 384;
pub(super) const HEADS: usize = 12;
pub(super) const HEAD: usize = 32;
pub(super) const INNER: usize = 1536;
const LAYERS: usize = 6;
const BLOCK: usize = 32;

static FILE: &[u8] = include_bytes!("../../model/minilm-l6.q4.safetensors");

pub(super) struct Weights {
    pub words: Packed,
    pub positions: Vec<f32>,
    pub kind: Vec<f32>,
    pub norm: Norm,
    pub layers: Vec<Layer>,
}

pub(super) struct Layer {
    /// Query, key and value beside each other.
    pub attend: Dense,
    pub attended: Dense,
    pub attended_norm: Norm,
    pub widen: Dense,
    pub narrow: Dense,
    pub norm: Norm,
}

pub(super) struct Dense {
    /// As it is multiplied: inputs in rows, outputs in columns.
    pub matrix: Array2<f32>,
    pub bias: Vec<f32>,
}

pub(super) struct Norm {
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
}

/// Values of 4 bits that are not unpacked.
pub(super) struct Packed {
    values: &'static [u8],
    scales: &'static [u8],
}

impl Weights {
    /// None only where the file in the program is not what it was.
    pub fn builtin() -> Option<Weights> {
        let file = File::read(FILE)?;
        let layer = |number: usize| {
            let name = |part: &str| format!("encoder.layer.{number}.{part}");
            let parts = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
            Some(Layer {
                attend: file.dense(&parts.each_ref().map(String::as_str), HIDDEN, HIDDEN)?,
                attended: file.dense(&[&name("attention.output.dense")], HIDDEN, HIDDEN)?,
                attended_norm: file.norm(&name("attention.output.LayerNorm"))?,
                widen: file.dense(&[&name("intermediate.dense")], HIDDEN, INNER)?,
                narrow: file.dense(&[&name("output.dense")], INNER, HIDDEN)?,
                norm: file.norm(&name("output.LayerNorm"))?,
            })
        };
        let all = |name: &str| file.packed(name).map(|packed| packed.all());
        Some(Weights {
            words: file.packed("embeddings.word_embeddings.weight")?,
            positions: all("embeddings.position_embeddings.weight")?,
            kind: all("embeddings.token_type_embeddings.weight")?.into_iter().take(HIDDEN).collect(),
            norm: file.norm("embeddings.LayerNorm")?,
            layers: (0..LAYERS).map(layer).collect::<Option<_>>()?,
        })
    }

    /// Multiplications and additions for a text of so many tokens.
    pub fn operations(tokens: usize) -> f64 {
        let dense = 4 * HIDDEN * HIDDEN + 2 * HIDDEN * INNER;
        let attention = 2 * tokens * HIDDEN;
        (2 * LAYERS * tokens * (dense + attention)) as f64
    }
}

impl Packed {
    /// Adds the values of one row.
    pub fn add_row(&self, row: usize, to: &mut [f32]) {
        let (from, blocks) = (row * HIDDEN, HIDDEN / BLOCK);
        let values = self.values.get(from / 2..(from + HIDDEN) / 2).unwrap_or_default();
        let scales = self.scales.get(row * blocks * 2..(row + 1) * blocks * 2).unwrap_or_default();
        for (slot, value) in to.iter_mut().zip(unpacked(values, scales)) {
            *slot += value;
        }
    }

    fn all(&self) -> Vec<f32> {
        unpacked(self.values, self.scales).collect()
    }
}

fn unpacked<'p>(values: &'p [u8], scales: &'p [u8]) -> impl Iterator<Item = f32> + 'p {
    let scales =
        scales.chunks_exact(2).map(|pair| half(u16::from_le_bytes(pair.try_into().unwrap_or_default())));
    values.chunks_exact(BLOCK / 2).zip(scales).flat_map(|(block, scale)| {
        block.iter().flat_map(move |two| [two & 15, two >> 4].map(|value| (f32::from(value) - 8.0) * scale))
    })
}

/// A number of 16 bits as one of 32.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    match exponent {
        0 => f32::from_bits(sign | 0x3880_0000) * (fraction as f32 / 1024.0),
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[derive(Deserialize)]
struct Tensor {
    data_offsets: (usize, usize),
}

struct File {
    tensors: HashMap<String, Tensor>,
    data: &'static [u8],
}

impl File {
    fn read(bytes: &'static [u8]) -> Option<File> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (head, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        Some(File { tensors: serde_json::from_slice(head).ok()?, data })
    }

    fn bytes(&self, name: &str) -> Option<&'static [u8]> {
        let (from, to) = self.tensors.get(name)?.data_offsets;
        self.data.get(from..to)
    }

    fn packed(&self, name: &str) -> Option<Packed> {
        Some(Packed {
            values: self.bytes(&format!("{name}.q4"))?,
            scales: self.bytes(&format!("{name}.scales"))?,
        })
    }

    fn numbers(&self, name: &str) -> Option<Vec<f32>> {
        let four = |four: &[u8]| f32::from_le_bytes(four.try_into().unwrap_or_default());
        Some(self.bytes(name)?.chunks_exact(4).map(four).collect())
    }

    fn norm(&self, name: &str) -> Option<Norm> {
        let part = |part: &str| self.numbers(&format!("{name}.{part}"));
        Some(Norm { weight: part("weight")?, bias: part("bias")? })
    }

    /// One matrix of several that are multiplied with the same input.
    fn dense(&self, names: &[&str], inputs: usize, outputs: usize) -> Option<Dense> {
        let (mut rows, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            rows.extend(self.packed(&format!("{name}.weight"))?.all());
            bias.extend(self.numbers(&format!("{name}.bias"))?);
        }
        let stored = Array2::from_shape_vec((outputs * names.len(), inputs), rows).ok()?;
        Some(Dense { matrix: stored.reversed_axes().as_standard_layout().into_owned(), bias })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read_as_they_are_meant() {
        for (bits, number) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8), (0, 0.0)]
        {
            assert_eq!(half(bits), number, "{bits:#x}");
        }
    }
}
