//! Tests of the rules of placements.
#![forbid(unsafe_code)]

mod checks;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "nats")]
#[path = "../nats/proxy.rs"]
mod proxy;
#[cfg(feature = "nats")]
#[expect(dead_code, reason = "the tests of nodes use more of it")]
#[path = "../nats/server.rs"]
mod server;

use checks::User;
use garrick_actor::System;
use garrick_cluster::placement::{LocalPlacement, Outcome};

/// Creates and deletes a record with a new name, many times.
fn names_come_and_go(user: &mut User<'_>, names: u32) {
    for number in 0..names {
        let name = format!("name.{number}");
        let revision = user.must_change(&name, 0, Some(b"value"));
        user.must_change(&name, revision, None);
    }
}

#[test]
fn deleted_names_are_forgotten_by_a_local_placement() {
    let system = System::new().unwrap();
    let placement = LocalPlacement::new(&system.handle()).unwrap();
    let mut user = User::new(&system.handle(), &placement);
    let first = user.must_change("stays", 0, Some(b"1"));
    let name = user.must_change("name.0", 0, Some(b"first"));
    let deleted = user.must_change("name.0", name, None);
    names_come_and_go(&mut user, 10_000);
    // What was missed is too much, so all records come.
    let (records, revision, is_whole) = user.read(first);
    assert_eq!((records.len(), is_whole), (1, true));
    assert_eq!(&*records[0].key, "stays");
    // The deletions that are remembered.
    let (records, _, is_whole) = user.read(revision - 1_000);
    assert_eq!((records.len(), is_whole), (500, false));
    // Earlier revisions of a name that was forgotten are never valid again.
    for expected in [name, deleted] {
        let outcome = user.change("name.0", expected, Some(b"late"));
        assert_eq!(outcome, Outcome::Refused);
    }
    assert!(user.must_change("name.0", 0, Some(b"again")) > revision);
    assert_eq!(user.change("name.0", name, None), Outcome::Refused);
}

#[test]
fn a_local_placement_keeps_the_rules() {
    let system = System::new().unwrap();
    let placement = LocalPlacement::new(&system.handle()).unwrap();
    checks::check(&system.handle(), &placement, &placement.clone());
}
