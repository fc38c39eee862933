//! A line of JSON and lines of variables: a push or pop request is answered within bounds, a stored
//! tree gives contexts within their budget, variables make a patch or a warning.
#![no_main]

use checkrein_core::frame::{
    FLAME_AUTONOMY_LEVEL, FLAME_ENABLED_HEURISTICS, FLAME_POP_THRESHOLD, FLAME_PUSH_THRESHOLD,
    FLAME_SUGGEST_IN_CONTEXT, FrameConfig, FrameConfigPatch, FrameTree, PopRequest, PushRequest,
    assemble_context, estimate_tokens, evaluate_pop, evaluate_push, from_env,
};
use libfuzzer_sys::fuzz_target;

const VARIABLES: [&str; 5] = [
    FLAME_AUTONOMY_LEVEL,
    FLAME_PUSH_THRESHOLD,
    FLAME_POP_THRESHOLD,
    FLAME_SUGGEST_IN_CONTEXT,
    FLAME_ENABLED_HEURISTICS,
];

fuzz_target!(|input: &str| {
    let (json, variables) = input.split_once('\n').unwrap_or((input, ""));
    let values: Vec<&str> = variables.lines().collect();
    let (environment, _) = from_env(|name| {
        let index = VARIABLES.iter().position(|variable| *variable == name)?;
        values.get(index).map(|value| (*value).to_owned())
    });
    if let Ok(request) = serde_json::from_str::<PushRequest>(json) {
        let evaluation = evaluate_push(&request, &config(&environment, &request.config));
        assert!(evaluation.confidence <= 100 && evaluation.threshold <= 100);
        serde_json::to_string(&evaluation).expect("an evaluation can be written");
    }
    if let Ok(request) = serde_json::from_str::<PopRequest>(json) {
        let evaluation = evaluate_pop(&request, &config(&environment, &request.config));
        assert!(evaluation.confidence <= 100 && evaluation.threshold <= 100);
        serde_json::to_string(&evaluation).expect("an evaluation can be written");
    }
    if let Ok(tree) = serde_json::from_str::<FrameTree>(json) {
        for frame in tree.frames() {
            for budget in [0, 60, 4_000] {
                if let Ok(context) = assemble_context(&tree, &frame.id, budget) {
                    assert!(estimate_tokens(&context) <= budget);
                }
            }
        }
        let stored = serde_json::to_string(&tree).expect("a tree can be stored");
        assert_eq!(serde_json::from_str::<FrameTree>(&stored).expect("and read again"), tree);
    }
});

fn config(environment: &FrameConfigPatch, own: &Option<FrameConfigPatch>) -> FrameConfig {
    let mut config = FrameConfig::default();
    config.apply(environment);
    if let Some(own) = own {
        config.apply(own);
    }
    config
}
