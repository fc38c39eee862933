use checkrein_engine::{Act, Settled, Settlement};

use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};

pub fn page() -> Page {
    Page::post("/reviews/{id}/settlement", settle).to(Act::PushToBranches)
}

async fn settle(visit: Visit) -> Result<See, Problem> {
    let form = &visit.form;
    let files = form.all("path").zip(form.all("take")).zip(form.all("text")).map(|((path, take), text)| {
        let settled = match take {
            "text" => Settled::Text(text.replace("\r\n", "\n")),
            "ours" => Settled::Ours,
            "theirs" => Settled::Theirs,
            "delete" => Settled::Deleted,
            other => return Err(Problem::new(Kind::Invalid, format!("`{other}` is nothing to take"))),
        };
        Ok((path.to_owned(), settled))
    });
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let head = form.get("head").unwrap_or_default().to_owned();
    let settlement = Settlement { head: head.clone(), message: None, files };
    let review = link::review(visit.path("id"));
    match visit.engine().settle_conflict(visit.by()?, visit.path("id"), &settlement).await {
        Ok(_) => Ok(See::to(review).saying(Said::well("The conflict is settled. It can be approved now."))),
        Err(error) => {
            let problem = Problem::from(error);
            match problem.kind {
                Kind::StaleHead => {
                    let said = Said::badly(
                        "Nothing was settled: somebody pushed to the branch since you looked. Below is what is new.",
                    );
                    Ok(See::to(link::with_query(&review, &[("seen", &head)])).saying(said))
                }
                _ if problem.hint.is_none() => Err(problem.hint("go back: what you wrote is still there")),
                _ => Err(problem),
            }
        }
    }
}
