//! Two rankings made one.

use std::collections::HashMap;
use std::hash::Hash;

use crate::query::coverage;
use crate::vector::Vector;

/// How little the first ranks differ from each other.
pub const FUSION_K: f32 = 60.0;

/// A passage with no more of the words than this was not found by them.
const COVERED_MIN: f32 = 0.5;

/// Reciprocal rank fusion: what stands high in any of the rankings stands high, what stands in several stands
/// higher. Each entry has a weight: a place counts as much as there is reason to believe in it. Best first; ties keep
/// the order of the first ranking.
pub fn fuse<T: Copy + Eq + Hash>(rankings: &[&[(T, f32)]]) -> Vec<(T, f32)> {
    let mut order: Vec<T> = Vec::new();
    let mut scores: HashMap<T, f32> = HashMap::new();
    for ranking in rankings {
        for (rank, (item, weight)) in (1_u16..).zip(ranking.iter()) {
            let score = scores.entry(*item).or_insert_with(|| {
                order.push(*item);
                0.0
            });
            *score += weight / (FUSION_K + f32::from(rank));
        }
    }
    let score = |item: &T| scores.get(item).copied().unwrap_or_default();
    let mut fused: Vec<(T, f32)> = order.iter().map(|item| (*item, score(item))).collect();
    fused.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    fused
}

/// How much a place in a ranking by words counts: a passage with one word of a long question is nearly chance, one
/// with all of them is what was meant.
pub fn weight_by_words(text: &str, terms: &[String]) -> f32 {
    let covered = coverage(text, terms);
    if covered > COVERED_MIN { covered * covered } else { 0.0 }
}

/// The vectors that are nearest to one, best first.
pub fn nearest<'v, T: Copy>(
    to: &Vector,
    among: impl Iterator<Item = (T, &'v Vector)>,
    limit: usize,
) -> Vec<(T, f32)> {
    let mut found: Vec<(T, f32)> = among.map(|(item, vector)| (item, to.similarity(vector))).collect();
    let by_score = |(_, one): &(T, f32), (_, other): &(T, f32)| other.total_cmp(one);
    if found.len() > limit && limit > 0 {
        found.select_nth_unstable_by(limit - 1, by_score);
        found.truncate(limit);
    }
    found.sort_by(by_score);
    found.truncate(limit);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_rankings_have_comes_first() {
        let fused = fuse(&[&[("a", 1.0), ("b", 1.0), ("c", 1.0)], &[("c", 1.0), ("d", 1.0)]]);
        let order: Vec<&str> = fused.iter().map(|(item, _)| *item).collect();
        assert_eq!(order, ["c", "a", "b", "d"]);
        assert!(fuse::<u8>(&[&[], &[]]).is_empty());
        // A place that is nearly chance does not win against one that is not.
        assert_eq!(fuse(&[&[("a", 0.1)], &[("b", 1.0), ("c", 1.0)]])[0].0, "b");
    }

    #[test]
    fn the_nearest_come_first() {
        let vectors: Vec<Vector> = (0..50_u8)
            .map(|number| Vector::normalised(&[f32::from(number), 50.0 - f32::from(number)]))
            .collect();
        let to = Vector::normalised(&[50.0, 0.0]);
        let found = nearest(&to, vectors.iter().enumerate(), 3);
        assert_eq!(found.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [49, 48, 47]);
        assert_eq!(nearest(&to, vectors.iter().enumerate().take(2), 9).len(), 2);
    }
}
