use checkrein_core::principal::Role;
use serde_json::json;

use crate::chat::{making, model};
use crate::job::at_its_plan;

#[test]
fn a_job_nobody_asked_about_has_an_empty_conversation_with_questions_to_begin_with() {
    let place = crate::job::making().start();
    let ann = place.as_role(Role::Reviewer);
    let (id, _) = at_its_plan(&ann);
    let path = format!("/v1/runs/{id}/chat");
    let chat = place.as_role(Role::Viewer).get(&path).expect(200).json();
    assert_eq!((&chat["stage"], &chat["messages"]), (&"plan_review".into(), &json!([])));
    assert!(chat["questions"].to_string().contains("plan"), "{chat}");
    assert!(chat["notes"][0].as_str().unwrap().contains("no model is set up"), "{chat}");
    let tools = chat["tools"].to_string();
    assert!(tools.contains("edit_file") && !tools.contains("web_search"), "{tools}");
    place.as_role(Role::Agent).get(&path).refused(403, "forbidden");
    ann.get("/v1/runs/nothing/chat").refused(404, "not-found");
}

#[test]
fn whoever_follows_it_hears_what_others_ask() {
    let model = model(json!({"otherwise": "indeed"}));
    let place = making(&model).start();
    let ann = place.bearer(&place.token(Role::Reviewer, "ann"));
    let (id, _) = at_its_plan(&ann);
    let path = format!("/v1/runs/{id}/chat");
    let bob = place.bearer(&place.token(Role::Viewer, "bob"));
    let client = bob.header("Accept", "text/event-stream");
    let mut stream = std::io::BufReader::new(client.open("GET", &path, None));
    assert_eq!(crate::place::read_head(&mut stream).0, 200);
    ann.post(&path, &json!({"text": "is it good?"})).expect(201);
    let mut heard = Vec::new();
    for piece in crate::chat::pieces(stream) {
        let message = &piece["message"];
        heard.push(format!("{} {} {}", message["by"], message["status"], message["text"]));
        if message["status"] == "done" && message["by"].is_null() {
            break;
        }
    }
    assert_eq!(heard.first().unwrap(), "\"ann\" \"done\" \"is it good?\"");
    assert_eq!(heard.last().unwrap(), "null \"done\" \"indeed\"");
}
