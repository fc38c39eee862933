//! Takes secrets out of a stream that comes in pieces.

use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

/// Shorter ones would be found in every other word.
const SECRET_BYTES_MIN: usize = 4;

const MASK: &[u8] = b"***";

/// The secrets of an attempt; both of its streams look for the same ones.
#[derive(Clone)]
pub(super) struct Secrets(Option<Arc<Known>>);

struct Known {
    values: Vec<Vec<u8>>,
    bytes_max: usize,
    search: AhoCorasick,
}

pub(super) struct Redactor {
    secrets: Secrets,
    /// What may be the beginning of a secret; the next piece will tell.
    held: Vec<u8>,
}

impl Secrets {
    pub fn new(values: impl IntoIterator<Item = String>) -> Result<Secrets, aho_corasick::BuildError> {
        let values = values.into_iter().map(String::into_bytes);
        let values: Vec<Vec<u8>> = values.filter(|value| value.len() >= SECRET_BYTES_MIN).collect();
        let Some(bytes_max) = values.iter().map(Vec::len).max() else { return Ok(Secrets(None)) };
        // A secret may begin with another one; the longer one must not leave its end behind.
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&values)?;
        Ok(Secrets(Some(Arc::new(Known { values, bytes_max, search }))))
    }
}

impl Redactor {
    pub fn new(secrets: Secrets) -> Redactor {
        Redactor { secrets, held: Vec::new() }
    }

    /// Hands on what is certain by now.
    pub fn push(&mut self, piece: &[u8], out: &mut impl FnMut(&[u8])) {
        let Secrets(Some(known)) = &self.secrets else { return out(piece) };
        if self.held.is_empty() {
            let rest = known.redact(piece, out);
            self.held.extend_from_slice(rest);
        } else {
            self.held.extend_from_slice(piece);
            let rest = known.redact(&self.held, out).len();
            self.held.drain(..self.held.len() - rest);
        }
    }

    /// Nothing more comes: what was held back is no longer the beginning of anything.
    pub fn finish(self, out: &mut impl FnMut(&[u8])) {
        if let Secrets(Some(known)) = &self.secrets {
            known.redact_all(&self.held, out);
        }
    }
}

impl Known {
    /// Hands on everything up to what may be a secret that is not complete yet, which it returns.
    fn redact<'a>(&self, text: &'a [u8], out: &mut impl FnMut(&[u8])) -> &'a [u8] {
        let mut rest = text;
        let mut open = self.open(rest);
        loop {
            // INVARIANT: no secret that begins before `open` reaches beyond the text, so the first and
            // longest match there stays the first and longest whatever comes.
            match self.search.find(rest).filter(|found| found.start() < rest.len() - open) {
                Some(found) => {
                    out(rest.get(..found.start()).unwrap_or_default());
                    out(MASK);
                    rest = rest.get(found.end()..).unwrap_or_default();
                    if open > rest.len() {
                        open = self.open(rest);
                    }
                }
                None => {
                    let (certain, open) = rest.split_at(rest.len() - open);
                    out(certain);
                    return open;
                }
            }
        }
    }

    /// How many of the last bytes may be the beginning of a secret.
    fn open(&self, text: &[u8]) -> usize {
        let longest = text.len().min(self.bytes_max - 1);
        let begins =
            |end: &[u8]| self.values.iter().any(|value| value.len() > end.len() && value.starts_with(end));
        let end = |bytes: &usize| text.get(text.len() - bytes..).unwrap_or_default();
        (1..=longest).rev().find(|bytes| begins(end(bytes))).unwrap_or(0)
    }

    fn redact_all(&self, text: &[u8], out: &mut impl FnMut(&[u8])) {
        let mut from = 0;
        for found in self.search.find_iter(text) {
            out(text.get(from..found.start()).unwrap_or_default());
            out(MASK);
            from = found.end();
        }
        out(text.get(from..).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn redacted(secrets: &[&str], pieces: &[&[u8]]) -> Vec<u8> {
        let secrets = Secrets::new(secrets.iter().map(|secret| (*secret).to_owned())).unwrap();
        let mut redactor = Redactor::new(secrets);
        let mut all = Vec::new();
        let mut out = |bytes: &[u8]| all.extend_from_slice(bytes);
        pieces.iter().for_each(|piece| redactor.push(piece, &mut out));
        redactor.finish(&mut out);
        all
    }

    #[test]
    fn a_secret_is_found_wherever_it_is_cut() {
        for (secrets, pieces, expected) in [
            (&["hunter2"][..], &["my hunter2!"][..], "my ***!"),
            (&["hunter2"], &["my hun", "ter2!"], "my ***!"),
            (&["hunter2"], &["h", "u", "n", "t", "e", "r", "2"], "***"),
            (&["hunter2"], &["hunter", "hunter2hunter"], "hunter***hunter"),
            (&["hunter2"], &["hunt"], "hunt"),
            (&["hunter2", "hunter2000"], &["hunter2", "000 hunter2", "00"], "*** ***00"),
            (&["abcd", "cdef"], &["ab", "cd", "ef"], "***ef"),
            (&["aaaa"], &["aaa", "aaaaa", "a"], "******a"),
            (&["abc", ""], &["abc"], "abc"),
            (&[], &["a", "b"], "ab"),
            (&["pässwörd"], &["p\u{e4}ssw", "\u{f6}rd\n"], "***\n"),
        ] {
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
            let found = redacted(secrets, &pieces);
            assert_eq!(String::from_utf8_lossy(&found), expected, "{secrets:?}");
        }
    }

    #[test]
    fn what_cannot_be_a_secret_is_not_held_back() {
        let mut redactor = Redactor::new(Secrets::new(["hunter2".to_owned()]).unwrap());
        let mut seen = Vec::new();
        redactor.push(b"password: hu", &mut |bytes| seen.extend_from_slice(bytes));
        assert_eq!(seen, b"password: ");
    }

    /// The first secret in the text, the longest of those that begin there, and so on.
    fn reference(secrets: &[String], text: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        let mut from = 0;
        while from < text.len() {
            let here = secrets.iter().filter(|secret| {
                secret.len() >= SECRET_BYTES_MIN && text[from..].starts_with(secret.as_bytes())
            });
            match here.map(String::len).max() {
                Some(bytes) => {
                    all.extend_from_slice(MASK);
                    from += bytes;
                }
                None => {
                    all.push(text[from]);
                    from += 1;
                }
            }
        }
        all
    }

    proptest! {
        #[test]
        fn pieces_are_as_good_as_the_whole(
            secrets in vec("[ab]{0,9}", 0..4),
            pieces in vec("[abc]{0,12}", 0..12),
        ) {
            let names: Vec<&str> = secrets.iter().map(String::as_str).collect();
            let bytes: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
            prop_assert_eq!(redacted(&names, &bytes), reference(&secrets, pieces.concat().as_bytes()));
        }
    }
}
