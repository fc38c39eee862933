use checkrein_core::principal::Role;
use serde_json::json;

use super::{hidden, page, person, send};
use crate::chat::{making, model};
use crate::job::at_its_plan;
use crate::place::Place;

#[test]
fn a_job_is_prepared_beside_its_form_and_the_conversation_goes_on_in_it() {
    let model = model(json!({"answers": [
        {"says": "letter", "turns": [
            {"calls": [{"tool": "update_instructions", "input": {
                "description": "Write to <Zoe>.", "expert": "nobody-known", "autonomy": "guided",
                "config_override": {"instructions": "be brief"}}}]},
            {"text": "Written **down**."}]},
        {"says": "going", "turns": [{"text": "It goes."}]}]}));
    let place = making(&model).start();
    let bob = person(&place, Role::Reviewer, "bob");
    let empty = page(&bob, "/jobs/new");
    for text in [
        "Nobody has asked anything yet",
        "Help me describe what I want done",
        "data-begins=\"/v1/chats\"",
        "href=\"#chat\"",
    ] {
        assert!(empty.contains(text), "no `{text}` in {empty}");
    }
    assert!(!empty.contains("Go on with"), "{empty}");

    let asked = send(&bob, "/chats", &[("text", "I want a letter")]).expect(303);
    let address = asked.header("location").unwrap().strip_suffix("#chat").unwrap().to_owned();
    let shown = page(&bob, &address);
    for text in [
        "I want a letter",
        "<strong>down</strong>",
        ">Write to &lt;Zoe&gt;.</textarea>",
        "value=\"nobody-known\" selected>nobody-known: nobody here has this name",
        "value=\"guided\" checked",
        "&quot;instructions&quot;: &quot;be brief&quot;",
        "<details class=\"more\" open>",
    ] {
        assert!(shown.contains(text), "no `{text}` in {shown}");
    }
    let chat = hidden(&shown, "chat");
    assert_eq!(address, format!("/jobs/new?chat={chat}"));
    // It is found again, and is nobody else's.
    let again = page(&bob, "/jobs/new");
    assert!(again.contains("Go on with") && again.contains(&format!("href=\"{address}\"")), "{again}");
    let kim = person(&place, Role::Reviewer, "kim");
    assert!(!page(&kim, "/jobs/new").contains("Go on with"));
    kim.get(&address).expect(404);
    kim.get(&format!("/chats/{chat}")).expect(404);
    send(&kim, &format!("/chats/{chat}"), &[("text", "hello")]).expect(404);
    assert_eq!(bob.get(&format!("/chats/{chat}")).expect(303).header("location"), Some(address.as_str()));

    // What is wrong with the form loses neither what was written nor the conversation.
    let wrong = [("description", "Mine"), ("expert", "nobody-known"), ("chat", chat.as_str())];
    let refused = send(&bob, "/jobs", &wrong);
    assert!(refused.status >= 400 && refused.body.contains("nobody-known"), "{}", refused.body);
    assert!(
        refused.body.contains(">Mine</textarea>") && refused.body.contains("I want a letter"),
        "{}",
        refused.body
    );

    let given = [("description", "Write to Zoe."), ("level", "guided"), ("chat", chat.as_str())];
    let given = send(&bob, "/jobs", &given).expect(303);
    let path = given.header("location").unwrap().to_owned();
    let id = path.strip_prefix("/runs/").unwrap();
    crate::job::held(&place.as_role(Role::Admin), id);
    for there in [path.clone(), format!("{path}/chat")] {
        let shown = page(&kim, &there);
        assert!(
            shown.contains("I want a letter") && shown.contains("<strong>down</strong>"),
            "{there}: {shown}"
        );
    }
    let on = send(&bob, &format!("{path}/chat"), &[("text", "how is it going?"), ("back", path.as_str())])
        .expect(303);
    assert_eq!(on.header("location"), Some(format!("{path}#chat").as_str()));
    assert!(page(&bob, &path).contains("It goes."));
    // The old addresses lead there.
    for old in [address.clone(), format!("/chats/{chat}")] {
        assert_eq!(
            bob.get(&old).expect(303).header("location"),
            Some(format!("{path}/chat").as_str()),
            "{old}"
        );
    }
    let twice = send(&bob, "/jobs", &[("description", "again"), ("chat", chat.as_str())]).expect(409);
    assert!(
        twice.body.contains("has led to job") && twice.body.contains(">again</textarea>"),
        "{}",
        twice.body
    );
}

#[test]
fn without_a_model_it_says_so_and_the_form_works() {
    let place = Place::new();
    let bob = person(&place, Role::Reviewer, "bob");
    assert!(page(&bob, "/jobs/new").contains("no model is set up to answer"));
    let asked = send(&bob, "/chats", &[("question", "Help me describe what I want done.")]).expect(303);
    let shown = page(&bob, asked.header("location").unwrap().split('#').next().unwrap());
    assert!(shown.contains("Nobody can answer"), "{shown}");
    let vic = person(&place, Role::Viewer, "vic");
    vic.get("/jobs/new").expect(403);
    send(&vic, "/chats", &[("text", "x")]).expect(403);
}

#[test]
fn the_page_of_a_job_has_its_companion_and_that_of_a_workflow_has_none() {
    let place = crate::job::making().start();
    let admin = place.as_role(Role::Admin);
    let (id, _) = at_its_plan(&admin);
    let vic = person(&place, Role::Viewer, "vic");
    let shown = page(&vic, &format!("/runs/{id}"));
    assert!(shown.contains("id=\"chat\"") && shown.contains("explains the plan"), "{shown}");
    assert!(shown.contains("your role reads") && !shown.contains("data-ask=\"\""), "{shown}");
    assert!(shown.contains(&format!("href=\"/runs/{id}/chat\"")), "{shown}");
    let run = crate::run::start(&admin, &crate::run::workflow("true"));
    crate::run::until(&admin, &run, "run_ended");
    for tab in ["", "/output", "/report", "/audit"] {
        let shown = page(&vic, &format!("/runs/{run}{tab}"));
        assert!(
            !shown.contains("id=\"chat\"") && !shown.contains(&format!("/runs/{run}/chat")),
            "{tab}: {shown}"
        );
    }
    assert!(page(&vic, &format!("/runs/{run}/chat")).contains("Only a job has a companion"));
}
