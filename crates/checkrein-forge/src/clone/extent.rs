//! What a tree comes to when it is written out: trees that repeat make few objects many files.

use std::collections::HashMap;

use crate::error::ForgeError;
use crate::oid::Oid;
use crate::repository::{Bare, Format};

/// What a tree comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub files: u64,
    /// Of all paths together.
    pub path_bytes: u64,
    /// How many directories are above its deepest file.
    pub depth: u64,
    /// Of all files together.
    pub bytes: u64,
}

/// The trees of one collection are not larger together, and have not more levels.
const TREES_BYTES_MAX: usize = 256 << 20;

impl Bare {
    /// The extents of trees, each read once however often it repeats; none where there is too much to be read.
    pub(super) fn extents(&self, trees: &[Oid]) -> Result<Option<HashMap<Oid, Extent>>, ForgeError> {
        let mut read: HashMap<Oid, Vec<Entry>> = HashMap::new();
        let mut blobs = Blobs::default();
        let (mut wanted, mut bytes_left) = (trees.to_vec(), TREES_BYTES_MAX);
        while !wanted.is_empty() {
            wanted.sort();
            wanted.dedup();
            let Some(contents) = self.contents(&wanted, bytes_left)? else { return Ok(None) };
            bytes_left = contents.iter().fold(bytes_left, |left, content| left.saturating_sub(content.len()));
            let mut next = Vec::new();
            for (tree, content) in wanted.into_iter().zip(contents) {
                let entries = entries(&content, self.format(), &mut blobs);
                next.extend(entries.iter().filter_map(|entry| entry.tree.clone()));
                read.insert(tree, entries);
            }
            next.retain(|tree| !read.contains_key(tree));
            wanted = next;
        }
        let sizes = self.sizes(&blobs.names)?;
        Ok(Some(measure(trees, &read, &sizes)))
    }

    /// How large objects are, in their order; none is as large as those that are not there.
    fn sizes(&self, objects: &[Oid]) -> Result<Vec<u64>, ForgeError> {
        if objects.is_empty() {
            return Ok(Vec::new());
        }
        let names: String = objects.iter().map(|oid| format!("{oid}\n")).collect();
        let call = self.call(["cat-file", "--buffer", "--batch-check=%(objectsize)"]);
        let said = call.run_with(names.into_bytes())?;
        Ok(String::from_utf8_lossy(&said).lines().map(|line| line.parse().unwrap_or_default()).collect())
    }
}

/// The files of all trees, each once.
#[derive(Default)]
struct Blobs {
    known: HashMap<Oid, usize>,
    names: Vec<Oid>,
}

impl Blobs {
    fn number(&mut self, blob: Oid) -> usize {
        let next = self.names.len();
        *self.known.entry(blob).or_insert_with_key(|blob| {
            self.names.push(blob.clone());
            next
        })
    }
}

struct Entry {
    name_bytes: u64,
    /// None of a file.
    tree: Option<Oid>,
    /// Which of the blobs a file is; none where its content is elsewhere.
    blob: Option<usize>,
}

/// `mode name<nul>oid`, again and again.
fn entries(content: &[u8], format: Format, blobs: &mut Blobs) -> Vec<Entry> {
    let oid_bytes = match format {
        Format::Sha1 => 20,
        Format::Sha256 => 32,
    };
    let (mut rest, mut entries) = (content, Vec::new());
    while let Some(end) = rest.iter().position(|b| *b == 0) {
        let (head, body) = rest.split_at(end);
        let name = head.iter().position(|b| *b == b' ').map_or(0, |space| head.len() - space - 1);
        let Some(oid) = body.get(1..oid_bytes + 1) else { break };
        let is_tree = head.starts_with(b"40000 ") || head.starts_with(b"040000 ");
        let is_elsewhere = head.starts_with(b"160000 ");
        let hex: String = oid.iter().map(|byte| format!("{byte:02x}")).collect();
        let oid = Oid::parse(&hex).ok().filter(|_| !is_elsewhere);
        let (tree, blob) = match is_tree {
            true => (oid, None),
            false => (None, oid.map(|oid| blobs.number(oid))),
        };
        entries.push(Entry { name_bytes: u64::try_from(name).unwrap_or(u64::MAX), tree, blob });
        rest = body.get(oid_bytes + 1..).unwrap_or_default();
    }
    entries
}

