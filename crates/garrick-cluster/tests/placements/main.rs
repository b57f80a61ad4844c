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

use garrick_actor::System;
use garrick_cluster::placement::LocalPlacement;

#[test]
fn a_local_placement_keeps_the_rules() {
    let system = System::new().unwrap();
    let placement = LocalPlacement::new(&system.handle()).unwrap();
    checks::check(&system.handle(), &placement, &placement.clone());
}
