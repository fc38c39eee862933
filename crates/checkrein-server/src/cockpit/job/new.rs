use checkrein_core::companion::Draft;
use checkrein_engine::{Act, ChatOf, ChatView, ExpertRow, OpenChat};
use maud::{Markup, html};
use serde_json::Value;

use crate::cockpit::chat::{self, Talk};
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{ago, excerpt, field, shown};
use crate::cockpit::problem;
use crate::cockpit::run::levels;
use crate::cockpit::view::{Shown, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;

/// So many conversations are offered to go on with.
const OPEN_CHATS: usize = 5;

pub fn page() -> Page {
    Page::get("/jobs/new", show).to(Act::GiveJob)
}

async fn show(visit: Visit) -> Result<Shown, Problem> {
    let chat = chat_of(&visit, visit.query.filled("chat")).await?;
    if let Some(run) = &chat.run {
        return Ok(chat::before::given(run.as_str()).into());
    }
    Ok(view(&visit, &chat, None).await?.into())
}

/// The form as it was sent, where something in it is wrong.
pub async fn again(visit: &Visit, problem: &Problem) -> Result<View, Problem> {
    let chat = chat_of(visit, visit.form.filled("chat")).await;
    // What is wrong may be the conversation itself.
    let chat = match chat {
        Ok(chat) => chat,
        Err(_) => visit.engine().chat_to_begin(visit.by()?)?,
    };
    view(visit, &chat, Some(problem)).await
}

/// The conversation beside the form; one to begin where none is named.
async fn chat_of(visit: &Visit, id: Option<&str>) -> Result<ChatView, Problem> {
    match id {
        Some(id) => chat::newest(visit, &ChatOf::Chat(id.to_owned())).await,
        None => Ok(visit.engine().chat_to_begin(visit.by()?)?),
    }
}

async fn view(visit: &Visit, chat: &ChatView, problem: Option<&Problem>) -> Result<View, Problem> {
    let experts = visit.engine().experts(visit.by()?, &visit.call.app.expert_files())?;
    let open = match chat.id {
        Some(_) => Vec::new(),
        None => visit.engine().open_chats(visit.by()?, OPEN_CHATS).await?,
    };
    // What was sent counts, else what the conversation has written down.
    let said = |name: &str| match problem {
        Some(_) => visit.form.get(name).unwrap_or_default().to_owned(),
        None => written(&chat.draft, name),
    };
    let more = ["autonomy", "datasources", "plan", "config_override", "agent", "repo"];
    let opened = more.iter().any(|name| !said(name).is_empty());
    let talk = Talk::before_job(chat);
    let body = html! {
        div class="head" {
            p class="crumbs" { a href="/runs" { "Runs" } " / new job" }
            h1 { "New job" }
            p class="meta" { "Not sure how to put it? " a href="#chat" { "Ask the companion" } }
        }
        @if let Some(problem) = problem { (problem::notice(problem)) }
        div class="sides" {
            div { (form(visit, chat, &experts, &said, opened)) }
            div class="beside" {
                (chat::panel(visit, &talk, "/jobs/new"))
                p class="meta" {
                    a href="#description" { "To the form" }
                    @if chat.id.is_some() { " · " a href="/jobs/new" { "A new conversation" } }
                }
                (to_go_on_with(visit, &open)?)
            }
        }
    };
    Ok(View::new("New job", body)
        .at(Place::Runs)
        .full_width()
        .with_file("chat.css")
        .with_file("chat.js")
        .with_file("draft.js"))
}

/// What a conversation has written down for a field of the form.
fn written(draft: &Draft, name: &str) -> String {
    match name {
        "description" => draft.description.clone(),
        "expert" => draft.expert.clone().unwrap_or_default(),
        "level" => draft.autonomy.clone().unwrap_or_default(),
        "config_override" => match &draft.config_override {
            Some(over) => format!("{:#}", Value::Object(over.clone())),
            None => String::new(),
        },
        _ => String::new(),
    }
}

/// Conversations that have led to no job yet.
fn to_go_on_with(visit: &Visit, open: &[OpenChat]) -> Result<Markup, Problem> {
    let own = &visit.by()?.name;
    Ok(html! {
        @if !open.is_empty() {
            section class="card" aria-labelledby="open-chats" {
                h2 id="open-chats" { "Go on with" }
                ul class="list" {
                    @for one in open {
                        li {
                            div {
                                a href=(chat::before::address(&one.chat.id)) { (about(one)) }
                                p class="meta" {
                                    (ago(one.updated_at, visit.now()))
                                    @if one.chat.begun_by != *own { " · " (shown(&one.chat.begun_by)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    })
}

fn about(one: &OpenChat) -> String {
    let said = [one.chat.draft.description.as_str(), one.first_question.as_deref().unwrap_or_default()];
    let said = said.into_iter().find(|text| !text.trim().is_empty());
    excerpt(said.unwrap_or("nothing was said yet"), 80)
}

fn form(
    visit: &Visit,
    chat: &ChatView,
    experts: &[ExpertRow],
    said: &dyn Fn(&str) -> String,
    opened: bool,
) -> Markup {
    let unknown = Some(said("expert"))
        .filter(|name| !name.is_empty() && !experts.iter().any(|expert| expert.name == *name));
    html! {
        form method="post" action="/jobs" class="card" enctype="multipart/form-data" data-job-form="" {
            (visit.proof())
            input type="hidden" name="chat" value=(chat.id.as_deref().unwrap_or_default());
            div id="filled-in" role="status" {}
            (field("description", "What is to be done", "In your own words. The agent plans its phases from it.", html! {
                textarea id="description" name="description" rows="6" required aria-describedby="description-hint" { (said("description")) }
            }))
            (field("expert", "Expert", "Who does it: a reusable configuration of agent, instructions and level.", html! {
                select id="expert" name="expert" {
                    option value="" { "none: the settings of the server" }
                    @if let Some(name) = &unknown {
                        option value=(name) selected { (shown(name)) ": nobody here has this name" }
                    }
                    @for expert in experts {
                        option value=(expert.name) selected[expert.name == said("expert")] {
                            (shown(&expert.name))
                            @if let Some(level) = &expert.level { " (" (level) ")" }
                            @if let Some(about) = &expert.description { ": " (shown(about)) }
                        }
                    }
                }
            }))
            (levels("job-level", &said("level"), "Nothing chosen: the expert's level, else the one of the settings."))
            (field("documents", "Documents for the agent to read", "It finds them by their names in documents/.", html! {
                input id="documents" name="documents" type="file" multiple;
            }))
            label class="check" {
                input type="checkbox" name="sandbox" value="yes" checked[!said("sandbox").is_empty()];
                span { "Sandbox: keep the agent's processes away from the store, settings and credentials" }
            }
            details class="more" open[opened] {
                summary { "More" }
                (field("autonomy", "Settings of your own instead of a level, as JSON", "Such as {\"level\": \"guided\", \"budget\": {\"tokens\": 200000}}.", html! {
                    textarea id="autonomy" name="autonomy" rows="3" { (said("autonomy")) }
                }))
                (field("datasources", "Datasources", "A line each: NAME=ADDRESS. Passwords in addresses are shown nowhere.", html! {
                    textarea id="datasources" name="datasources" rows="2" autocomplete="off" {}
                }))
                (field("plan", "A plan of your own", "Instead of the agent's first one: Markdown with a list of what to do.", html! {
                    textarea id="plan" name="plan" rows="5" { (said("plan")) }
                }))
                (field("config_override", "What an expert's file may say, for this job alone, as JSON", "", html! {
                    textarea id="config_override" name="config_override" rows="3" { (said("config_override")) }
                }))
                @if visit.may(Act::SendWorkflow) { (admins(&said("agent"), &said("repo"))) }
                @else { p class="hint" { "An administrator may also name the agent's command and a repository." } }
            }
            p { button class="primary" { "Give the job" } }
        }
    }
}

fn admins(agent: &str, repo: &str) -> Markup {
    html! {
        (field("agent", "The agent's command", "Such as cmd:./agent.sh. Nothing: the one of the expert or the server's settings.", html! {
            input id="agent" name="agent" value=(agent);
        }))
        (field("repo", "Repository", "A directory on the server's machine, from the root on. Nothing: one of the job's own.", html! {
            input id="repo" name="repo" value=(repo);
        }))
    }
}
