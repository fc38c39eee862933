//! The workspace of a job is searched by words and by meaning, as it was held and by nobody else's question.

use checkrein_scripted_model::{Embeddings, Script, ScriptedModel};
use serde_json::Value;

use super::server::PostgresServer;
use super::{Job, job, push, scene};
use crate::place::Place;
use crate::run::{data, expect};

/// Plans with words that change from round to round, works, and is done.
const PLANS: &str = r##"case $n.$CHECKREIN_PHASE_KIND in
  1.*)
    printf '# Plan\n\n## Approach\n\nThe crawler visits each page once.\n\n' > plan.md
    case $r in
      1) printf '## When it goes wrong\n\nWe restore yesterday'"'"'s snapshot of the zanzibar tables.\n' >> plan.md ;;
      *) printf '## When it goes wrong\n\nEverything is computed anew from the quokka archive.\n' >> plan.md ;;
    esac
    answer '{"summary":"planned","next_todos":["fetch the aardvark list","write it"]}' ;;
  *.tactical) printf '# Notes\n\nThe platypus was measured.\n' > notes.md; work ;;
  *) complete ;;
esac"##;

fn found(job: &Job, query: &str, more: &[&str]) -> Vec<Value> {
    let ran = job.place.run(&[&["search", &job.id, query, "--json"], more].concat());
    expect(&ran, 0);
    ran.json()["hits"].as_array().unwrap().clone()
}

fn index(job: &Job) -> std::path::PathBuf {
    data(&job.place, &format!("jobs/{}/index.db", job.id))
}

#[test]
fn what_is_held_is_found_and_what_is_gone_is_not() {
    let job = job(scene(PLANS), &[], 3);
    assert!(index(&job).is_file(), "usable when the command returns");
    let hits = found(&job, "zanzibar", &["--by", "words"]);
    let first = &hits[0];
    assert_eq!((&first["file"], &first["heading"]), (&"plan.md".into(), &"Plan › When it goes wrong".into()));
    assert_eq!((&first["first_line"], &first["last_line"]), (&9.into(), &9.into()));
    assert_eq!(first["phase"], "phase-1-strategic");
    let (snippet, marks) = (first["snippet"].as_str().unwrap(), &first["marks"][0]);
    let (from, to) = (marks[0].as_u64().unwrap() as usize, marks[1].as_u64().unwrap() as usize);
    assert_eq!(snippet.chars().skip(from).take(to - from).collect::<String>(), "zanzibar");
    // Without a word in common.
    assert_eq!(
        found(&job, "recover from a disaster with a backup", &[])[0]["heading"],
        "Plan › When it goes wrong"
    );
    assert_eq!(found(&job, "aardvark", &[])[0]["file"], "todos.yaml");
    assert!(found(&job, "aardvark", &["--by", "words", "--file", "plan.md"]).is_empty());
    assert_eq!(found(&job, "aardvark", &["--file", "*.yaml", "--phase", "1"])[0]["file"], "todos.yaml");
    let shown = job.place.run(&["search", &job.id, "zanzibar tables"]);
    assert!(
        shown.stdout.starts_with("plan.md:9  Plan › When it goes wrong  phase-1-strategic\n"),
        "{}",
        shown.seen()
    );

    job.change(&[], 3);
    assert!(found(&job, "zanzibar", &["--by", "words"]).is_empty());
    assert_eq!(found(&job, "quokka", &["--by", "words"])[0]["heading"], "Plan › When it goes wrong");

    // What a person pushes while it is held is searched as well.
    let clone = job.cloned("theirs", "phase-1-strategic");
    push(&clone, "thoughts.md", "# Thoughts\n\nA wombat is needed.\n");
    assert_eq!(found(&job, "wombat", &["--by", "words"])[0]["file"], "thoughts.md");
}

#[test]
fn a_boundary_that_passes_is_not_indexed_and_an_index_ends_with_its_job() {
    let job = job(scene(PLANS), &["--autonomy", "review"], 3);
    assert_eq!(job.calls().len(), 3);
    let ran = job.place.run(&["search", &job.id, "platypus", "--by", "words", "--json"]).json();
    assert_eq!(
        (&ran["phase"], &ran["hits"][0]["phase"]),
        (&"phase-3-strategic".into(), &"phase-2-tactical".into())
    );
    job.approve(0);
    assert!(!index(&job).exists());
    let gone = job.place.run(&["search", &job.id, "platypus"]);
    expect(&gone, 6);
    assert!(gone.stderr.contains("goes when its job is over"), "{}", gone.seen());
    // One that never held has none.
    let other = super::give(&job.place, &["--autonomy", "full"]);
    expect(&other, 0);
    assert!(!data(&job.place, &format!("jobs/{}/index.db", super::id_of(&other))).exists());
}

