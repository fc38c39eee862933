use checkrein_core::principal::Role;

use super::{start, workflow};
use crate::place::Place;

#[test]
fn by_its_id_or_what_no_other_has_of_it() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    let id = start(&admin, &workflow("true"));
    let answer = admin.get(&format!("/v1/runs/{id}")).expect(200);
    assert_eq!(answer.header("etag"), Some("\"1\""));
    let end = &id[id.len() - 5..];
    assert_eq!(admin.get(&format!("/v1/runs/{end}")).expect(200).json()["run_id"], id);
    start(&admin, &workflow("true"));
    admin.get(&format!("/v1/runs/{}", &id[..4])).refused(409, "several-runs");
    for path in ["/v1/runs/none", "/v1/runs/..%2F..%2Fstore.db", "/v1/runs/%2E%2E/report"] {
        admin.get(path).refused(404, "not-found");
    }
}

#[test]
fn an_agent_sees_its_own_alone() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    let id = start(&admin, &workflow("true"));
    let bot = place.token(Role::Agent, "bot");
    let principal = place.wait(place.engine.authenticate(&bot)).unwrap();
    // As a program of the agent's on the server's machine would start it.
    let own = place.wait(async {
        let theirs = place.engine.run(&crate::place::admin(), &id).await.unwrap();
        let definition = checkrein_core::run::Definition::clone(&theirs.run.definition);
        place.engine.create_run(&principal, definition, None).await.unwrap().to_string()
    });
    let bot = place.bearer(&bot);
    let listed = bot.get("/v1/runs").expect(200).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(listed["items"][0]["run_id"], own);
    bot.get(&format!("/v1/runs/{own}")).expect(200);
    for verb in ["", "/report", "/log", "/output", "/events"] {
        bot.get(&format!("/v1/runs/{id}{verb}")).refused(404, "not-found");
    }
    // A beginning that both have says nothing about the other one.
    bot.get(&format!("/v1/runs/{}", &id[..4])).refused(404, "not-found");
    bot.send("POST", &format!("/v1/runs/{id}/rerun"), None).refused(404, "not-found");
    let again = bot.send("POST", &format!("/v1/runs/{own}/rerun"), None).expect(201).json();
    assert_eq!(again["rerun_of"], own);
    assert_eq!(bot.get("/v1/runs").json()["items"].as_array().unwrap().len(), 2);
}
