//! Light, dark, or as the system has it. Kept in a cookie, so that the page comes in the right colours.

use axum::http::{HeaderMap, HeaderValue};
use maud::{Markup, html};

use super::page::Page;
use super::said::cookie;
use super::view::See;
use super::visit::Visit;
use crate::error::{Kind, Problem};

const COOKIE: &str = "checkrein_theme";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    const ALL: [Theme; 3] = [Theme::System, Theme::Light, Theme::Dark];

    pub const fn name(self) -> &'static str {
        match self {
            Theme::System => "system",
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }

    pub fn of(headers: &HeaderMap) -> Theme {
        let said = cookie(headers, COOKIE);
        Theme::ALL.into_iter().find(|theme| said == Some(theme.name())).unwrap_or_default()
    }
}

/// The switch, as a form that works without a script.
pub fn switch(visit: &Visit) -> Markup {
    html! {
        form method="post" action="/theme" class="themes" {
            input type="hidden" name="back" value=(visit.here);
            span class="label" { "Colours" }
            @for theme in Theme::ALL {
                button name="theme" value=(theme.name()) aria-pressed=[(theme == visit.theme).then_some("true")] {
                    (theme.name())
                }
            }
        }
    }
}

pub fn page() -> Page {
    Page::post("/theme", set).open().harmless()
}

async fn set(visit: Visit) -> Result<See, Problem> {
    let wanted = visit.form.get("theme").unwrap_or_default();
    let theme = Theme::ALL.into_iter().find(|theme| theme.name() == wanted);
    let theme = theme.ok_or_else(|| Problem::new(Kind::Invalid, format!("there is no theme `{wanted}`")))?;
    let cookie = format!("{COOKIE}={}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict", theme.name());
    let see = See::to(visit.back("/"));
    Ok(match HeaderValue::from_str(&cookie) {
        Ok(cookie) => see.cookie(cookie),
        Err(_) => see,
    })
}
