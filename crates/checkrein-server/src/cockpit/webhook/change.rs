//! What is done with a webhook, each a form of its own.

use checkrein_core::notification::DeliveryStatus;
use checkrein_engine::Act;

use super::show::new_secret;
use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::{See, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;
use crate::routes::webhook::rotate::OVERLAP;
use crate::wire::webhook::NewWebhook;

pub fn test() -> Page {
    Page::post("/webhooks/{id}/test", |visit: Visit| async move {
        let delivery = visit.engine().test_webhook(visit.by()?, visit.path("id")).await?;
        let answer = delivery.answer.clone().unwrap_or_default();
        let said = match delivery.status {
            DeliveryStatus::Delivered => Said::well(format!("The test arrived. {answer}")),
            DeliveryStatus::Waiting | DeliveryStatus::Dead => {
                Said::badly(format!("The test did not arrive: {answer}"))
            }
        };
        Ok(back(&visit).saying(said))
    })
    .to(Act::ManageWebhooks)
}

pub fn enable() -> Page {
    Page::post("/webhooks/{id}/enable", |visit: Visit| async move {
        visit.engine().enable_webhook(visit.by()?, visit.path("id")).await?;
        Ok::<See, Problem>(back(&visit).saying(Said::well("It is told again.")))
    })
    .to(Act::ManageWebhooks)
}

pub fn rotate() -> Page {
    Page::post("/webhooks/{id}/rotate", |visit: Visit| async move {
        let made = visit.engine().rotate_webhook(visit.by()?, visit.path("id"), OVERLAP).await?;
        Ok::<View, Problem>(new_secret("A new secret", &NewWebhook::from(&made)))
    })
    .to(Act::ManageWebhooks)
}

pub fn retry() -> Page {
    Page::post("/webhooks/{id}/deliveries/{delivery}/retry", |visit: Visit| async move {
        visit.engine().retry_delivery(visit.by()?, visit.path("id"), visit.path("delivery")).await?;
        Ok::<See, Problem>(back(&visit).saying(Said::well("It is sent once more.")))
    })
    .to(Act::ManageWebhooks)
}

pub fn remove() -> Page {
    Page::post("/webhooks/{id}/remove", |visit: Visit| async move {
        visit.engine().remove_webhook(visit.by()?, visit.path("id")).await?;
        Ok::<See, Problem>(See::to("/webhooks").saying(Said::well("The webhook is removed.")))
    })
    .to(Act::ManageWebhooks)
}

fn back(visit: &Visit) -> See {
    See::to(link::to(&["webhooks", visit.path("id")]))
}
