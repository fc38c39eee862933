use checkrein_engine::Act;
use maud::{Markup, html};

use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{field, shown};
use crate::cockpit::problem;
use crate::cockpit::run::levels;
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::get("/jobs/new", show).to(Act::GiveJob)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    view(&visit, None)
}

/// The form, as it was filled in where something in it is wrong.
pub fn view(visit: &Visit, problem: Option<&Problem>) -> Result<View, Problem> {
    let experts = visit.engine().experts(visit.by()?, &visit.call.app.expert_files())?;
    let said = |name: &str| visit.form.get(name).unwrap_or_default().to_owned();
    let more = ["autonomy", "datasources", "plan", "config_override", "agent", "repo"];
    let opened = more.iter().any(|name| !said(name).is_empty());
    let body = html! {
        div class="head" {
            p class="crumbs" { a href="/runs" { "Runs" } " / new job" }
            h1 { "New job" }
        }
        @if let Some(problem) = problem { (problem::notice(problem)) }
        form method="post" action="/jobs" class="card" enctype="multipart/form-data" {
            (visit.proof())
            (field("description", "What is to be done", "In your own words. The agent plans its phases from it.", html! {
                textarea id="description" name="description" rows="6" required aria-describedby="description-hint" { (said("description")) }
            }))
            (field("expert", "Expert", "Who does it: a reusable configuration of agent, instructions and level.", html! {
                select id="expert" name="expert" {
                    option value="" { "none: the settings of the server" }
                    @for expert in &experts {
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
    };
    Ok(View::new("New job", body).at(Place::Runs))
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
