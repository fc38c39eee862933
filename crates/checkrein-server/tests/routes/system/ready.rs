use crate::place::Place;

#[test]
fn it_is_ready_while_its_store_is() {
    let place = Place::new();
    assert_eq!(place.client().get("/readyz").expect(200).body, "ready\n");
    // Whatever became of the store: the readers that are open see it.
    let store = rusqlite::Connection::open(place.path().join("store.db")).unwrap();
    store.execute_batch("PRAGMA foreign_keys = OFF; DROP TABLE checkpoints").unwrap();
    place.client().get("/readyz").refused(500, "internal");
}
