//! What every request has to pass: names, sites, sizes, patience, rates, secrets.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use checkrein_core::principal::Role;
use serde_json::{Value, json};

use crate::checkpoint::ask;
use crate::place::{Client, Place, read_head};
use crate::session::{by_link, from_here};

/// A name that was pointed here gets nothing, whatever it knows.
#[test]
fn a_name_that_is_not_its_own_is_not_answered() {
    let place = Place::making().name("checkrein.example").start();
    let admin = place.as_role(Role::Admin);
    let port = place.address.port();
    for host in ["localhost", "127.0.0.1", "[::1]", "checkrein.example", &format!("localhost:{port}")] {
        admin.clone().header("Host", host).get("/v1/session").expect(200);
    }
    for host in ["evil.example", &format!("evil.example:{port}"), "localhost.evil.example", "", "10.0.0.1"] {
        for path in ["/v1/session", "/v1/openapi.json", "/metrics", "/", "/none"] {
            admin.clone().header("Host", host).get(path).refused(421, "misdirected");
        }
    }
    // An absolute target names a host as well.
    admin.get("http://evil.example/v1/session").refused(421, "misdirected");
    let mut stream = TcpStream::connect(place.address).unwrap();
    stream.write_all(b"GET /v1/session HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").unwrap();
    assert_eq!(read_head(&mut BufReader::new(stream)).0, 400);
}

/// A page of another site makes a browser send its cookie, and still gets nothing done.
#[test]
fn a_cookie_works_from_here_alone() {
    let place = Place::new();
    let sam = by_link(&place);
    ask(&place.as_role(Role::Agent), "c1");
    let (address, port) = (place.address, place.address.port());
    let give = |client: &crate::place::Client| {
        client.post("/v1/checkpoints/c1/verdict", &json!({"verdict": "approve"}))
    };
    for (name, value) in [
        ("Origin", "http://evil.example".to_owned()),
        ("Origin", "null".to_owned()),
        ("Origin", format!("http://localhost:{}", port.wrapping_add(1))),
        ("Origin", format!("http://{address}.evil.example")),
        ("Sec-Fetch-Site", "cross-site".to_owned()),
        ("Sec-Fetch-Site", "same-site".to_owned()),
        ("Sec-Fetch-Site", "none".to_owned()),
        // Nothing is said: no browser of today.
        ("X-Nothing", "at all".to_owned()),
    ] {
        give(&sam.clone().header(name, &value)).refused(403, "cross-site");
    }
    // One of the two that is wrong is enough.
    let mixed = sam.clone().header("Sec-Fetch-Site", "same-origin").header("Origin", "http://evil.example");
    give(&mixed).refused(403, "cross-site");
    // A form cannot say that it sends JSON.
    let form = from_here(&sam).header("Content-Type", "application/x-www-form-urlencoded");
    give(&form).refused(415, "unsupported-media-type");
    give(&from_here(&sam).header("Content-Type", "text/plain")).refused(415, "unsupported-media-type");
    assert_eq!(sam.get("/v1/checkpoints/c1").expect(200).json()["status"], "pending");
    // The cookie goes to every port of the host: whoever has it alone, and says what they like, changes
    // nothing; and it is no token.
    let thief = place.client().header("Cookie", &sam.cookie).header("Sec-Fetch-Site", "same-origin");
    let thief = thief.header("Origin", &format!("http://{address}"));
    give(&thief).refused(403, "cross-site");
    let (_, secret) = sam.cookie.split_once('=').unwrap();
    for secret in [secret, "", &sam.session_id, &"0".repeat(64)] {
        give(&thief.clone().header("X-CSRF-Token", secret)).refused(403, "cross-site");
        place.bearer(secret).get("/v1/session").refused(401, "unauthenticated");
    }
    thief.delete("/v1/session").refused(403, "cross-site");
    let other = crate::session::browser(&place, &json!({"token": place.token(Role::Reviewer, "ann")}));
    give(&thief.clone().header("X-CSRF-Token", &other.csrf_token)).refused(403, "cross-site");
    assert_eq!(sam.get("/v1/checkpoints/c1").expect(200).json()["status"], "pending");
    let page = sam.clone().header("Origin", &format!("http://{address}"));
    give(&page.header("X-CSRF-Token", &sam.csrf_token)).expect(200);
    // A token is nothing a browser sends by itself.
    ask(&place.as_role(Role::Agent), "c2");
    let ann = place.as_role(Role::Reviewer).header("Origin", "http://evil.example");
    ann.post("/v1/checkpoints/c2/verdict", &json!({"verdict": "approve"})).expect(200);
}

