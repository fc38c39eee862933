//! The arithmetic beside matrix products, written so that compilers make vector instructions of it.

use std::time::{Duration, Instant};

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use super::weights::{Dense, HIDDEN, INNER, Norm};

/// Lengths of normalised rows are kept from zero by this much.
const EPSILON: f32 = 1e-12;

/// Rows times a matrix plus its bias.
pub fn dense(input: &ArrayView2<'_, f32>, by: &Dense, output: &mut Array2<f32>) {
    for mut row in output.rows_mut() {
        if let Some(row) = row.as_slice_mut() {
            row.copy_from_slice(by.bias.get(..row.len()).unwrap_or_default());
        }
    }
    general_mat_mul(1.0, input, &by.matrix.view(), 1.0, output);
}

pub fn product(
    scale: f32,
    left: &ArrayView2<'_, f32>,
    right: &ArrayView2<'_, f32>,
    to: &mut ArrayViewMut2<'_, f32>,
) {
    general_mat_mul(scale, left, right, 0.0, to);
}

/// Adds `more` to each row, then brings the row to mean 0 and length 1, as the layer was taught.
pub fn add_and_normalise(rows: &mut [f32], more: Option<&[f32]>, norm: &Norm) {
    if let Some(more) = more {
        rows.iter_mut().zip(more).for_each(|(value, more)| *value += more);
    }
    for row in rows.chunks_exact_mut(HIDDEN) {
        let mean = sum(row.iter().copied()) / HIDDEN as f32;
        let variance = sum(row.iter().map(|value| (value - mean) * (value - mean))) / HIDDEN as f32;
        let scale = 1.0 / (variance + EPSILON).sqrt();
        for ((value, weight), bias) in row.iter_mut().zip(&norm.weight).zip(&norm.bias) {
            *value = (*value - mean) * scale * weight + bias;
        }
    }
}

/// Four sums beside each other: in one, each addition would wait for the one before.
fn sum(values: impl ExactSizeIterator<Item = f32>) -> f32 {
    let mut sums = [0.0_f32; 8];
    let mut lane = 0;
    for value in values {
        if let Some(sum) = sums.get_mut(lane) {
            *sum += value;
        }
        lane = (lane + 1) & 7;
    }
    sums.iter().sum()
}

/// Makes each row say how much it attends to what.
pub fn softmax(rows: &mut ArrayViewMut2<'_, f32>) {
    for mut row in rows.rows_mut() {
        let Some(row) = row.as_slice_mut() else { continue };
        let most = row.iter().copied().fold(f32::MIN, f32::max);
        row.iter_mut().for_each(|value| *value = exp(*value - most));
        let total = 1.0 / row.iter().sum::<f32>();
        row.iter_mut().for_each(|value| *value *= total);
    }
}

pub fn gelu(values: &mut [f32]) {
    for value in values {
        *value = 0.5 * *value * (1.0 + erf(*value * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// e to the power of a number that is not positive.
fn exp(x: f32) -> f32 {
    const SHIFT: f32 = 12_582_912.0;
    let x = x.max(-87.0);
    let shifted = x * std::f32::consts::LOG2_E + SHIFT;
    let rest = x - (shifted - SHIFT) * std::f32::consts::LN_2;
    let series = 1.0 / 120.0;
    let series = series * rest + 1.0 / 24.0;
    let series = series * rest + 1.0 / 6.0;
    let series = (series * rest + 0.5) * rest;
    let series = (series + 1.0) * rest + 1.0;
    // The whole part is in the last bits of the shifted number.
    let power = shifted.to_bits().wrapping_sub(SHIFT.to_bits()).wrapping_add(127) << 23;
    series * f32::from_bits(power)
}

/// As a quotient of two polynomials, good to the last bits of 32.
fn erf(x: f32) -> f32 {
    let x = x.clamp(-4.0, 4.0);
    let y = x * x;
    let above = -2.726_142_3e-10;
    let above = above * y + 2.770_681_4e-8;
    let above = above * y - 2.101_024e-6;
    let above = above * y - 5.692_506_4e-5;
    let above = above * y - 7.349_906_3e-4;
    let above = above * y - 2.954_6e-3;
    let above = (above * y - 1.609_603_3e-2) * x;
    let below = -1.456_607_2e-5;
    let below = below * y - 2.133_740_5e-4;
    let below = below * y - 1.682_827e-3;
    let below = below * y - 7.373_329_2e-3;
    above / (below * y - 1.426_473_9e-2)
}

/// The best of several tries with every shape that the model multiplies, and a square one: rows of the left, what both
/// have in common, columns of the right.
pub fn ceiling(threads: usize) -> f64 {
    const SHAPES: [(usize, usize, usize); 5] = [
        (768, 768, 768),
        (768, HIDDEN, 3 * HIDDEN),
        (768, HIDDEN, HIDDEN),
        (768, HIDDEN, INNER),
        (768, INNER, HIDDEN),
    ];
    let rounds = |(rows, common, columns): (usize, usize, usize), for_at_least: Duration| {
        let left = Array2::<f32>::from_elem((rows, common), 0.5);
        let right = Array2::<f32>::from_elem((common, columns), 0.25);
        let mut out = Array2::<f32>::zeros((rows, columns));
        let (begun, mut rounds) = (Instant::now(), 0_u32);
        while begun.elapsed() < for_at_least {
            general_mat_mul(1.0, &left, &right, 0.0, &mut out);
            rounds += 1;
        }
        f64::from(rounds) * 2.0 * (rows * common * columns) as f64 / begun.elapsed().as_secs_f64()
    };
    let together = |shape| {
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads.max(1))
                .map(|_| scope.spawn(move || rounds(shape, Duration::from_millis(20))))
                .collect();
            running.into_iter().filter_map(|one| one.join().ok()).sum::<f64>()
        })
    };
    // Many short ones: some of them are disturbed by nobody.
    let tries = (0..20).flat_map(|_| SHAPES);
    tries.map(together).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_near_what_they_stand_for() {
        for (x, expected) in
            [(0.0, 0.0), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (-2.0, -0.995_322_3), (9.0, 1.0)]
        {
            assert!((erf(x) - expected).abs() < 1e-5, "erf {x}: {}", erf(x));
        }
        for x in [0.0_f32, -0.3, -1.0, -5.5, -20.0, -86.0] {
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-4, "exp {x}: {}", exp(x));
        }
        assert!(exp(-1000.0) < 1e-30);
    }
}
