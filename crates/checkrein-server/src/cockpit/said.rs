//! What was done just before, told on the next page: it travels in a cookie that is read once.

use axum::http::{HeaderMap, HeaderValue, header};
use maud::{Markup, html};

use super::link::encoded;

const COOKIE: &str = "checkrein_said";
/// More would not fit a cookie.
const CHARS_MAX: usize = 600;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub went: Went,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Went {
    Well,
    Badly,
}

impl Said {
    pub fn well(text: impl Into<String>) -> Said {
        Said { went: Went::Well, text: text.into() }
    }

    pub fn badly(text: impl Into<String>) -> Said {
        Said { went: Went::Badly, text: text.into() }
    }

    /// What a request remembers.
    pub fn of(headers: &HeaderMap) -> Option<Said> {
        let value = cookie(headers, COOKIE)?;
        let (went, text) = value.split_once('.')?;
        let went = match went {
            "w" => Went::Well,
            "b" => Went::Badly,
            _ => return None,
        };
        let (text, _) = form_urlencoded::parse(text.as_bytes()).next()?;
        Some(Said { went, text: text.into_owned() })
    }

    /// The header that remembers it for the next page.
    pub fn remembered(&self) -> Option<HeaderValue> {
        let went = match self.went {
            Went::Well => "w",
            Went::Badly => "b",
        };
        let text: String = self.text.chars().take(CHARS_MAX).collect();
        let value =
            format!("{COOKIE}={went}.{}; Path=/; Max-Age=60; HttpOnly; SameSite=Strict", encoded(&text));
        HeaderValue::from_str(&value).ok()
    }

    /// The header that forgets it.
    pub fn forgotten() -> HeaderValue {
        HeaderValue::from_static("checkrein_said=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
    }

    pub fn shown(&self) -> Markup {
        let class = match self.went {
            Went::Well => "notice good",
            Went::Badly => "notice bad",
        };
        html! { p class=(class) { (self.text) } }
    }
}

/// The value of a cookie.
pub fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(own, _)| *own == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_comes_back_as_it_was() {
        let said = Said::badly("2 of 3; <b>\u{fc}=");
        let header = said.remembered().unwrap();
        let pair = header.to_str().unwrap().split(';').next().unwrap().to_owned();
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_str(&format!("a=b; {pair}")).unwrap());
        assert_eq!(Said::of(&headers), Some(said));
        assert_eq!(Said::of(&HeaderMap::new()), None);
    }
}
