//! Tests that a supervised actor that is stopped by its address handles all earlier messages and no
//! later ones, even if messages wait until the actor has started or restarted.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::supervise::{Backoff, Strategy, Supervisor, Tree};
use garrick_actor::{Actor, Address, Context, Local, Next, System};
use garrick_testkit::{ByHand, ends_alone, fail, silence_panics, wait};

/// A message to a [`Logs`].
#[derive(Debug, Clone, Copy)]
enum Msg {
    /// Log the number.
    Log(u32),
    Panic,
    /// Log the number, and undo the turn.
    Undo(u32),
}

use Msg::{Log, Panic, Undo};

type Lines = Arc<Mutex<Vec<u32>>>;

/// An actor that logs the numbers that it receives.
struct Logs(Lines);

impl Actor for Logs {
    type Msg = Msg;
    type Outcome = Next;

    fn receive(&mut self, msg: Msg, _: &mut Context<'_, Msg>) -> Next {
        match msg {
            Panic => fail(),
            Log(number) => self.0.lock().unwrap().push(number),
            Undo(number) => {
                self.0.lock().unwrap().push(number);
                return Next::Undo;
            }
        }
        Next::Continue
    }
}

/// An actor that fails whenever it starts.
struct Unable(Logs);

impl Actor for Unable {
    type Msg = Msg;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, Msg>) -> Next {
        cx.fail("cannot start")
    }

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        self.0.receive(msg, cx)
    }
}

/// A system on this thread with a clock that is set by hand, a supervisor, and a child that has not
/// started yet.
struct Stand {
    local: Local,
    world: Arc<ByHand>,
    tree: Tree,
    lines: Lines,
    child: Address<Msg>,
}

const BACKOFF: Duration = Duration::from_secs(1);

impl Stand {
    fn new(mailbox: Mailbox<Msg>, backoff: Option<Backoff>) -> Self {
        silence_panics();
        let world = ByHand::new();
        let local = System::builder().world(world.clone()).on_failure(|_| {});
        let local = local.local().unwrap();
        let tree = Supervisor::new("tree", Strategy::OneForOne).intensity(usize::MAX, BACKOFF);
        let tree = tree.spawn(&local.handle()).unwrap();
        let lines = Lines::default();
        let log = lines.clone();
        let handle = local.handle();
        let actor = handle.actor(move || Logs(log.clone()));
        let mut actor = actor.mailbox(mailbox).named("child").supervised_by(&tree);
        if let Some(backoff) = backoff {
            actor = actor.backoff(backoff);
        }
        let child = actor.spawn().unwrap();
        Self {
            local,
            world,
            tree,
            lines,
            child,
        }
    }

    fn plain() -> Self {
        Self::new(Mailbox::unbounded(), None)
    }

    /// Sends messages and runs all turns.
    fn plays(&self, messages: &[Msg]) {
        self.sends(messages);
        self.local.run();
    }

    fn sends(&self, messages: &[Msg]) {
        for message in messages {
            self.child.send(*message).unwrap();
        }
    }

    fn lines(&self) -> Vec<u32> {
        self.lines.lock().unwrap().clone()
    }

    fn dead_letters(&self) -> u64 {
        self.local.handle().dead_letters()
    }
}

#[test]
fn a_new_child_handles_what_was_sent_before_the_stop() {
    let stand = Stand::plain();
    stand.sends(&[Log(1), Log(2), Log(3)]);
    stand.child.stop();
    stand.plays(&[Log(4), Log(5)]);
    assert_eq!(stand.lines(), [1, 2, 3]);
    assert_eq!(stand.dead_letters(), 2);
    assert!(stand.child.is_stopped());
}

#[test]
fn a_child_that_runs_handles_what_was_sent_before_the_stop() {
    let stand = Stand::plain();
    stand.plays(&[Log(1)]);
    stand.sends(&[Log(2), Log(3)]);
    stand.child.stop();
    stand.plays(&[Log(4)]);
    assert_eq!(stand.lines(), [1, 2, 3]);
    assert_eq!(stand.dead_letters(), 1);
    assert!(stand.child.is_stopped());
}

#[test]
fn a_child_that_fails_meanwhile_handles_the_rest_after_its_restart() {
    let stand = Stand::plain();
    stand.sends(&[Log(1), Panic, Log(2), Undo(3), Panic, Undo(4)]);
    stand.child.stop();
    stand.plays(&[Log(5)]);
    assert_eq!(stand.lines(), [1, 2, 3, 4]);
    assert_eq!(stand.dead_letters(), 1);
    assert!(stand.child.is_stopped());
}

#[test]
fn a_child_that_waits_for_its_restart_drops_what_was_sent() {
    let backoff = Backoff::exponential(BACKOFF, BACKOFF);
    let stand = Stand::new(Mailbox::unbounded(), Some(backoff));
    stand.plays(&[Log(1), Panic, Log(2)]);
    stand.child.stop();
    stand.plays(&[Log(3)]);
    assert!(stand.child.is_stopped());
    assert_eq!(stand.dead_letters(), 2);
    stand.world.advance(BACKOFF);
    stand.local.run();
    assert_eq!(stand.lines(), [1]);
}