/// Trees that are below others come first, without a call for each level: there may be very many.
fn measure(trees: &[Oid], read: &HashMap<Oid, Vec<Entry>>, sizes: &[u64]) -> HashMap<Oid, Extent> {
    let mut known: HashMap<Oid, Extent> = HashMap::new();
    let mut left: Vec<&Oid> = trees.iter().collect();
    while let Some(tree) = left.last().copied() {
        let entries = read.get(tree).map(Vec::as_slice).unwrap_or_default();
        let below = entries.iter().filter_map(|entry| entry.tree.as_ref());
        let missing: Vec<&Oid> = below.filter(|below| !known.contains_key(*below)).collect();
        if !missing.is_empty() {
            left.extend(missing);
            continue;
        }
        let mut extent = Extent::default();
        for entry in entries {
            let one = match &entry.tree {
                None => {
                    let bytes = entry.blob.and_then(|blob| sizes.get(blob)).copied().unwrap_or_default();
                    Extent { files: 1, bytes, ..Extent::default() }
                }
                Some(tree) => known.get(tree).copied().unwrap_or_default(),
            };
            // An empty tree is written out as nothing, and takes its turn all the same.
            let names = entry.name_bytes.saturating_add(1).saturating_mul(one.files.max(1));
            extent.files = extent.files.saturating_add(one.files);
            extent.path_bytes = extent.path_bytes.saturating_add(one.path_bytes).saturating_add(names);
            extent.bytes = extent.bytes.saturating_add(one.bytes);
            extent.depth = extent.depth.max(one.depth + u64::from(entry.tree.is_some()));
        }
        known.insert(tree.clone(), extent);
        left.pop();
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(number: usize) -> Oid {
        Oid::parse(&format!("{number:040x}")).unwrap()
    }

    #[test]
    fn trees_that_repeat_are_counted_as_often_as_they_are_written_out() {
        let file = || Entry { name_bytes: 1, tree: None, blob: Some(0) };
        let tree = |number| Entry { name_bytes: 3, tree: Some(oid(number)), blob: None };
        let mut read = HashMap::from([(oid(0), vec![file(), file()])]);
        for number in 1..=9 {
            read.insert(oid(number), (0..10).map(|_| tree(number - 1)).collect());
        }
        let known = measure(&[oid(9)], &read, &[60]);
        assert_eq!(known[&oid(0)], Extent { files: 2, path_bytes: 4, depth: 0, bytes: 120 });
        let of_ten = Extent { files: 20, path_bytes: 10 * (4 + 2 * 4), depth: 1, bytes: 1_200 };
        assert_eq!(known[&oid(1)], of_ten);
        assert_eq!(known[&oid(9)].files, 2_000_000_000);
        assert_eq!(known[&oid(9)].bytes, 120_000_000_000);
        // A chain that no stack of calls would hold, each with all that are below it.
        let chain = HashMap::from_iter((0..50_000).map(|number| {
            let below = if number == 0 { file() } else { tree(number - 1) };
            (oid(number), vec![below, file()])
        }));
        let known = measure(&[oid(49_999)], &chain, &[]);
        assert_eq!(known[&oid(49_999)].depth, 49_999);
        assert_eq!(known[&oid(49_999)].files, 50_001);
    }

    #[test]
    fn entries_are_read_from_the_bytes_of_a_tree() {
        let mut bytes = b"100644 a.txt\0".to_vec();
        bytes.extend([1; 20]);
        bytes.extend(b"40000 dir\0");
        bytes.extend([0xab; 20]);
        bytes.extend(b"100755 b\0");
        bytes.extend([1; 20]);
        bytes.extend(b"160000 sub\0");
        bytes.extend([2; 20]);
        let mut blobs = Blobs::default();
        let read = entries(&bytes, Format::Sha1, &mut blobs);
        let shown: Vec<_> =
            read.iter().map(|e| (e.name_bytes, e.tree.as_ref().map(Oid::as_str), e.blob)).collect();
        let tree = "ab".repeat(20);
        assert_eq!(
            shown,
            [(5, None, Some(0)), (3, Some(tree.as_str()), None), (1, None, Some(0)), (3, None, None)]
        );
        assert_eq!(blobs.names.len(), 1);
        assert!(entries(b"100644 cut\0abc", Format::Sha1, &mut blobs).is_empty());
    }
}
