//! Reading files and standard input, with errors that name what was read.

use std::io::{IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use checkrein_core::document::{Document, Format};

use crate::error::CliError;

/// Nothing a person writes by hand is larger.
const BYTES_MAX: u64 = 16 << 20;

/// Reads and parses a file; it is shown by `path` as it was given.
pub fn document(path: &Path) -> Result<Arc<Document>, CliError> {
    let name = shown(path);
    let text = text(path)?;
    Ok(Arc::new(Document::parse(&name, &text, Format::of_name(&name))?))
}

/// The same of a file that came with a project and nobody named: it is one, and lies where it seems to, so that nothing
/// of this machine is waited for or shown in its place.
pub fn document_of_project(path: &Path, project: &Path) -> Result<Arc<Document>, CliError> {
    let name = shown(path);
    let fail = |error: std::io::Error| CliError::usage(format!("`{name}` cannot be read: {error}"));
    let place = project.canonicalize().map_err(fail)?;
    if !path.canonicalize().map_err(fail)?.starts_with(&place) {
        let text = format!("`{name}` leads out of `{}`, and settings of a project lie in it", shown(project));
        return Err(CliError::usage(text));
    }
    let opened = std::fs::File::options().read(true).custom_flags(NONBLOCK).open(path).map_err(fail)?;
    if !opened.metadata().map_err(fail)?.is_file() {
        return Err(CliError::usage(format!("`{name}` is not a file")));
    }
    let text = utf8(read(opened, &name)?, &name)?;
    Ok(Arc::new(Document::parse(&name, &text, Format::of_name(&name))?))
}

/// A pipe is not waited for.
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

pub fn text(path: &Path) -> Result<String, CliError> {
    utf8(bytes(path)?, &shown(path))
}

/// A file as it is; `-` is standard input.
pub fn bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    if path.as_os_str() == "-" {
        return read(std::io::stdin(), "standard input");
    }
    let name = shown(path);
    let fail = |error: std::io::Error| CliError::usage(format!("`{name}` cannot be read: {error}"));
    read(std::fs::File::open(path).map_err(fail)?, &name)
}

/// All of standard input; on a terminal it says what it waits for.
pub fn stdin(what: &str) -> Result<String, CliError> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let _ = writeln!(std::io::stderr(), "Reading {what} from standard input, end with Ctrl-D.");
    }
    utf8(read(stdin, "standard input")?, "standard input")
}

fn read(source: impl Read, name: &str) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    source
        .take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::usage(format!("`{name}` cannot be read: {error}")))?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(CliError::usage(format!("`{name}` is larger than {} MiB", BYTES_MAX >> 20)));
    }
    Ok(bytes)
}

fn utf8(bytes: Vec<u8>, name: &str) -> Result<String, CliError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::usage(format!("`{name}` is not UTF-8 text (byte {at})"))
    })
}

/// Replaces a file as a whole: a reader sees the old text or the new one, never a part.
pub fn replace(path: &Path, text: &str) -> Result<(), CliError> {
    let name = shown(path);
    let fail = |error: std::io::Error| CliError::failed(format!("`{name}` cannot be written: {error}"));
    // A link stays a link: what it points to is rewritten.
    let target = std::fs::canonicalize(path).map_err(fail)?;
    let directory = target.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(fail)?;
    file.write_all(text.as_bytes()).map_err(fail)?;
    let permissions = std::fs::metadata(&target).map_err(fail)?.permissions();
    file.as_file().set_permissions(permissions).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(&target).map_err(|error| fail(error.error))?;
    Ok(())
}

/// The nearest `name` in `start` or a directory above it.
pub fn nearest(start: &Path, name: &str) -> Option<PathBuf> {
    start.ancestors().map(|directory| directory.join(name)).find(|path| path.exists())
}

/// A path as a person would write it from here.
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let relative = here.as_deref().and_then(|here| path.strip_prefix(here).ok());
    relative.unwrap_or(path).display().to_string()
}