#[test]
fn a_cookie_that_is_forged_or_old_is_worth_nothing() {
    let place = Place::new();
    let token = place.token(Role::Admin, "ann");
    let port = place.address.port();
    for value in ["nonsense", "", &token, "t.chk_0"] {
        let cookie = format!("checkrein_session_{port}={value}");
        place.client().header("Cookie", &cookie).get("/v1/session").refused(401, "unauthenticated");
    }
    for cookie in [
        format!("checkrein_session={token}"),
        format!("checkrein_session_1={token}"),
        format!("other={token}"),
    ] {
        place.client().header("Cookie", &cookie).get("/v1/session").refused(401, "unauthenticated");
    }
}

#[test]
fn every_answer_tells_browsers_to_do_nothing_with_it() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    for answer in [
        admin.get("/v1/checkpoints"),
        admin.get("/none"),
        admin.send("PUT", "/v1/checkpoints", None),
        place.client().get("/v1/checkpoints"),
        place.client().get("/healthz"),
        admin.clone().header("Host", "evil.example").get("/"),
    ] {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name} of {answer:?}");
        }
        assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control")), "{answer:?}");
    }
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let place = Place::making().limits(|limits| limits.body_bytes_max = 1 << 20).start();
    let agent = place.as_role(Role::Agent);
    let fits = json!({"id": "fits", "worker": "w", "deliverable": "x".repeat((1 << 20) - 100)});
    agent.post("/v1/checkpoints", &fits).expect(201);
    let large = json!({"worker": "w", "deliverable": "x".repeat(1 << 20)});
    agent.post("/v1/checkpoints", &large).refused(413, "too-large");
    // Who may not ask is told so, whatever they send.
    place.as_role(Role::Viewer).post("/v1/checkpoints", &large).refused(403, "forbidden");
    // Whoever may be anybody has not much to say.
    place.client().post("/v1/session", &json!({"token": "x".repeat(100_000)})).refused(413, "too-large");
    // Without an end in sight.
    let mut stream = TcpStream::connect(place.address).unwrap();
    let token = place.token(Role::Agent, "endless");
    let head = format!(
        "POST /v1/checkpoints HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 65536, "x".repeat(65536));
    for _ in 0..64 {
        if stream.write_all(chunk.as_bytes()).is_err() {
            break;
        }
    }
    assert_eq!(read_head(&mut BufReader::new(stream)).0, 413);
    let long = format!("/v1/checkpoints?worker={}", "x".repeat(100_000));
    assert!([400, 414, 431].contains(&agent.send("GET", &long, None).status));
}

