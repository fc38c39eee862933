use checkrein_core::principal::Role;

use super::{start, workflow};
use crate::place::Place;

#[test]
fn the_newest_first_page_by_page() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    let mut made: Vec<String> = (0..5).map(|_| start(&admin, &workflow("true"))).collect();
    made.reverse();
    let mut listed = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let page = admin.get(&format!("/v1/runs{query}")).expect(200).json();
        let items = page["items"].as_array().unwrap();
        listed.extend(items.iter().map(|item| item["run_id"].as_str().unwrap().to_owned()));
        if page["next"].is_null() {
            break;
        }
        query = format!("?limit=2&before={}", page["next"]);
    }
    assert_eq!(listed, made);
    let count = |query: &str| {
        admin.get(&format!("/v1/runs{query}")).expect(200).json()["items"].as_array().unwrap().len()
    };
    assert_eq!((count("?status=created"), count("?status=held"), count("?workflow=other")), (5, 0, 0));
    admin.get("/v1/runs?status=lost").refused(400, "malformed");
}
