//! Doors (addresses that lead to functions) whose functions behave badly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use garrick_actor::door::{Door, Notice, door};
use garrick_actor::{Address, SendError};
use garrick_cluster::Node;
use garrick_sched::TaskId;
use garrick_testkit::{ends, silence_panics};

use crate::pair::{Msg, Pair, ready};

/// A door whose methods `stop` and `watch` panic.
struct Panics;

impl Door for Panics {
    type Message = Msg;

    fn pass(&self, _: Msg, _: &Address<Msg>) -> Result<(), SendError<Msg>> {
        Ok(())
    }

    fn stop(&self) {
        panic!("a bug of the program");
    }

    fn watch(&self, _: Notice) {
        panic!("a bug of the program");
    }
}

#[test]
fn a_door_that_panics_does_no_harm_to_the_link() {
    silence_panics();
    let pair = Pair::met();
    let question = pair.far.ask(Msg::Wait);
    pair.server.offer("door", &door(Panics));
    let far: Address<Msg> = pair.client.service("server", "door").unwrap();
    far.stop();
    pair.run();
    far.watch(|_| ());
    pair.run();
    pair.check_links();
    assert_eq!(pair.get(&pair.far), Some(Ok(1)));
    assert_eq!(pair.server.sample().losses, 0);
    pair.counter.send(Msg::Answer(5)).unwrap();
    pair.run();
    assert_eq!(ready(question), Some(Ok(5)));
}

/// A door that drops all notices.
struct Forgetful;

impl Door for Forgetful {
    type Message = Msg;

    fn pass(&self, _: Msg, _: &Address<Msg>) -> Result<(), SendError<Msg>> {
        Ok(())
    }
}

#[test]
fn watches_of_doors_that_drop_their_notices_leave_nothing_on_the_other_node() {
    silence_panics();
    let pair = Pair::met();
    pair.server.offer("forgetful", &door(Forgetful));
    pair.server.offer("panics", &door(Panics));
    let far = |name| -> Address<Msg> { pair.client.service("server", name).unwrap() };
    let (forgetful, panics) = (far("forgetful"), far("panics"));
    let kept = Arc::new(());
    let watch = |address: &Address<Msg>| {
        let kept = kept.clone();
        address.watch(move |ended| unreachable!("{ended} {kept:?}"))
    };
    let stays = watch(&pair.far);
    for _ in 0..50 {
        watch(&forgetful);
        watch(&panics);
        watch(&forgetful).cancel();
    }
    pair.run();
    assert_eq!(Arc::strong_count(&kept), 2, "only that of the counter");
    stays.cancel();
    pair.check_links();
    assert_eq!(pair.server.sample().losses, 0);
}

/// A door in front of an actor. When the door is dropped, it reads the state of a node.
struct Looks(Node, TaskId);

impl Door for Looks {
    type Message = Msg;

    fn pass(&self, _: Msg, _: &Address<Msg>) -> Result<(), SendError<Msg>> {
        Ok(())
    }

    fn stands_for(&self) -> Option<TaskId> {
        Some(self.1)
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        let _ = self.0.sample();
    }
}

#[test]
fn a_door_may_look_at_the_node_while_it_is_dropped() {
    ends(|| {
        let pair = Pair::new();
        for _ in 0..2 {
            // Both stand for the same actor, so the second one is not needed.
            let looks = door(Looks(pair.client.clone(), pair.counter.id()));
            pair.far.send(Msg::Keep(looks)).unwrap();
            pair.run();
        }
        assert_eq!(pair.client.sample().exported, 1);
        // The first one is dropped when the other node is lost.
        pair.spy.cut(&["server", "client"]);
        pair.pass(14);
        assert_eq!(pair.client.sample().exported, 0);
    });
}

/// A door in front of an actor. Its method `stands_for` panics while the flag is true.
struct Unsure(TaskId, Arc<AtomicBool>);

impl Door for Unsure {
    type Message = Msg;

    fn pass(&self, _: Msg, _: &Address<Msg>) -> Result<(), SendError<Msg>> {
        Ok(())
    }

    fn stands_for(&self) -> Option<TaskId> {
        assert!(!self.1.load(Relaxed), "a bug of the program");
        Some(self.0)
    }
}

#[test]
fn a_door_that_does_not_know_for_whom_it_stands_does_no_harm_to_the_link() {
    silence_panics();
    let pair = Pair::met();
    let is_unsure = Arc::new(AtomicBool::new(false));
    let unsure = door(Unsure(pair.counter.id(), is_unsure.clone()));
    pair.far.send(Msg::Keep(unsure)).unwrap();
    // The message is put into a frame later.
    is_unsure.store(true, Relaxed);
    pair.run();
    pair.check_links();
    assert_eq!(pair.client.sample().exported, 1);
    assert_eq!(pair.get(&pair.far), Some(Ok(1)));
    assert_eq!(pair.server.sample().losses, 0);
}
