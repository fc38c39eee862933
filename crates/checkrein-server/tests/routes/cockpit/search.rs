use checkrein_core::principal::Role;
use serde_json::json;

use super::{page, person};
use crate::job::{at_its_plan, give, held, making};

/// The text of a page's results.
fn found(page: &str) -> &str {
    page.split_once("id=\"found\"").unwrap_or_else(|| panic!("no results in {page}")).1
}

#[test]
fn the_workspace_is_searched_beside_its_review() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    let vic = person(&place, Role::Viewer, "vic");
    let review = page(&vic, &format!("/reviews/{id}"));
    assert!(review.contains(&format!("action=\"/reviews/{id}/search\" role=\"search\"")), "{review}");
    let asked = page(&vic, &format!("/reviews/{id}/search"));
    assert!(found(&asked).contains("Ask for words"), "{asked}");
    let answer = page(&vic, &format!("/reviews/{id}/search?q=cat&by=words"));
    let answer = found(&answer);
    assert!(answer.contains("the <mark>cat</mark> sat on the mat"), "{answer}");
    assert!(answer.contains("path=plan.md"), "{answer}");
    // The link leads to the line.
    let link = answer.split_once("href=\"").unwrap().1.split_once('"').unwrap().0.replace("&amp;", "&");
    let (address, line) = link.split_once('#').unwrap();
    let file = page(&vic, address);
    let row = file.split_once(&format!("id=\"{line}\"")).unwrap_or_else(|| panic!("no {line} in {file}")).1;
    assert!(row.split_once("</tr>").unwrap().0.contains("cat"), "{row}");
    let nothing = page(&vic, &format!("/reviews/{id}/search?q=cat&by=words&file=none.md"));
    assert!(found(&nothing).contains("Nothing was found"), "{nothing}");
    // By meaning as well, and what others write is text.
    let odd = page(&vic, &format!("/reviews/{id}/search?q=%3Cscript%3Ealert(1)%3C/script%3E&by=nonsense"));
    assert!(!odd.contains("<script>alert"), "{odd}");
    assert!(
        vic.get(&format!("/reviews/{job}.9/search?q=x")).expect(404).body.contains("There is nothing here")
    );
    assert!(
        place.client().header("Accept", "text/html").get(&format!("/reviews/{id}/search?q=cat")).status
            != 200
    );
}

#[test]
fn a_secret_is_not_cut_in_two_by_what_is_marked() {
    let agent = "cat > /dev/null; printf '# Plan\n\nThe word is hunter2-zebra-word today.\n' > plan.md; \
                 echo '{\"next_todos\":[\"x\"]}' > \"$CHECKREIN_RESULT\"";
    let place = making().settings(&json!({"agent": agent}).to_string()).start();
    let ann = place.as_role(Role::Admin);
    let source = "postgres://reader:hunter2-zebra-word@db.example/main";
    let job = give(&ann, &json!({"description": "write it", "datasources": {"db": source}}));
    let id = held(&ann, &job);
    let vic = person(&place, Role::Viewer, "vic");
    let answer = page(&vic, &format!("/reviews/{id}/search?q=zebra&by=words"));
    let answer = found(&answer);
    assert!(
        answer.contains("plan.md") && !answer.contains("hunter2") && !answer.contains("zebra"),
        "{answer}"
    );
}

#[test]
fn a_job_that_is_over_says_why_there_is_nothing_to_search() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (_, id) = at_its_plan(&ann);
    let head =
        ann.get(&format!("/v1/checkpoints/{id}")).expect(200).json()["digest"].as_str().unwrap().to_owned();
    let verdict = json!({"verdict": "reject", "reason": "no", "digest": head});
    ann.post(&format!("/v1/checkpoints/{id}/verdict"), &verdict).expect(200);
    let vic = person(&place, Role::Viewer, "vic");
    let answer = page(&vic, &format!("/reviews/{id}/search?q=cat"));
    assert!(found(&answer).contains("an index goes when its job is over"), "{answer}");
}