#[test]
fn a_child_that_can_never_start_stops() {
    for panics in [true, false] {
        ends_alone(move || cannot_start(panics));
    }
}

/// Adds a child named `unable` that fails at each start. If `panics` is true, its factory panics.
fn unable(stand: &Stand, panics: bool) -> Address<Msg> {
    let log = stand.lines.clone();
    let handle = stand.local.handle();
    let child = handle.actor(move || {
        if panics {
            fail();
        }
        Unable(Logs(log.clone()))
    });
    let child = child.named("unable").supervised_by(&stand.tree);
    child.spawn().unwrap()
}

fn cannot_start(panics: bool) {
    let stand = Stand::plain();
    let child = unable(&stand, panics);
    child.send(Log(1)).unwrap();
    child.stop();
    stand.local.run();
    assert!(child.is_stopped(), "a factory that panics: {panics}");
    assert_eq!(stand.dead_letters(), 1);
    assert!(stand.lines().is_empty());
}

#[test]
fn a_tree_stops_though_a_child_can_never_start() {
    for panics in [true, false] {
        ends_alone(move || {
            let stand = Stand::plain();
            let child = unable(&stand, panics);
            stand.sends(&[Log(1), Log(2)]);
            let stopped = stand.tree.stop();
            stand.local.run();
            assert_eq!(stopped.wait(), Ok(()), "a factory that panics: {panics}");
            assert!(child.is_stopped());
            assert_eq!(stand.lines(), [1, 2], "its sibling handles all messages");
        });
    }
}

#[test]
fn a_child_that_can_never_start_is_removed() {
    for panics in [true, false] {
        ends_alone(move || {
            let stand = Stand::plain();
            let child = unable(&stand, panics);
            let removed = stand.tree.remove("unable");
            stand.local.run();
            assert_eq!(removed.wait(), Ok(true), "a factory that panics: {panics}");
            assert!(child.is_stopped());
            stand.plays(&[Log(1)]);
            assert_eq!(stand.lines(), [1]);
        });
    }
}

#[test]
fn a_child_whose_supervisor_has_ended_stops() {
    let stand = Stand::plain();
    let other = System::builder()
        .world(stand.world.clone())
        .local()
        .unwrap();
    let lines = stand.lines.clone();
    let handle = other.handle();
    let child = handle.actor(move || Logs(lines.clone()));
    let child = child.supervised_by(&stand.tree).spawn().unwrap();
    child.send(Log(1)).unwrap();
    drop(stand.local);
    other.run();
    assert!(child.is_stopped());
    assert_eq!(other.handle().dead_letters(), 1);
}

#[test]
fn a_second_stop_changes_nothing() {
    let stand = Stand::plain();
    stand.sends(&[Log(1), Log(2)]);
    stand.child.stop();
    stand.child.stop();
    stand.local.run();
    assert_eq!(stand.lines(), [1, 2]);
    assert_eq!(stand.dead_letters(), 0);
    assert!(stand.child.is_stopped());
}

#[test]
fn a_supervisor_that_stops_meanwhile_ends_after_its_child() {
    let stand = Stand::plain();
    stand.sends(&[Log(1), Log(2)]);
    stand.child.stop();
    let stopped = stand.tree.stop();
    stand.local.run();
    assert_eq!(stopped.wait(), Ok(()));
    assert_eq!(stand.lines(), [1, 2]);
    assert!(stand.child.is_stopped());
}

#[test]
fn a_bounded_mailbox_has_room_again_for_what_is_refused() {
    let stand = Stand::new(Mailbox::bounded(3, OnFull::Fail).unwrap(), None);
    stand.sends(&[Log(1), Log(2)]);
    stand.child.stop();
    stand.plays(&[Log(3)]);
    assert_eq!(stand.lines(), [1, 2]);
    assert_eq!(stand.dead_letters(), 1);
    assert!(stand.child.is_stopped());
}

#[test]
fn no_message_before_a_stop_is_lost_on_other_threads() {
    ends_alone(|| {
        let system = System::builder().workers(2).start().unwrap();
        let handle = system.handle();
        let tree = Supervisor::new("tree", Strategy::OneForOne);
        let tree = tree.spawn(&handle).unwrap();
        for round in 0..200 {
            let lines = Lines::default();
            let log = lines.clone();
            let child = handle.actor(move || Logs(log.clone()));
            let child = child.supervised_by(&tree).spawn().unwrap();
            let (told, heard) = mpsc::channel();
            child.watch(move |_| told.send(()).unwrap());
            for number in 0..round {
                child.send(Log(number)).unwrap();
            }
            child.stop();
            wait(&heard);
            assert_eq!(*lines.lock().unwrap(), Vec::from_iter(0..round));
        }
        system.shutdown();
    });
}
