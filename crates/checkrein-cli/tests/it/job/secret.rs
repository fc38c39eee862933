//! What is secret in the address of a datasource is the agent's alone.

use super::{job, scene};
use crate::run::data;

const ADDRESS: &str =
    "postgres://ann:s3cr3t-passw0rd@db.example.org:5432/orders?sslmode=require&token=t0k3n-t3xt";

#[test]
fn a_password_is_nowhere_but_with_the_agent() {
    let agent = r#"echo "$CHECKREIN_DATASOURCE_ORDERS_DB" > "$here/got"
      echo "connecting to $CHECKREIN_DATASOURCE_ORDERS_DB"
      echo "password s3cr3t-passw0rd and t0k3n-t3xt" >&2
      case $n in
        1) answer "{\"next_todos\":[\"x\"],\"summary\":\"used s3cr3t-passw0rd\",\"warnings\":[\"t0k3n-t3xt is weak\"]}" ;;
        2) echo "$CHECKREIN_DATASOURCE_ORDERS_DB" >&2; exit 3 ;;
      esac"#;
    let given = ["--datasource", &format!("orders-db={ADDRESS}"), "--autonomy", "full"];
    let job = job(scene(agent), &given, 1);
    assert_eq!(job.place.read("got").trim(), ADDRESS);
    let brief = job.brief(1);
    assert!(brief.contains("$CHECKREIN_DATASOURCE_ORDERS_DB"), "{brief}");
    assert!(
        brief.contains("postgres://ann:***@db.example.org:5432/orders?sslmode=require&token=***"),
        "{brief}"
    );
    let mut seen = vec![("given", job.given.seen()), ("brief", brief)];
    for arguments in [
        &["show", &job.id][..],
        &["show", &job.id, "--json"],
        &["log", &job.id],
        &["log", &job.id, "--json"],
        &["report", &job.id, "--format", "detailed"],
        &["runs", "--json"],
        &["store", "export"],
        &["checkpoint", "list", "--json"],
    ] {
        seen.push((arguments[0], job.place.run(arguments).seen()));
    }
    seen.push(("branches", job.git(&["log", "--all", "-p"])));
    for (name, text) in seen {
        assert!(!text.is_empty());
        for secret in ["s3cr3t-passw0rd", "t0k3n-t3xt"] {
            assert!(!text.contains(secret), "{name}: {text}");
        }
    }
    let kept = data(&job.place, &format!("jobs/{}/datasources.json", job.id));
    let mode = std::os::unix::fs::PermissionsExt::mode(&kept.metadata().unwrap().permissions());
    assert_eq!(mode & 0o077, 0, "only its owner reads it");
    let found = walk(&data(&job.place, ""), "s3cr3t-passw0rd");
    assert_eq!(found, [kept], "and it is in no other file");
}

/// What the agent wrote into a file is shown as a server shows it.
#[test]
fn a_review_has_no_password_in_its_lines() {
    let agent = r#"echo "url=$CHECKREIN_DATASOURCE_ORDERS_DB" > conf.txt; answer '{"next_todos":["x"]}'"#;
    let given = ["--datasource", &format!("orders-db={ADDRESS}"), "--autonomy", "dependent"];
    let job = job(scene(agent), &given, 3);
    for how in ["--plain", "--json"] {
        let seen = job.place.run(&["review", &job.id, how]).seen();
        assert!(seen.contains("conf.txt") && seen.contains("url=***"), "{how}: {seen}");
        assert!(!seen.contains("s3cr3t-passw0rd") && !seen.contains("t0k3n-t3xt"), "{how}: {seen}");
    }
}

/// The files below a directory that hold a text.
fn walk(directory: &std::path::Path, text: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path, text));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(path);
            }
        }
    }
    found
}
