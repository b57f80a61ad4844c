//! Tests of the list of trees that a handle of the system returns.

use std::time::Duration;

use garrick_actor::supervise::{Backoff, ChildState, Decision, Snapshot, SnapshotOf};

use crate::stand::{Do, NO_ACCOUNT, Stand, Teller, strict, supervisor};

fn only(stand: &Stand) -> Snapshot {
    let mut trees = stand.handle().supervisors();
    assert_eq!(trees.len(), 1);
    trees.remove(0)
}

fn child<'a>(tree: &'a Snapshot, name: &str) -> &'a SnapshotOf {
    let mut children = tree.children.iter();
    children.find(|child| child.name == name).unwrap()
}

#[test]
fn a_child_shows_its_state_restarts_and_last_failure() {
    let stand = Stand::new();
    let tree = stand.tree();
    let second = Duration::from_secs(1);
    let branch = supervisor("desk").spawn_under(&tree).unwrap();
    let teller = stand.local.actor(|| Teller).named("teller");
    let teller = teller
        .supervised_by(&branch)
        .backoff(Backoff::exponential(second, second))
        .spawn()
        .unwrap();
    stand
        .local
        .actor(|| Teller)
        .supervised_by(&tree)
        .spawn()
        .unwrap();
    stand.run();
    let bank = only(&stand);
    assert_eq!((&*bank.name, bank.state), ("bank", ChildState::Up));
    let calm = child(&bank, "Teller");
    assert_eq!(
        (calm.state, calm.restarts, &calm.last_failure),
        (ChildState::Up, 0, &None)
    );
    assert!(calm.path.as_str().starts_with("/user/Teller@"));
    assert!(calm.task.ends_with("::Teller"));

    stand.world.advance(Duration::from_secs(5));
    stand.tell(&teller, Do::Fail);
    let bank = only(&stand);
    let desk = child(&bank, "desk");
    assert_eq!(desk.state, ChildState::Up);
    let teller_now = child(desk.tree.as_ref().unwrap(), "teller");
    assert_eq!(
        (teller_now.state, teller_now.restarts),
        (ChildState::Down, 1)
    );
    let last = teller_now.last_failure.as_ref().unwrap();
    assert_eq!((last.at, &*last.reason), (5_000_000_000, NO_ACCOUNT));
    assert!(teller_now.path.as_str().starts_with(desk.path.as_str()));

    stand.world.advance(Duration::from_secs(1));
    stand.run();
    let bank = only(&stand);
    let desk = child(&bank, "desk").tree.as_ref().unwrap();
    let teller_now = child(desk, "teller");
    assert_eq!((teller_now.state, teller_now.restarts), (ChildState::Up, 1));
    assert!(teller_now.last_failure.is_some());
}

#[test]
fn a_change_is_counted_and_calm_costs_nothing() {
    let stand = Stand::new();
    let teller = stand.teller(&stand.tree(), "teller");
    let before = stand.handle().supervisor_changes();
    stand.run();
    assert_eq!(stand.handle().supervisor_changes(), before);
    stand.tell(&teller, Do::Fail);
    assert!(stand.handle().supervisor_changes() > before);
}

#[test]
fn children_that_were_given_up_are_remembered() {
    let stand = Stand::new();
    let tree = stand.tree();
    for number in 0..20 {
        let name = number.to_string();
        let child = stand
            .local
            .actor(|| Teller)
            .named(name)
            .supervised_by(&tree);
        let child = child.decide(|_| Decision::Stop).spawn().unwrap();
        stand.run();
        stand.tell(&child, Do::Fail);
    }
    let bank = only(&stand);
    assert!(bank.children.is_empty());
    let names: Vec<_> = bank.given_up.iter().map(|child| &*child.name).collect();
    assert_eq!((names.len(), names[0], names[15]), (16, "4", "19"));
    assert!(
        bank.given_up
            .iter()
            .all(|child| child.state == ChildState::GivenUp)
    );
}

#[test]
fn trees_that_gave_up_stay_and_trees_that_were_stopped_go() {
    let stand = Stand::new();
    let stopped = stand.tree();
    stand.run();
    assert_eq!(only(&stand).state, ChildState::Up);
    drop(stopped.stop());
    stand.run();
    assert!(stand.handle().supervisors().is_empty());
    for _ in 0..30 {
        let tree = strict("frail", 0).spawn(&stand.handle()).unwrap();
        let teller = stand.teller(&tree, "teller");
        stand.tell(&teller, Do::Fail);
        assert!(tree.is_stopped());
    }
    let trees = stand.handle().supervisors();
    assert_eq!(trees.len(), 16);
    for tree in trees {
        assert_eq!((&*tree.name, tree.state), ("frail", ChildState::GivenUp));
        assert_eq!(&*tree.given_up[0].name, "teller");
    }
}

#[test]
fn any_number_of_children_gives_a_bounded_list_with_those_in_trouble_first() {
    let stand = Stand::new();
    let tree = stand.tree();
    let tellers: Vec<_> = (0..10_100)
        .map(|number| {
            let teller = stand.local.actor(|| Teller).named(number.to_string());
            teller.supervised_by(&tree).spawn().unwrap()
        })
        .collect();
    stand.run();
    stand.tell(tellers.last().unwrap(), Do::Fail);
    let bank = only(&stand);
    assert_eq!((bank.children.len(), bank.omitted), (10_000, 100));
    let last = bank.children.last().unwrap();
    assert_eq!((&*last.name, last.restarts), ("10099", 1));
    assert_eq!(tree.snapshot().children.len(), 10_100);
}
