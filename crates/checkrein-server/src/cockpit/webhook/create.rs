use checkrein_core::notification::WebhookKind;
use checkrein_engine::Act;

use super::show::new_secret;
use crate::cockpit::page::Page;
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};
use crate::routes::webhook::create::{Wanted, made};

pub fn page() -> Page {
    Page::post("/webhooks", create).to(Act::ManageWebhooks)
}

async fn create(visit: Visit) -> Result<View, Problem> {
    let form = &visit.form;
    let kind = match form.filled("kind") {
        None => None,
        Some(word) => {
            let none = || Problem::new(Kind::Invalid, format!("`{word}` is no kind of webhook"));
            Some(WebhookKind::parse(word).ok_or_else(none)?)
        }
    };
    let wanted = Wanted {
        url: form.get("url").unwrap_or_default().trim().to_owned(),
        kind,
        name: form.get("name").unwrap_or_default().trim().to_owned(),
        types: Some(form.all("types").map(str::to_owned).collect())
            .filter(|types: &Vec<_>| !types.is_empty()),
        allow_private: form.get("allow_private").is_some(),
    };
    Ok(new_secret("The webhook is added", &made(&visit.call, wanted).await?))
}
