//! A checkrein.yaml, from bytes to the policy of every scope, its words and its frame settings.
#![no_main]

use checkrein_core::config::{CheckreinFile, Owner, Settings, Subject};
use checkrein_core::policy::{LayerRank, Reading, Scope};
use checkrein_fuzz::{check_layers, check_lines, check_problems, document_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(document) = document_of(data) else { return };
    let (file, problems) = match CheckreinFile::read(&document, Owner::User, Reading::Coercing) {
        Ok(read) => read,
        Err(problems) => return check_problems(&problems, &document.text),
    };
    check_lines(&problems, &document.text);
    for scope in Scope::ALL {
        let layer = file.layer(LayerRank::ProjectConfig, scope);
        check_layers(scope, layer.as_slice(), &document.text);
    }
    if let Ok(settings) = Settings::new(None, Some(file), None, Vec::new()) {
        settings.frames();
        for worker in settings.workers() {
            if let Err(problems) = settings.resolve(Scope::Worker, Subject::Worker(worker), &[]) {
                check_problems(&problems, &document.text);
            }
        }
    }
});
