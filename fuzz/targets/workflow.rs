//! A workflow file, from bytes to its policy and its plan.
#![no_main]

use std::sync::Arc;

use checkrein_core::config::Workflow;
use checkrein_core::document::Document;
use checkrein_core::plan::{Context, Plan};
use checkrein_core::policy::Scope;
use checkrein_fuzz::{check_layers, check_lines, check_problems, document_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(document) = document_of(data) else { return };
    match Workflow::read(&document) {
        Ok((workflow, problems)) => {
            check_lines(&problems, &document.text);
            check_layers(Scope::Workflow, workflow.layer().as_slice(), &document.text);
            check_plan(&[workflow.clone()], &document.text);
            // The same file below another name, so that everything in it is inherited.
            let mut child = workflow.clone();
            child.file.extends = Some("fuzz".to_owned());
            let mut renamed = Document::clone(&document);
            renamed.name = "child".to_owned();
            child.document = Arc::new(renamed);
            check_plan(&[child, workflow], &document.text);
        }
        Err(problems) => check_problems(&problems, &document.text),
    }
});

fn check_plan(chain: &[Workflow], text: &str) {
    match Plan::resolve(chain) {
        Ok((plan, problems)) => {
            check_lines(&problems, text);
            let stored = serde_json::to_string(&plan).expect("a plan can be stored");
            let read: Plan = serde_json::from_str(&stored).expect("and read again");
            assert_eq!(read, plan, "a stored plan means the same");
            for task in plan.phases.iter().flat_map(|phase| &phase.tasks) {
                let _ = task.fill(&Context::new());
            }
        }
        Err(problems) => check_problems(&problems, text),
    }
}