#[test]
fn a_job_that_failed_keeps_its_index_for_whoever_asks_why() {
    let agent = PLANS.replace("*.tactical) printf", "*.tactical) exit 7; printf");
    let job = job(scene(&agent), &[], 3);
    job.approve(1);
    assert_eq!(job.status(), "failed");
    assert!(index(&job).is_file());
    assert_eq!(found(&job, "zanzibar", &["--by", "words"])[0]["file"], "plan.md");
}

#[test]
fn jobs_do_not_find_what_is_another_ones_and_a_cancelled_one_forgets() {
    let one = job(scene(PLANS), &[], 3);
    let other = super::give(&one.place, &["--autonomy", "review"]);
    expect(&other, 3);
    let other = super::id_of(&other);
    assert_eq!(found(&one, "platypus", &["--by", "words"]), [] as [Value; 0]);
    let theirs = one.place.run(&["search", &other, "platypus", "--by", "words", "--json"]).json();
    assert_eq!(theirs["hits"][0]["file"], "notes.md");
    expect(&one.place.run(&["search", "no-such-job", "x"]), 6);
    expect(&one.place.run(&["search", &one.id, " "]), 2);
    one.ann("reject", &["-m", "no"], 0);
    assert!(!index(&one).exists());
}

#[test]
fn documents_of_every_kind_are_read() {
    let docx = docx(
        "<w:p><w:pPr><w:pStyle w:val=\"Heading1\"/></w:pPr><w:r><w:t>Terms</w:t></w:r></w:p>\
                     <w:p><w:r><w:t>The narwhal clause.</w:t></w:r></w:p>",
    );
    let place = scene(PLANS)
        .file("page.html", "<h1>Herd</h1><p>The <b>okapi</b> grazes.</p><script>let lemur</script>")
        .file("notes.txt", "plain capybara\n");
    std::fs::write(place.path().join("deal.docx"), docx).unwrap();
    std::fs::write(place.path().join("paper.pdf"), PDF).unwrap();
    std::fs::write(place.path().join("broken.pdf"), "not at all").unwrap();
    let documents = ["page.html", "notes.txt", "deal.docx", "paper.pdf", "broken.pdf"];
    let given: Vec<&str> = documents.iter().flat_map(|name| ["--doc", name]).collect();
    let job = job(place, &given, 3);
    for (word, file, heading) in [
        ("okapi", "documents/page.html", "Herd"),
        ("capybara", "documents/notes.txt", ""),
        ("narwhal", "documents/deal.docx", "Terms"),
        ("axolotl", "documents/paper.pdf", "page 1"),
    ] {
        let hits = found(&job, word, &["--by", "words"]);
        assert_eq!(hits.len(), 1, "{word}");
        assert_eq!((&hits[0]["file"], &hits[0]["heading"]), (&file.into(), &heading.into()), "{word}");
    }
    assert!(found(&job, "lemur", &["--by", "words"]).is_empty());
    let notes = job.place.run(&["search", &job.id, "okapi", "--json"]).json()["notes"].to_string();
    assert!(notes.contains("documents/broken.pdf") && notes.contains("damaged"), "{notes}");
}

/// What was frozen is on the server: whoever uses it finds it, on any machine.
#[test]
fn on_a_server_every_machine_finds_what_one_of_them_froze() {
    let server = PostgresServer::shared();
    let store = server.database();
    let job = job(scene(PLANS).env("CHECKREIN_STORE", &store), &[], 3);
    assert!(!index(&job).exists(), "it is no file");
    let elsewhere = Place::new().env("CHECKREIN_STORE", &store);
    let found_there = |query: &str| {
        let ran = elsewhere.run(&["search", &job.id, query, "--json"]);
        expect(&ran, 0);
        ran.json()["hits"].as_array().unwrap().clone()
    };
    assert_eq!(found_there("zanzibar")[0]["heading"], "Plan › When it goes wrong");
    assert_eq!(
        found_there("recover from a disaster with a backup")[0]["heading"],
        "Plan › When it goes wrong",
        "by meaning as well"
    );
    let other = super::give(&job.place, &["--autonomy", "review"]);
    expect(&other, 3);
    assert!(found(&job, "platypus", &["--by", "words"]).is_empty(), "nothing of another job");
    job.change(&[], 3);
    let by_words = |query: &str| {
        let ran = elsewhere.run(&["search", &job.id, query, "--by", "words", "--json"]);
        expect(&ran, 0);
        ran.json()["hits"].as_array().unwrap().len()
    };
    assert_eq!(
        (by_words("zanzibar"), by_words("quokka")),
        (0, 1),
        "what is gone is not found, what is new is"
    );
    job.ann("reject", &["-m", "no"], 0);
    let gone = elsewhere.run(&["search", &job.id, "quokka"]);
    expect(&gone, 6);
    let left =
        server.ask(store.rsplit('/').next().unwrap(), "SELECT count(*), min(job) FROM checkrein_index_state");
    assert_eq!(left, Some(format!("1|{}", super::id_of(&other))), "only the other job is left");
}

