//! Tests of the counts of dead letters, by the type of the receiver and by the reason.
#![forbid(unsafe_code)]

use std::time::Duration;

use garrick_sched::{
    Address, Door, Flow, Here, SendError, Spawns, Sponsor, Task, Turn, WhenFull, count_dead_letters,
};
use garrick_sched::{LetterReason, door};
use garrick_testkit::{fail, silence_panics};

/// A task that ends in the way that its message says.
struct Receiver;

#[derive(Clone, Copy)]
enum End {
    Stop,
    Fail,
}

impl Task for Receiver {
    type Message = End;

    fn receive(&mut self, end: End, _: &Turn<'_, End>) -> Flow {
        match end {
            End::Stop => Flow::Stop,
            End::Fail => fail(),
        }
    }

    fn name() -> &'static str {
        "receiver"
    }
}

/// Returns the counts of dead letters as tuples of name, reason and count.
fn letters(here: &Here) -> Vec<(&'static str, &'static str, u64)> {
    let handle = here.handle();
    let sample = handle.sample();
    let sum: u64 = sample.letters.iter().map(|letter| letter.count).sum();
    assert_eq!(sum, handle.dead_letters());
    let found = sample.letters.iter();
    found
        .map(|letter| (letter.name, letter.reason.name(), letter.count))
        .collect()
}

fn here() -> Here {
    silence_panics();
    Sponsor::builder().on_failure(|_| ()).here().unwrap()
}

#[test]
fn messages_behind_a_stop_or_a_failure_have_different_reasons() {
    let here = here();
    for (end, behind) in [(End::Stop, 3), (End::Fail, 5)] {
        let receiver = here.spawn(Receiver);
        (0..=behind).for_each(|_| receiver.send(end).unwrap());
        here.run();
    }
    let expected = [("receiver", "stopped", 3), ("receiver", "failed", 5)];
    assert_eq!(letters(&here), expected);
}

#[test]
fn messages_to_a_task_that_has_stopped_are_letters_only_if_they_were_accepted() {
    let here = here();
    let receiver = here.spawn(Receiver);
    receiver.send(End::Stop).unwrap();
    here.run();
    assert!(receiver.send(End::Stop).is_err());
    assert!(letters(&here).is_empty());
}

#[test]
fn messages_that_a_shutdown_drops_have_their_own_reason() {
    let sponsor = Sponsor::builder().workers(1).start().unwrap();
    let handle = sponsor.handle();
    struct Late;
    impl Task for Late {
        type Message = ();

        fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
            let hour = Duration::from_secs(3600);
            let _ = turn.send_after(hour, &turn.address(), ());
            Flow::Continue
        }

        fn name() -> &'static str {
            "late"
        }
    }
    let late = handle.spawn(Late).unwrap_or_else(|_| unreachable!());
    late.send(()).unwrap();
    sponsor.shutdown();
    let sample = handle.sample();
    let letter = sample.letters[0];
    let found = (letter.name, letter.reason, letter.count);
    assert_eq!(found, ("late", LetterReason::ShutDown, 1));
}

/// A task that discards each message.
struct Discards;

impl Task for Discards {
    type Message = u8;

    fn receive(&mut self, _: u8, _: &Turn<'_, u8>) -> Flow {
        count_dead_letters(|| "byte", LetterReason::Discarded, 1);
        Flow::Continue
    }
}

#[test]
fn code_that_discards_messages_counts_them() {
    let here = here();
    let discards = here.spawn(Discards);
    (0..4).for_each(|byte| discards.send(byte).unwrap());
    here.run();
    assert_eq!(letters(&here), [("byte", "discarded", 4)]);
}

/// A door that panics at each message.
struct Fails;

impl Door for Fails {
    type Message = u8;

    fn pass(&self, _: u8, _: &Address<u8>) -> Result<(), SendError<u8>> {
        fail()
    }
}

/// A task that passes each message on.
struct Relay(Address<u8>);

impl Task for Relay {
    type Message = u8;

    fn receive(&mut self, byte: u8, turn: &Turn<'_, u8>) -> Flow {
        let _ = turn.send(&self.0, byte);
        Flow::Continue
    }
}

#[test]
fn the_message_of_a_door_that_panics_is_discarded() {
    let here = here();
    let relay = here.spawn(Relay(door(Fails)));
    relay.send(7).unwrap();
    here.run();
    let found = letters(&here);
    assert_eq!(found.len(), 1);
    assert!(found[0].0.ends_with("Fails"));
    assert_eq!((found[0].1, found[0].2), ("discarded", 1));
}

/// A door that refuses each message, although it has not stopped.
struct Refuses;

impl Door for Refuses {
    type Message = u8;

    fn pass(&self, byte: u8, _: &Address<u8>) -> Result<(), SendError<u8>> {
        Err(SendError(byte))
    }
}

#[test]
fn a_converted_message_that_a_door_refuses_finds_a_full_mailbox() {
    let here = here();
    let text = door(Refuses).contramap(|text: &'static str| text.len() as u8);
    let relay = here.spawn(Passes(text));
    relay.send("one").unwrap();
    here.run();
    assert_eq!(letters(&here), [("u8", "full", 2)]);
}

#[test]
fn a_full_mailbox_gives_back_what_it_would_have_converted() {
    let here = here();
    let bounded = here.handle().spawn_bounded(1, WhenFull::Fail, Discards);
    let bounded = bounded.unwrap_or_else(|_| unreachable!());
    let text = bounded.contramap(|text: &'static str| text.len() as u8);
    let relay = here.spawn(Passes(text));
    relay.send("one").unwrap();
    here.run();
    // The relay drops the second message, which it got back. The task discards the first.
    assert_eq!(letters(&here), [("byte", "discarded", 1)]);
}

/// A task that passes each of its texts on, twice.
struct Passes(Address<&'static str>);

impl Task for Passes {
    type Message = &'static str;

    fn receive(&mut self, text: &'static str, turn: &Turn<'_, &'static str>) -> Flow {
        let _ = turn.send(&self.0, text);
        let _ = turn.send(&self.0, text);
        Flow::Continue
    }
}
