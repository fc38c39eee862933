//! Commits made from bytes alone: git is told what is in them and reads no file, so no attribute, filter or
//! link can have a say.

use std::io::Write;

use crate::call::Fed;
use crate::error::ForgeError;
use crate::identity::Signature;
use crate::oid::Oid;
use crate::path::quoted;
use crate::repository::Bare;

/// Where the commits of a stream hang until they have a branch; it is gone at the end of the stream.
const SCAFFOLD: &str = "refs/checkrein/import";

/// What a stream of commits left: the last commit of each kind that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Imported {
    /// One pair of commit and tree for each time it was asked.
    pub asked: Vec<(Oid, Oid)>,
}

impl Bare {
    /// Runs a stream. Objects of a stream that was not finished are in no commit.
    pub(crate) fn import<T: Send>(
        &self,
        write: impl FnOnce(&mut Stream<'_>) -> Result<T, Fed> + Send,
    ) -> Result<(Imported, T), ForgeError> {
        let call = self.call(["fast-import", "--quiet", "--done", "--force", "--date-format=raw"]);
        let zero = self.zero();
        let (output, value) = call.feed(move |sink| {
            let mut stream = Stream { sink, marks: 0 };
            let value = write(&mut stream)?;
            write!(stream.sink, "reset {SCAFFOLD}\nfrom {zero}\n\ndone\n")?;
            Ok(value)
        })?;
        Ok((Imported { asked: asked(&output)? }, value))
    }
}

pub(crate) struct Stream<'a> {
    sink: &'a mut dyn Write,
    marks: u32,
}

/// A commit of this stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(u32);

impl Stream<'_> {
    pub fn commit(
        &mut self,
        parent: Option<&Parent<'_>>,
        author: &Signature,
        committer: &Signature,
        message: &str,
    ) -> Result<Mark, Fed> {
        self.marks += 1;
        // Without it, a commit of the same stream would be the parent.
        write!(self.sink, "reset {SCAFFOLD}\n\ncommit {SCAFFOLD}\nmark :{}\n", self.marks)?;
        write!(self.sink, "author {}\ncommitter {}\n", author.line(), committer.line())?;
        self.data(message.as_bytes())?;
        match parent {
            Some(Parent::Commit(oid)) => writeln!(self.sink, "from {oid}")?,
            Some(Parent::Mark(mark)) => writeln!(self.sink, "from :{}", mark.0)?,
            None => {}
        }
        Ok(Mark(self.marks))
    }

    /// Names a further parent of the commit.
    pub fn joins(&mut self, commit: &Oid) -> Result<(), Fed> {
        Ok(writeln!(self.sink, "merge {commit}")?)
    }

    /// Starts from nothing instead of from the parent's files.
    pub fn clear(&mut self) -> Result<(), Fed> {
        Ok(writeln!(self.sink, "deleteall")?)
    }

    /// A tree that is there becomes the tree of the commit.
    pub fn whole_tree(&mut self, tree: &Oid) -> Result<(), Fed> {
        Ok(writeln!(self.sink, "M 040000 {tree} \"\"")?)
    }

    pub fn file(&mut self, path: &[u8], mode: &str, content: &[u8]) -> Result<(), Fed> {
        write!(self.sink, "M {mode} inline ")?;
        self.sink.write_all(&quoted(path))?;
        self.sink.write_all(b"\n")?;
        self.data(content)
    }

    pub fn object(&mut self, path: &[u8], mode: &str, oid: &Oid) -> Result<(), Fed> {
        write!(self.sink, "M {mode} {oid} ")?;
        self.sink.write_all(&quoted(path))?;
        Ok(self.sink.write_all(b"\n")?)
    }

    pub fn delete(&mut self, path: &[u8]) -> Result<(), Fed> {
        write!(self.sink, "D ")?;
        self.sink.write_all(&quoted(path))?;
        Ok(self.sink.write_all(b"\n")?)
    }

    /// Ends a commit and asks for its name and tree.
    pub fn ask(&mut self, mark: Mark) -> Result<(), Fed> {
        Ok(write!(self.sink, "\nls :{} \"\"\nget-mark :{}\n", mark.0, mark.0)?)
    }

    fn data(&mut self, bytes: &[u8]) -> Result<(), Fed> {
        writeln!(self.sink, "data {}", bytes.len())?;
        self.sink.write_all(bytes)?;
        Ok(self.sink.write_all(b"\n")?)
    }
}

pub(crate) enum Parent<'a> {
    Commit(&'a Oid),
    Mark(Mark),
}

/// `040000 tree oid<tab>` and then the commit's name, for each that was asked for.
fn asked(output: &[u8]) -> Result<Vec<(Oid, Oid)>, ForgeError> {
    let text = String::from_utf8_lossy(output).into_owned();
    let mut lines = text.lines();
    let mut asked = Vec::new();
    while let Some(line) = lines.next() {
        let tree = line.split_ascii_whitespace().nth(2).unwrap_or_default();
        asked.push((Oid::parse(lines.next().unwrap_or_default())?, Oid::parse(tree)?));
    }
    Ok(asked)
}