fn with_endpoint(url: &str) -> Place {
    let settings =
        format!("search:\n  embeddings:\n    url: {url}\n    model: alike-1\n    key_env: EMBEDDINGS_KEY\n");
    let place = scene(PLANS).file("settings/checkrein.yaml", &settings);
    let path = place.path().join("settings/checkrein.yaml");
    let path = path.to_str().unwrap().to_owned();
    place.env("CHECKREIN_CONFIG", &path).env("EMBEDDINGS_KEY", "k3y-of-embeddings")
}

/// How many texts an endpoint was asked for, request by request.
fn asked(model: &ScriptedModel) -> Vec<usize> {
    model.asked().iter().map(|asked| asked.body["input"].as_array().map_or(0, Vec::len)).collect()
}

#[test]
fn vectors_of_an_endpoint_take_the_place_of_the_models_own() {
    let alike = vec![vec!["crawler".to_owned(), "lurcher".to_owned()]];
    let embeddings = Embeddings { alike, status: None };
    let key = Some("k3y-of-embeddings".to_owned());
    let script = Script { embeddings, key: key.clone(), ..Script::default() };
    let model = ScriptedModel::start(script.clone()).unwrap();
    let job = job(with_endpoint(&model.openai_url()), &[], 3);
    let search = |query: &str| {
        let ran = job.place.run(&["search", &job.id, query, "--json"]);
        expect(&ran, 0);
        ran.json()
    };
    let first = search("lurcher");
    let best = &first["hits"][0];
    assert_eq!(
        (&best["heading"], &best["rank_by_words"]),
        (&"Plan › Approach".into(), &Value::Null),
        "{first}"
    );
    assert_eq!(first["unread"], 0, "{first}");
    for request in model.asked() {
        assert_eq!((request.path.as_str(), &request.key), ("/v1/embeddings", &key));
        assert_eq!(request.body["model"], "alike-1");
    }
    let passages = first["chunks"].as_u64().unwrap() as usize;
    assert_eq!(asked(&model).iter().sum::<usize>(), passages + 1, "each passage once, and the question");
    search("lurcher");
    assert_eq!(asked(&model).last(), Some(&1), "only the question");
    assert_eq!(asked(&model).iter().sum::<usize>(), passages + 2);

    // Whatever is wrong with it, words are still found, and it is said why that is all.
    let refused =
        Script { embeddings: Embeddings { status: Some(503), ..script.embeddings.clone() }, ..script };
    model.say(refused);
    let note = |answer: &Value| answer["notes"].to_string();
    let words = search("zanzibar");
    assert_eq!((&words["by"], &words["hits"][0]["file"]), (&"words".into(), &"plan.md".into()), "{words}");
    assert!(note(&words).contains("found by words alone") && note(&words).contains("503"), "{words}");
    model.say(Script { key: Some("another".to_owned()), ..Script::default() });
    assert!(note(&search("zanzibar")).contains("401"));
    drop(model);
    let words = search("zanzibar");
    assert!(note(&words).contains("found by words alone"), "{words}");
    assert!(!words.to_string().contains("k3y-of-embeddings"), "{words}");
    let alone = job.place.run(&["search", &job.id, "zanzibar", "--by", "meaning"]);
    expect(&alone, 1);
    // Without it the model that is part of the program reads everything for itself.
    let settings = job.place.path().join("settings/checkrein.yaml");
    std::fs::write(settings, "").unwrap();
    let own = search("recover from a disaster with a backup");
    assert_eq!(own["hits"][0]["heading"], "Plan › When it goes wrong", "{own}");
}

const PDF: &str = "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n\
    2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n\
    3 0 obj << /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >> endobj\n\
    4 0 obj << /Length 50 >> stream\nBT /F1 12 Tf 72 700 Td (An axolotl regrows) Tj ET\nendstream endobj\n\
    5 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj\ntrailer << /Root 1 0 R >>\n";

/// A document with one entry that is not compressed.
fn docx(body: &str) -> Vec<u8> {
    let (name, content) = ("word/document.xml", format!("<w:document><w:body>{body}</w:body></w:document>"));
    let (name_length, size) = ((name.len() as u16).to_le_bytes(), (content.len() as u32).to_le_bytes());
    let mut zip = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    zip.extend([size, size].concat());
    zip.extend([name_length, [0, 0]].concat());
    zip.extend(name.as_bytes());
    zip.extend(content.as_bytes());
    let directory = zip.len() as u32;
    zip.extend(b"PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\0\0\0\0\0\0");
    zip.extend([size, size].concat());
    zip.extend([name_length, [0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]].concat());
    zip.extend(name.as_bytes());
    let length = (zip.len() as u32 - directory).to_le_bytes();
    zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    zip.extend([length, directory.to_le_bytes()].concat());
    zip.extend([0, 0]);
    zip
}
