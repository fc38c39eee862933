//! What a page answers with.

use axum::http::{HeaderValue, StatusCode};
use checkrein_core::run::RunId;
use maud::Markup;

use super::navigation::Place;
use super::said::Said;

pub enum Shown {
    View(Box<View>),
    See(See),
    File(Download),
}

/// A page.
pub struct View {
    pub title: String,
    pub body: Markup,
    pub place: Option<Place>,
    pub status: StatusCode,
    pub live: Vec<Live>,
    pub looks_at: Option<String>,
    pub about: Vec<RunId>,
    pub files: Vec<&'static str>,
    pub secrets: Secrets,
    pub width: Width,
    pub cookies: Vec<HeaderValue>,
}

/// What makes a page look again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Live {
    /// Anything that happens.
    Everything,
    /// What happens to this run and at its checkpoints.
    Run(String),
    /// What happens to this checkpoint.
    Checkpoint(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    Masked,
    /// The page shows one that was just made, once.
    Shown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Text,
    /// For tables and code: as wide as the window.
    Full,
}

impl View {
    pub fn new(title: impl Into<String>, body: Markup) -> View {
        View {
            title: title.into(),
            body,
            place: None,
            status: StatusCode::OK,
            live: Vec::new(),
            looks_at: None,
            about: Vec::new(),
            files: Vec::new(),
            secrets: Secrets::Masked,
            width: Width::Text,
            cookies: Vec::new(),
        }
    }

    /// Where it is in the navigation.
    pub fn at(self, place: Place) -> View {
        View { place: Some(place), ..self }
    }

    /// The parts of it with `data-region` are fetched again when this happens.
    pub fn live(mut self, live: Live) -> View {
        self.live.push(live);
        self
    }

    /// They are fetched from another page, which has fewer of them.
    pub fn looking_at(self, page: String) -> View {
        View { looks_at: Some(page), ..self }
    }

    /// A job whose secrets it must not show.
    pub fn about(mut self, job: &RunId) -> View {
        self.about.push(job.clone());
        self
    }

    /// A script or a style of its own, by its name among the assets.
    #[allow(dead_code, reason = "most pages need none")]
    pub fn with_file(mut self, name: &'static str) -> View {
        self.files.push(name);
        self
    }

    pub fn full_width(self) -> View {
        View { width: Width::Full, ..self }
    }

    pub fn shows_secret(self) -> View {
        View { secrets: Secrets::Shown, ..self }
    }

    pub fn status(self, status: StatusCode) -> View {
        View { status, ..self }
    }
}

/// Another page to look at, after a form was sent.
pub struct See {
    pub to: String,
    pub said: Option<Said>,
    pub cookies: Vec<HeaderValue>,
}

impl See {
    pub fn to(path: impl Into<String>) -> See {
        See { to: path.into(), said: None, cookies: Vec::new() }
    }

    pub fn saying(self, said: Said) -> See {
        See { said: Some(said), ..self }
    }

    pub fn cookie(mut self, cookie: HeaderValue) -> See {
        self.cookies.push(cookie);
        self
    }
}

/// A file to keep.
pub struct Download {
    pub name: String,
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
    pub about: Option<RunId>,
}

impl From<View> for Shown {
    fn from(view: View) -> Shown {
        Shown::View(Box::new(view))
    }
}

impl From<See> for Shown {
    fn from(see: See) -> Shown {
        Shown::See(see)
    }
}

impl From<Download> for Shown {
    fn from(file: Download) -> Shown {
        Shown::File(file)
    }
}
