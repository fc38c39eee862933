//! The frame advice of a project that works with a coding agent: a block of `checkrein.yaml`.

use std::path::{Path, PathBuf};

use checkrein_core::document::{Document, Format};
use checkrein_core::frame::RECOMMENDED_YAML;

use crate::error::{CliError, note};
use crate::files;

/// What `init` does about the advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Advice {
    /// Write settings under which a session that is stuck gets a suggestion
    Recommended,
    /// Leave the defaults in force
    Defaults,
}

/// A change of the project's settings that has not been made yet.
pub struct Change {
    path: PathBuf,
    before: Option<String>,
    after: String,
}

/// Plans to add the block; none where the file has frame settings already.
pub fn addition() -> Result<Option<Change>, CliError> {
    let (path, before) = project_settings()?;
    let text = before.as_deref().unwrap_or_default();
    let document = parsed(&path, text)?;
    if document.root.get("frames").is_some() {
        if !text.contains(RECOMMENDED_YAML) {
            note(format_args!("`{}` has `frames:` already, which stays as it is", files::shown(&path)));
        }
        return Ok(None);
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let after = format!("{text}{gap}{RECOMMENDED_YAML}");
    // A file of another form, such as `{…}` on one line, cannot be added to.
    if !matches!(parsed(&path, &after), Ok(document) if document.root.get("frames").is_some()) {
        return Err(CliError::usage(format!("`{}` cannot be added to", files::shown(&path)))
            .hint("`--advice defaults` leaves it alone; docs/frames.md has the settings to add by hand"));
    }
    Ok(Some(Change { path, before, after }))
}

/// Plans to take the block out, if it is still as it was written.
pub fn removal() -> Result<Option<Change>, CliError> {
    let (path, before) = project_settings()?;
    let Some((head, tail)) = before.as_deref().and_then(|text| text.split_once(RECOMMENDED_YAML)) else {
        return Ok(None);
    };
    let head = head.strip_suffix("\n\n").map(|head| format!("{head}\n")).unwrap_or_else(|| head.to_owned());
    let after = format!("{head}{tail}");
    Ok(Some(Change { path, before, after }))
}

impl Change {
    /// Makes the change; what is said of it.
    pub fn make(self) -> Result<String, CliError> {
        let name = files::shown(&self.path);
        if self.after.is_empty() {
            std::fs::remove_file(&self.path)
                .map_err(|error| CliError::failed(format!("`{name}` cannot be removed: {error}")))?;
            return Ok(format!("removed {name}\n"));
        }
        match self.before {
            Some(_) => files::replace(&self.path, &self.after)?,
            None => super::write(&self.path, &self.after)?,
        }
        Ok(format!("{} {name}\n", if self.before.is_some() { "changed" } else { "made" }))
    }
}

fn project_settings() -> Result<(PathBuf, Option<String>), CliError> {
    for name in crate::settings::FILE_NAMES {
        if Path::new(name).exists() {
            return Ok((name.into(), Some(files::text(Path::new(name))?)));
        }
    }
    let [name, _] = crate::settings::FILE_NAMES;
    Ok((name.into(), None))
}

fn parsed(path: &Path, text: &str) -> Result<Document, CliError> {
    Ok(Document::parse(&files::shown(path), text, Format::Yaml)?)
}
