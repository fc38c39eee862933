use checkrein_engine::Act;
use serde_json::Value;

use super::new;
use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::{See, Shown};
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};
use crate::routes::job::create::{Wanted, given};
use crate::wire::job::Document;

pub fn page() -> Page {
    Page::post("/jobs", create).to(Act::GiveJob)
}

async fn create(visit: Visit) -> Result<Shown, Problem> {
    let made = match wanted(&visit) {
        Ok(wanted) => given(&visit.call, wanted).await,
        Err(problem) => Err(problem),
    };
    match made {
        Ok((id, warnings)) => {
            let said = match warnings.as_slice() {
                [] => Said::well("The job is given."),
                odd => Said::well(format!("The job is given. Odd about it: {}", odd.join("; "))),
            };
            Ok(See::to(link::run(id.as_str())).saying(said).into())
        }
        // What was written is not lost.
        Err(problem) => Ok(new::again(&visit, &problem).await?.status(problem.kind.status()).into()),
    }
}

fn wanted(visit: &Visit) -> Result<Wanted, Problem> {
    let form = &visit.form;
    let text = |name: &str| form.filled(name).map(str::to_owned);
    let json = |name: &str| -> Result<Option<Value>, Problem> {
        let read = |text: &str| {
            serde_json::from_str(text)
                .map_err(|error| Problem::new(Kind::Invalid, format!("`{name}` is not JSON: {error}")))
        };
        form.filled(name).map(read).transpose()
    };
    let config_override = match json("config_override")? {
        None => None,
        Some(Value::Object(object)) => Some(object),
        Some(_) => return Err(Problem::new(Kind::Invalid, "`config_override` is not an object")),
    };
    let level = || text("level").map(Value::String);
    let mut datasources = std::collections::BTreeMap::new();
    for line in
        form.get("datasources").unwrap_or_default().lines().map(str::trim).filter(|line| !line.is_empty())
    {
        let Some((name, address)) = line.split_once('=') else {
            return Err(Problem::new(Kind::Invalid, "a line of the datasources has no `=`")
                .hint("write each as NAME=ADDRESS"));
        };
        datasources.insert(name.trim().to_owned(), address.trim().to_owned());
    }
    let documents =
        form.files("documents").map(|file| Document::from((file.name.clone(), file.bytes.clone())));
    Ok(Wanted {
        requires: Vec::new(),
        description: form.get("description").unwrap_or_default().trim().to_owned(),
        expert: text("expert"),
        autonomy: json("autonomy")?.or_else(level),
        agent: text("agent"),
        repo: text("repo").map(Into::into),
        documents: documents.collect(),
        datasources,
        plan: text("plan"),
        config_override,
        sandbox: form.get("sandbox").is_some().then_some(true),
        chat: text("chat"),
    })
}
