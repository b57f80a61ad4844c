//! Tests of the log of recent failures.

use std::time::Duration;

use garrick_actor::Consequence;
use garrick_testkit::ON_PURPOSE;

use crate::stand::{Do, NO_ACCOUNT, Stand, Teller};

#[test]
fn each_kind_of_failure_is_kept_with_its_reason_and_time() {
    let stand = Stand::new();
    let tree = stand.tree();
    let child = stand.teller(&tree, "teller");
    stand.world.advance(Duration::from_secs(2));
    stand.tell(&child, Do::Fail);
    stand.world.advance(Duration::from_secs(1));
    let alone = stand.local.actor(Teller).named("alone").spawn();
    stand.tell(&alone, Do::Panic);
    let kept = stand.handle().recent_failures();
    let found: Vec<_> = kept
        .iter()
        .map(|record| {
            let failure = &record.failure;
            (
                record.number,
                record.at,
                &*failure.message,
                failure.consequence,
            )
        })
        .collect();
    let restarted = Consequence::Restarted { restarts: 1 };
    assert_eq!(
        found,
        [
            (2, 3_000_000_000, ON_PURPOSE, Consequence::Stopped),
            (1, 2_000_000_000, NO_ACCOUNT, restarted),
        ]
    );
}

#[test]
fn the_newest_failures_are_kept() {
    let stand = Stand::new();
    let child = stand.teller(&stand.tree(), "teller");
    for _ in 0..300 {
        stand.tell(&child, Do::Fail);
    }
    let kept = stand.handle().recent_failures();
    assert_eq!(kept.len(), 256);
    assert_eq!((kept[0].number, kept[255].number), (300, 45));
    assert_eq!(stand.handle().failures_after(299).len(), 1);
}
