use checkrein_core::policy::{Resolution, Scope};
use maud::{Markup, html};

use super::what_if;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{choice, shown};
use crate::cockpit::problem;
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::Problem;
use crate::routes::PolicyAsked;

pub fn page() -> Page {
    Page::get("/policy", show)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let said = |name: &str| visit.query.filled(name).map(str::to_owned);
    let scope = said("scope").and_then(|word| Scope::ALL.into_iter().find(|scope| scope.to_string() == word));
    let (worker, expert) = (said("worker"), said("expert"));
    // Naming somebody says what it is for.
    let scope = scope.filter(|_| worker.is_none() && expert.is_none());
    let asked = PolicyAsked { scope, worker, expert, autonomy: said("autonomy") };
    let experts = visit.call.app.expert_files();
    let by = visit.by()?;
    let resolved = asked.resolve(visit.engine(), by, &experts);
    let names: Vec<String> = visit.engine().experts(by, &experts)?.into_iter().map(|row| row.name).collect();
    let body = html! {
        div class="head" {
            h1 { "Policy" }
            p class="quiet" { "How far an agent may go: the settings in force, and where each was set." }
        }
        (whose(&visit, scope, &names))
        @match &resolved {
            Err(problem) => (problem::notice(problem)),
            Ok(resolution) => {
                (effective(resolution))
                (what_if::shown(&visit, resolution)?)
            }
        }
    };
    let status = resolved.as_ref().err().map(|problem| problem.kind.status()).unwrap_or_default();
    Ok(View::new("Policy", body).at(Place::Policy).status(status))
}

fn whose(visit: &Visit, scope: Option<Scope>, experts: &[String]) -> Markup {
    let said = |name: &str| visit.query.filled(name).unwrap_or_default();
    let scopes: Vec<String> = Scope::ALL.iter().map(ToString::to_string).collect();
    let chosen = scope.unwrap_or(Scope::Workflow).to_string();
    html! {
        form method="get" action="/policy" class="card" {
            h2 { "Whose policy" }
            div class="columns" {
                div class="field" {
                    label for="scope" { "For" }
                    (choice("scope", "scope", &chosen, scopes.iter().map(|word| (word.as_str(), word.as_str()))))
                }
                div class="field" {
                    label for="worker" { "Or this worker" }
                    input id="worker" name="worker" value=(said("worker"));
                }
                div class="field" {
                    label for="expert" { "Or jobs of this expert" }
                    select id="expert" name="expert" {
                        option value="" { "–" }
                        @for name in experts { option value=(name) selected[name == said("expert")] { (shown(name)) } }
                    }
                }
            }
            div class="field" {
                label for="autonomy" { "With a level or a JSON block on top" }
                input id="autonomy" name="autonomy" value=(said("autonomy"));
                p class="hint" { "As it would be given at the start of a run, such as guided or {\"error_tolerance\": \"low\"}." }
            }
            p { button class="primary" { "Show" } }
        }
    }
}

fn effective(resolution: &Resolution) -> Markup {
    html! {
        section class="card" {
            h2 { "In force for " (resolution.policy.scope) "s" }
            @for problem in resolution.problems.iter() {
                p class="notice waits" { (shown(&problem.message)) @if let Some(hint) = &problem.hint { " " (shown(hint)) } }
            }
            div class="scroll" tabindex="0" role="region" aria-label="Settings in force" {
                table class="settings" {
                    thead { tr { th scope="col" { "Setting" } th scope="col" { "Value" } th scope="col" { "Set by" } } }
                    tbody {
                        @for told in resolution.policy.told() {
                            tr {
                                th scope="row" { (shown(&told.setting)) }
                                td class="lines" { (shown(&told.value)) }
                                td class="lines quiet" { (shown(&resolution.set_by(&told))) }
                            }
                        }
                    }
                }
            }
        }
    }
}
