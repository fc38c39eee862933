use crate::place::Place;

#[test]
fn it_is_there_for_anybody() {
    let place = Place::new();
    assert_eq!(place.client().get("/healthz").expect(200).body, "ok\n");
    // Whoever looks after machines knows addresses, not names.
    place.client().header("Host", "10.0.0.7").get("/healthz").expect(200);
}