#[test]
fn whoever_is_slow_is_let_go() {
    let place = Place::making()
        .limits(|limits| {
            limits.head_time_max = Duration::from_millis(200);
            limits.body_time_max = Duration::from_millis(200);
        })
        .start();
    // Not even a whole head.
    let mut stream = TcpStream::connect(place.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: loc").unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&rest));
    // Nothing at all.
    let mut silent = TcpStream::connect(place.address).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(silent.read(&mut [0; 16]).unwrap_or(0), 0);
    // A body that never comes.
    let token = place.token(Role::Agent, "slow");
    let mut stream = TcpStream::connect(place.address).unwrap();
    let head = format!(
        "POST /v1/checkpoints HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(read_head(&mut BufReader::new(stream)).0, 408);
    // Others were not kept waiting.
    place.client().get("/healthz").expect(200);
}

#[test]
fn whoever_asks_too_often_is_told_when_to_come_back() {
    let place = Place::making()
        .limits(|limits| {
            limits.requests_max = 3;
            limits.requests_every = Duration::from_secs(3600);
            limits.failures_max = 2;
            limits.failures_every = Duration::from_secs(3600);
        })
        .start();
    let (one, other) = (place.as_role(Role::Viewer), place.as_role(Role::Agent));
    for _ in 0..3 {
        one.get("/v1/session").expect(200);
    }
    let answer = one.get("/v1/session");
    assert!(answer.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
    answer.refused(429, "rate-limited");
    other.get("/v1/session").expect(200);
    // Guessing tokens is slowed down, and keeps nobody else out.
    let guess = place.bearer("chk_guess");
    for _ in 0..2 {
        guess.get("/v1/session").refused(401, "unauthenticated");
    }
    guess.get("/v1/session").refused(429, "rate-limited");
    other.get("/v1/session").expect(200);
}

#[test]
fn what_is_secret_shows_in_no_answer() {
    let place = Place::making()
        .settings("secrets: [API_KEY, QUOTED]")
        .env("API_KEY", "hunter2hunter2")
        .env("QUOTED", "pass\"word")
        .start();
    let agent = place.as_role(Role::Agent);
    let token = place.token(Role::Admin, "careless");
    let text = format!("key hunter2hunter2, pass\"word and {token}");
    let asked = json!({"id": "c1", "worker": "hunter2hunter2", "deliverable": text});
    let mut events = agent.listen("/v1/events");
    let answers = [
        agent.post("/v1/checkpoints", &asked).expect(201).body,
        agent.get("/v1/checkpoints").expect(200).body,
        agent.get("/v1/checkpoints/c1").expect(200).body,
        agent.get("/v1/events").expect(200).body,
        agent.get("/v1/checkpoints/hunter2hunter2").expect(404).body,
        agent.post("/v1/checkpoints", &json!({"worker": "w", "hunter2hunter2": 1})).expect(422).body,
        events.next().unwrap().data.to_string(),
    ];
    for answer in answers {
        assert!(
            !answer.contains("hunter2") && !answer.contains(&token) && !answer.contains("pass\\\"word"),
            "{answer}"
        );
    }
    let shown = agent.get("/v1/checkpoints/c1").json();
    assert_eq!(shown["deliverable"], "key ***, *** and chk_***");
    // Bytes are masked before they are Base64.
    let bytes = BASE64_STANDARD.encode([b"\xff\xfe hunter2hunter2 ".as_slice(), token.as_bytes()].concat());
    agent
        .post("/v1/checkpoints", &json!({"id": "c2", "worker": "w", "deliverable_base64": bytes}))
        .expect(201);
    let shown = agent.get("/v1/checkpoints/c2").json();
    assert_eq!(shown["deliverable"]["base64"], BASE64_STANDARD.encode(b"\xff\xfe *** chk_***"));
}

/// A secret may look like a number or like a field of ours; what is answered stays what it was.
#[test]
fn masking_leaves_json_whole() {
    let place = Place::making()
        .settings("secrets: [PIN, WORD, BRACE]")
        .env("PIN", "2026")
        .env("WORD", "status")
        .env("BRACE", "\",\"")
        .start();
    let agent = place.as_role(Role::Agent);
    let asked =
        json!({"id": "c1", "worker": "w", "deliverable": {"n": 2026, "a": "in 2026, status", "status": 1}});
    agent.post("/v1/checkpoints", &asked).expect(201);
    let shown = agent.get("/v1/checkpoints/c1").expect(200).json();
    assert_eq!(shown["status"], "pending", "{shown}");
    assert_eq!(shown["deliverable"], json!({"n": 2026, "a": "in ***, ***", "status": 1}));
    let mut events = agent.listen("/v1/events?after=0");
    assert_eq!(events.next().unwrap().data["status"], "pending");
}

/// What is secret of a job's datasource shows nowhere, whatever its agent writes and whoever asks.
#[test]
fn what_is_secret_of_a_job_shows_in_nothing_about_it() {
    let agent = r#"cat > /dev/null
echo "read $CHECKREIN_DATASOURCE_DB"
printf '{"summary": "from %s", "next_todos": ["read %s"]}' "$CHECKREIN_DATASOURCE_DB" "$CHECKREIN_DATASOURCE_DB" > "$CHECKREIN_RESULT"
"#;
    let settings = json!({"agent": agent}).to_string();
    let place =
        Place::making().settings(&settings).env("PATH", &std::env::var("PATH").unwrap()).working().start();
    let admin = place.as_role(Role::Admin);
    let mut events = admin.listen("/v1/events");
    let given = json!({"description": "read it", "datasources": {"db": "postgres://u:s3cretpass@db/x"}});
    let id = crate::job::give(&admin, &given);
    let checkpoint = crate::job::held(&admin, &id);
    let mut answers = all_about(&admin, &id, &checkpoint);
    loop {
        let event = events.next().unwrap().data;
        answers.push(event.to_string());
        if event["event"] == "checkpoint_created" {
            break;
        }
    }
    for answer in &answers {
        assert!(!answer.contains("s3cretpass"), "{answer}");
    }
    assert!(answers.iter().any(|answer| answer.contains("***")));
}

/// Everything a job and what it waits at are told by.
fn all_about(admin: &Client, id: &str, checkpoint: &str) -> Vec<String> {
    let mut answers =
        vec![crate::mcp::Session::new(admin).call("show_checkpoint", &json!({"id": checkpoint})).to_string()];
    for path in [
        "/v1/events".to_owned(),
        "/v1/checkpoints".to_owned(),
        "/v1/jobs".to_owned(),
        format!("/v1/runs/{id}"),
        format!("/v1/runs/{id}/events"),
        format!("/v1/runs/{id}/output"),
        format!("/v1/runs/{id}/output?as=json"),
        format!("/v1/runs/{id}/definition"),
        format!("/v1/runs/{id}/log"),
        format!("/v1/runs/{id}/report"),
        format!("/v1/jobs/{id}"),
        format!("/v1/checkpoints/{checkpoint}"),
        format!("/v1/checkpoints/{checkpoint}/review"),
    ] {
        answers.push(admin.get(&path).expect(200).body);
    }
    answers
}

/// However an address is written, and however its secret is written later.
#[test]
fn whatever_form_an_address_has_its_secret_shows_nowhere() {
    let forms = [
        ("postgres://u:p%40ss%2Fw0rd%22x@db/x", &["p%40ss%2Fw0rd%22x", "p@ss/w0rd\"x"][..]),
        ("host=db user=ann password=kw0rdpass dbname=x", &["kw0rdpass"]),
        ("Driver={X};Server=db;Uid=ann;Pwd=0dbcpass;", &["0dbcpass"]),
        ("ann:g0dsnpass@tcp(db:3306)/x", &["g0dsnpass"]),
        ("mysql://ann:my5qlpass@tcp(db:3306)/x", &["my5qlpass"]),
        ("https://a.blob.core.windows.net/c?sv=2024&sig=s4ss1g%2Bx", &["s4ss1g%2Bx", "s4ss1g+x"]),
        ("https://b.s3.amazonaws.com/k?X-Amz-Signature=s3s1gnature", &["s3s1gnature"]),
        ("https://t0kenasuser@api.example.com/x", &["t0kenasuser"]),
        ("https://api.example.com/hooks/t0ken1npath00000001", &["t0ken1npath00000001"]),
        ("jdbc:postgresql://db/x?user=ann&password=jdbcpa55", &["jdbcpa55"]),
        ("AccountName=a;AccountKey=acc0untkey==;", &["acc0untkey=="]),
        ("redis://:r3dispass@cache/0", &["r3dispass"]),
        ("a-t0ken-and-n0thing-else", &["a-t0ken-and-n0thing-else"]),
    ];
    let secrets: Vec<&str> = forms.iter().flat_map(|(_, secrets)| secrets.iter().copied()).collect();
    let said = secrets.join(" and ");
    let result = json!({"summary": format!("from {said}"), "next_todos": [said]});
    let agent = format!(
        "cat > /dev/null\ncat <<'END'\n{said}\nEND\nenv | grep DATASOURCE\ncat > \"$CHECKREIN_RESULT\" <<'END'\n{result}\nEND\n"
    );
    let settings = json!({"agent": agent}).to_string();
    let place =
        Place::making().settings(&settings).env("PATH", &std::env::var("PATH").unwrap()).working().start();
    let admin = place.as_role(Role::Admin);
    let sources: serde_json::Map<String, Value> =
        (1..).zip(&forms).map(|(number, (address, _))| (format!("f{number}"), json!(address))).collect();
    let id = crate::job::give(&admin, &json!({"description": "read it", "datasources": sources}));
    let checkpoint = crate::job::held(&admin, &id);
    for answer in all_about(&admin, &id, &checkpoint) {
        for (address, secrets) in forms {
            let shown = secrets.iter().chain([&address]).find(|secret| answer.contains(**secret));
            assert_eq!(shown, None, "{answer}");
        }
    }
}

#[test]
fn odd_requests_are_answered_and_the_server_goes_on() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    for path in [
        "/../../etc/passwd",
        "/v1/../../../etc/passwd",
        "/v1/runs/%2e%2e/%2e%2e/output",
        "/v1//checkpoints",
        "/v1/checkpoints/",
        "/V1/checkpoints",
        "/v1/checkpoints/%ff%fe",
    ] {
        let status = admin.get(path).status;
        assert!([400, 404].contains(&status), "{path}: {status}");
    }
    for raw in [
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\0\0\0\0",
        "GET /v1/session HTTP/1.1\r\nA\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(place.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(raw.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(
            rest.is_empty() || rest.starts_with(b"HTTP/1.1 4"),
            "{raw:?}: {}",
            String::from_utf8_lossy(&rest)
        );
    }
    for header in ["Basic YTpi", "Bearer", "Bearer ", "bearer chk_x", "Bearer \u{fc}"] {
        let status = place.client().header("Authorization", header).get("/v1/session").status;
        assert_eq!(status, 401, "{header}");
    }
    place.client().get("/healthz").expect(200);
}
