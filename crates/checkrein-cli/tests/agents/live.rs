use serde_json::json;

use crate::place::{Place, job_with};

#[test]
fn a_message_reaches_an_agent_that_works() {
    let mut script = job_with(json!([
        {"calls": [{"run": "echo a > a.txt"}]},
        {"calls": [{"run": "echo b > b.txt; while ! test -f ../../../go; do sleep 0.1; done"}]},
        {"text": "done without a word"},
    ]));
    script["answers"].as_array_mut().unwrap().insert(
        0,
        json!({"says": "sign it with love", "turns": [
        {"calls": [{"run": "echo love > signed.txt"}]}, {"text": "signed"}]}),
    );
    let place = Place::with(script);
    let mut child = place.start(&["job", "Do it", "--agent", "builtin", "--autonomy", "full"]);
    let id = place.until("the second command", || {
        let runs = place.json(&["runs"]);
        let id = runs["items"][0]["run_id"].as_str()?.to_owned();
        // What it does shows while it does it.
        place.expect(&["log", &id], 0).contains("echo b > b.txt").then_some(id)
    });
    place.expect(&["message", &id, "please sign it with love"], 0);
    place.until("the message", || {
        place.path().join("store/jobs").join(&id).join("exchange").read_dir().ok()?.flatten().find(|entry| {
            entry.file_name().to_string_lossy().ends_with("messages.json")
                && std::fs::read_to_string(entry.path()).is_ok_and(|text| text.contains("love"))
        })
    });
    place.write("store/go", "");
    assert!(child.wait().unwrap().success());
    assert_eq!(place.git(&id, &["show", "main:signed.txt"]), "love\n");
    assert!(place.expect(&["log", &id], 0).contains("message c1 was delivered"));
    // It had it once: no later brief tells it again.
    let told = place.model.asked().into_iter().map(|asked| asked.body.to_string());
    assert!(
        !told
            .into_iter()
            .any(|body| body.contains("# Phase 3 (strategic)") && body.contains("sign it with love"))
    );
}
