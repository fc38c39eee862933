//! The places of the cockpit, in the order they are shown.

use checkrein_engine::Act;
use maud::{Markup, html};

use super::visit::Visit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Inbox,
    Runs,
    Workers,
    Frames,
    Policy,
    People,
    Webhooks,
    Settings,
}

/// Place, name, path, the key that leads there after `g`, and what it takes to see it.
#[rustfmt::skip]
static PLACES: &[(Place, &str, &str, &str, Act)] = &[
    (Place::Inbox,    "Inbox",    "/inbox",    "i", Act::Read),
    (Place::Runs,     "Runs",     "/runs",     "r", Act::Read),
    (Place::Workers,  "Workers",  "/workers",  "o", Act::Read),
    (Place::Frames,   "Frames",   "/frames",   "f", Act::Read),
    (Place::Policy,   "Policy",   "/policy",   "p", Act::Read),
    (Place::People,   "People",   "/people",   "t", Act::ManageTokens),
    (Place::Webhooks, "Webhooks", "/webhooks", "w", Act::ManageWebhooks),
    (Place::Settings, "Settings", "/settings", "s", Act::Read),
];

pub fn shown(visit: &Visit, current: Option<Place>) -> Markup {
    html! {
        nav class="places" aria-label="Main" {
            ul {
                @for (place, name, path, key, act) in PLACES {
                    @if visit.may(*act) {
                        li {
                            a href=(path) data-go=(key) aria-current=[(current == Some(*place)).then_some("page")] {
                                (name)
                            }
                        }
                    }
                }
            }
        }
    }
}

/// For the list of keys: the key and where it leads.
pub fn keys(visit: &Visit) -> impl Iterator<Item = (&'static str, &'static str)> {
    PLACES.iter().filter(|(.., act)| visit.may(*act)).map(|(_, name, _, key, _)| (*key, *name))
}
