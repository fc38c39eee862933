use checkrein_core::principal::Role;

use super::{page, person, send};
use crate::place::Place;

/// Who may look at what; a dash is everybody who is known.
const PAGES: [(&str, Role); 9] = [
    ("/inbox", Role::Viewer),
    ("/runs", Role::Viewer),
    ("/policy", Role::Viewer),
    ("/workers", Role::Viewer),
    ("/settings", Role::Viewer),
    ("/jobs/new", Role::Reviewer),
    ("/people", Role::Admin),
    ("/webhooks", Role::Admin),
    ("/webhooks/none", Role::Admin),
];

const FORMS: [(&str, Role); 9] = [
    ("/jobs", Role::Reviewer),
    ("/verdicts", Role::Reviewer),
    ("/checkpoints/none/verdict", Role::Reviewer),
    ("/runs/none/cancel", Role::Reviewer),
    ("/runs/none/level", Role::Reviewer),
    ("/people/tokens", Role::Admin),
    ("/people/tokens/none/revoke", Role::Admin),
    ("/webhooks", Role::Admin),
    ("/webhooks/none/remove", Role::Admin),
];

#[test]
fn a_role_sees_and_does_what_the_matrix_says() {
    let place = Place::new();
    let nobody = place.client().header("Accept", "text/html").header("Sec-Fetch-Site", "same-origin");
    for role in Role::ALL {
        let browser = person(&place, role, role.name());
        for (path, least) in PAGES {
            let status = browser.get(path).status;
            assert_eq!(status == 403, role < least, "{role} {path}: {status}");
            assert_eq!(nobody.get(path).status, 401, "{path}");
        }
        for (path, least) in FORMS {
            let status = send(&browser, path, &[]).status;
            assert_eq!(status == 403, role < least, "{role} {path}: {status}");
            assert!(status < 500, "{role} {path}: {status}");
        }
        // What leads nowhere is not shown.
        assert_eq!(page(&browser, "/inbox").contains("href=\"/people\""), role == Role::Admin, "{role}");
    }
}

#[test]
fn a_policy_is_explained_and_asked() {
    let place = Place::making().settings("autonomy: { warning_tolerance: medium }").start();
    let vic = person(&place, Role::Viewer, "vic");
    let shown = page(&vic, "/policy");
    assert!(shown.contains("warning tolerance") && shown.contains("checkrein.yaml"), "{shown}");
    let asked = "/policy?ask=1&kind=step&finding=the+token+is+deprecated&finding_kind=warning&severity=high";
    let answered = page(&vic, asked);
    assert!(answered.contains("<h3>Stop</h3>") && answered.contains("tolerance.warning"), "{answered}");
    let tolerated = page(&vic, &asked.replace("severity=high", "severity=low"));
    assert!(tolerated.contains("<h3>Proceed</h3>") && tolerated.contains("is tolerated"), "{tolerated}");
    let wrong = vic.get("/policy?autonomy=%7B%22levle%22%3A1%7D");
    assert!(wrong.body.contains("levle"), "{}", wrong.body);
}

#[test]
fn a_secret_is_shown_once() {
    let place = Place::new();
    let sam = person(&place, Role::Admin, "sam");
    let made = send(&sam, "/people/tokens", &[("name", "<carl>"), ("role", "reviewer"), ("expires", "30d")])
        .expect(200);
    let secret = made.body.split_once("id=\"secret\">").unwrap().1.split_once('<').unwrap().0;
    assert!(secret.starts_with("chk_") && made.body.contains("&lt;carl&gt;"));
    let listed = page(&sam, "/people");
    assert!(listed.contains("&lt;carl&gt;") && !listed.contains("chk_"), "{listed}");
    place.bearer(secret).get("/v1/checkpoints").expect(200);
    assert!(
        send(&sam, "/people/tokens", &[("name", "x"), ("role", "king")]).expect(422).body.contains("king")
    );
}
