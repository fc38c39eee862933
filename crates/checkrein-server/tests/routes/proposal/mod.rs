mod apply;
mod discard;

use checkrein_scripted_model::ScriptedModel;
use serde_json::{Value, json};

use crate::chat::{making, model};
use crate::job::at_its_plan;
use crate::place::{Client, Place};

/// A job with a proposal of a file, `p1`, and of a comment, `p2`.
struct Proposing {
    place: Place,
    ann: Client,
    run: String,
    checkpoint: String,
    _model: ScriptedModel,
}

impl Proposing {
    fn new() -> Proposing {
        let model = model(json!({"answers": [{"says": "better", "turns": [
            {"calls": [
                {"tool": "edit_file", "input": {"path": "plan.md", "old": "the cat sat", "new": "the cat lay"}},
                {"tool": "draft_comment", "input": {"text": "Which mat?", "file": "plan.md", "line": 3}}]},
            {"text": "Proposed."}]}]}));
        let place = making(&model).start();
        let ann = place.bearer(&place.token(checkrein_core::principal::Role::Reviewer, "ann"));
        let (run, checkpoint) = at_its_plan(&ann);
        let answered =
            ann.post(&format!("/v1/runs/{run}/chat"), &json!({"text": "better"})).expect(201).json();
        let ids: Vec<&Value> =
            answered["proposals"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!(ids, ["p1", "p2"], "{answered}");
        Proposing { place, ann, run, checkpoint, _model: model }
    }

    fn path(&self, id: &str, verb: &str) -> String {
        format!("/v1/runs/{}/chat/proposals/{id}/{verb}", self.run)
    }

    fn review(&self) -> Value {
        self.ann.get(&format!("/v1/checkpoints/{}/review", self.checkpoint)).expect(200).json()
    }
}
