//! What a page knows of the request it answers.

use std::sync::Arc;

use axum::http::HeaderMap;
use checkrein_core::principal::Principal;
use checkrein_engine::{Act, Engine, allowed};
use jiff::Timestamp;
use maud::{Markup, html};

use super::door::Guest;
use super::fields::Fields;
use super::said::Said;
use super::theme::Theme;
use crate::call::Call;
use crate::error::Problem;

#[derive(Clone)]
pub struct Visit {
    pub call: Call,
    pub guest: Option<Guest>,
    /// What stands behind `?`.
    pub query: Arc<Fields>,
    /// What a form brought; nothing where none did.
    pub form: Arc<Fields>,
    pub theme: Theme,
    /// What was done just before.
    pub said: Option<Said>,
    /// The path and query of this page.
    pub here: String,
}

impl Visit {
    pub fn new(call: Call, guest: Option<Guest>, headers: &HeaderMap, here: String, query: &str) -> Visit {
        Visit {
            call,
            guest,
            query: Arc::new(Fields::of_query(query)),
            form: Arc::default(),
            theme: Theme::of(headers),
            said: Said::of(headers),
            here,
        }
    }

    pub fn engine(&self) -> &Engine {
        self.call.engine()
    }

    pub fn now(&self) -> Timestamp {
        self.engine().now()
    }

    pub fn by(&self) -> Result<&Principal, Problem> {
        self.call.by()
    }

    /// A part of the path, by its name in the page's path.
    pub fn path(&self, name: &str) -> &str {
        self.call.path(name)
    }

    /// Whether to show what only some may do.
    pub fn may(&self, act: Act) -> bool {
        self.guest.as_ref().is_some_and(|guest| allowed(guest.by.role, act))
    }

    /// A form that changes something: sent by POST, with the proof that it comes from a page of ours.
    pub fn form(&self, action: &str, class: &str, fields: Markup) -> Markup {
        html! {
            form method="post" action=(action) class=(class) {
                (self.proof())
                (fields)
            }
        }
    }

    /// The fields of such a form that prove who sends it, for forms that are written out. What they hold
    /// is not here: whoever has the cookie could fetch it. The script fills them from its own storage.
    pub fn proof(&self) -> Markup {
        html! {
            @if self.guest.is_some() {
                input type="hidden" name="proof" value="" data-proof="";
                noscript {
                    label class="token" {
                        "Your token, since scripts are off"
                        input type="password" name="token" autocomplete="off";
                    }
                }
            }
        }
    }

    /// Where a form leads back to: a page of ours, or the fallback.
    pub fn back(&self, fallback: &str) -> String {
        let back = self.form.get("back").filter(|back| super::link::is_local(back));
        back.unwrap_or(fallback).to_owned()
    }
}
