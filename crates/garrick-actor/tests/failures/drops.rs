//! Tests of actors whose destructors panic. Each such panic counts as a failure of the actor, with
//! or without a supervisor.

use garrick_actor::{Actor, Consequence, Context, Next, System};
use garrick_testkit::{ON_PURPOSE, fail};

use crate::stand::Stand;

/// Ends its turn as the message says, and panics when it is dropped.
struct Bomb;

impl Actor for Bomb {
    type Msg = Next;
    type Outcome = Next;

    fn receive(&mut self, next: Next, _: &mut Context<'_, Next>) -> Next {
        next
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        fail();
    }
}

/// Returns two numbers of failures: those of the actor type `Bomb`, and those of the whole system.
fn counts(stand: &Stand) -> (u64, usize) {
    let sample = stand.handle().sample();
    let bombs = sample.kinds.iter().find(|kind| kind.name.ends_with("Bomb"));
    (bombs.unwrap().failures, stand.handle().failures())
}

fn stand() -> Stand {
    Stand::of(System::builder().probes(true))
}

#[test]
fn it_is_counted_and_reported_without_a_supervisor() {
    let stand = stand();
    let bomb = stand.local.spawn(Bomb);
    bomb.send(Next::Stop).unwrap();
    stand.run();
    assert_eq!(counts(&stand), (1, 1));
    let reports = stand.reports();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].message, ON_PURPOSE);
    assert_eq!(reports[0].consequence, Consequence::Stopped);
    // An actor that nobody can reach any more is dropped as well.
    drop(stand.local.spawn(Bomb));
    stand.run();
    assert_eq!(counts(&stand), (2, 2));
    assert_eq!(stand.reports().len(), 1);
}

#[test]
fn it_is_counted_and_reported_with_a_supervisor() {
    let stand = stand();
    let tree = stand.tree();
    let bomb = stand.local.actor(|| Bomb).named("bomb");
    let bomb = bomb.supervised_by(&tree).spawn().unwrap();
    bomb.send(Next::Stop).unwrap();
    stand.run();
    assert_eq!(counts(&stand), (1, 1), "at the restart");
    let reports = stand.reports();
    let found: Vec<_> = reports.iter().map(|report| report.consequence).collect();
    let restarted = Consequence::Restarted { restarts: 1 };
    assert_eq!(found, [restarted, Consequence::Stopped]);
    assert_eq!(reports[1].message, ON_PURPOSE);
    assert_eq!(reports[0].path, reports[1].path);
    drop(tree.stop());
    stand.run();
    assert_eq!(counts(&stand), (2, 2), "at the end");
    assert_eq!(stand.reports().len(), 1);
}
