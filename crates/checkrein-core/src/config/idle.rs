//! Values that are read without a mistake and do nothing, or the opposite of what was meant (X1).

use crate::document::{Document, Gravity, Problems};

/// Names of variables that no variable can have.
pub(super) fn no_variables(document: &Document, path: &[&str], names: &[String]) -> Problems {
    let mut problems = Problems::default();
    for (index, name) in names.iter().enumerate() {
        let odd = |c: char| c.is_whitespace() || matches!(c, '=' | '\0');
        if name.is_empty() || name.contains(odd) {
            let index = index.to_string();
            let path: Vec<&str> = path.iter().copied().chain([index.as_str()]).collect();
            let message = format!("`{name}` is not the name of a variable");
            let hint = "write the name alone, such as `API_KEY`";
            problems.push(document.problem(Gravity::Error, &path, message).hint(hint));
        }
    }
    problems
}

/// A limit under which nothing can be kept.
pub(super) fn nothing_allowed(document: &Document, path: &[&str], bytes: Option<u64>) -> Problems {
    match bytes {
        Some(0) => document.problem(Gravity::Error, path, "must be at least 1, found `0`").into(),
        _ => Problems::default(),
    }
}

/// An address that no program here can ask.
pub(super) fn no_web_address(document: &Document, path: &[&str], url: Option<&String>) -> Problems {
    let asked = |url: &&String| url.starts_with("https://") || url.starts_with("http://");
    match url.filter(|url| !asked(url)) {
        Some(url) => {
            let message = format!("`{url}` does not begin with `https://` or `http://`");
            document.problem(Gravity::Error, path, message).into()
        }
        None => Problems::default(),
    }
}
