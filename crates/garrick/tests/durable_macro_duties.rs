//! Tests the effects, reminders and letters of durable actors that `#[garrick::durable]` generates,
//! on a simulated disk.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use garrick::files::Files;
use garrick::journal::{Decide, Due, Journal, Letter, Stored};
use garrick::prelude::*;
use garrick::sim::testing::Kit;

const HOUR: Duration = Duration::from_secs(3_600);

/// A fact: a room has received a message about this duty.
#[derive(Debug, PartialEq)]
struct Told(String);

/// A room that guests reserve. A reservation ends after an hour, unless the guest arrives.
#[derive(Default)]
struct Room {
    ended: u64,
    greetings: Vec<String>,
}

#[derive(Stored)]
enum Event {
    #[stored(tag = 1)]
    Reserved,
    #[stored(tag = 2)]
    Ended,
    #[stored(tag = 3)]
    Greeted(String),
}

#[garrick::durable]
impl Room {
    fn reserve(&self, cx: &mut Decide<'_, '_, Self>) -> bool {
        cx.record(Event::Reserved);
        cx.remind_after("end", HOUR);
        cx.once("confirm")
    }

    fn arrive(&self, cx: &mut Decide<'_, '_, Self>) -> bool {
        cx.done("end")
    }

    fn confirmed(&self, cx: &mut Decide<'_, '_, Self>) -> bool {
        cx.done("confirm")
    }

    fn greet(&self, to: String, cx: &mut Decide<'_, '_, Self>) {
        cx.post(to, "hello");
    }

    fn ended(&self) -> u64 {
        self.ended
    }

    fn greetings(&self) -> Vec<String> {
        self.greetings.clone()
    }

    fn undue(&self, cx: &mut Decide<'_, '_, Self>) {
        cx.once("unknown");
    }

    fn end(&self, due: Due, cx: &mut Decide<'_, '_, Self>) {
        cx.note(Told(due.key.clone()));
        if cx.complete(&due) {
            cx.record(Event::Ended);
        }
    }

    fn confirm(&self, due: Due, cx: &mut Context<'_, RoomMsg>) {
        cx.note(Told(due.key));
    }

    /// Delivers a letter. All letters of this test are to the room itself.
    fn deliver(&self, letter: Letter, cx: &mut Decide<'_, '_, Self>) {
        assert_eq!(letter.from, letter.to);
        cx.note(Told("letter".to_owned()));
        let (number, text) = (letter.number, String::from_utf8(letter.body));
        let room = RoomHandle::new(cx.address());
        room.receive_to(letter.from, number, text.unwrap(), cx, RoomMsg::Delivered);
    }

    fn receive(
        &self,
        from: String,
        number: u64,
        text: String,
        cx: &mut Decide<'_, '_, Self>,
    ) -> u64 {
        let greet = |cx: &mut Decide<'_, '_, Self>| cx.record(Event::Greeted(text));
        cx.once_from(&from, number, greet);
        number
    }

    fn delivered(&self, number: Result<u64, NoReply>, cx: &mut Decide<'_, '_, Self>) {
        cx.delivered(number.unwrap());
    }

    #[durable(apply)]
    fn apply(&mut self, event: &Event) {
        match event {
            Event::Reserved => {}
            Event::Ended => self.ended += 1,
            Event::Greeted(text) => self.greetings.push(text.clone()),
        }
    }

    #[durable(due)]
    fn message_of(due: Due) -> Option<RoomMsg> {
        match &*due.key {
            "end" => Some(RoomMsg::End(due)),
            "confirm" => Some(RoomMsg::Confirm(due)),
            _ => None,
        }
    }

    #[durable(letter)]
    fn letter(letter: Letter) -> Option<RoomMsg> {
        Some(RoomMsg::Deliver(letter))
    }
}

/// Opens the journal of a kit, and spawns a room, which reads its state.
fn room(kit: &mut Kit) -> RoomHandle {
    let files: Arc<dyn Files> = Arc::new(kit.disk());
    let (journal, _) = Journal::open_files(kit.node().handle(), files).unwrap();
    let room = journal.entity_of::<Room>("room/7").unwrap();
    let room = RoomHandle::new(kit.node().spawn(room).unwrap());
    kit.run();
    room
}

/// Returns the number of messages that rooms have received about the duty with this key.
fn told(kit: &Kit, key: &str) -> usize {
    let of_key = |Told(told): &&Told| told == key;
    kit.facts(|facts| facts.seen::<Told>().filter(of_key).count())
}

#[test]
fn a_reminder_comes_at_its_time() {
    let mut kit = Kit::new();
    let room = room(&mut kit);
    assert_eq!(kit.answer(room.reserve()), Ok(true));
    kit.advance(HOUR - Duration::from_secs(1));
    assert_eq!(told(&kit, "end"), 0);
    kit.advance(Duration::from_secs(1));
    assert_eq!(told(&kit, "end"), 1);
    assert_eq!(kit.answer(room.ended()), Ok(1));
}

#[test]
fn a_reminder_comes_once_after_a_restart() {
    let mut kit = Kit::new();
    let before = room(&mut kit);
    assert_eq!(kit.answer(before.reserve()), Ok(true));
    kit.crash();
    let after = room(&mut kit);
    assert_eq!(told(&kit, "end"), 0);
    kit.advance(HOUR);
    assert_eq!(told(&kit, "end"), 1);
    assert_eq!(kit.answer(after.ended()), Ok(1));
    kit.crash();
    let later = room(&mut kit);
    kit.advance(HOUR);
    assert_eq!(told(&kit, "end"), 1);
    assert_eq!(kit.answer(later.ended()), Ok(1));
}

#[test]
fn a_cancelled_reminder_does_not_come() {
    let mut kit = Kit::new();
    let room = room(&mut kit);
    assert_eq!(kit.answer(room.reserve()), Ok(true));
    assert_eq!(kit.answer(room.arrive()), Ok(true));
    kit.advance(HOUR);
    assert_eq!(told(&kit, "end"), 0);
}

#[test]
fn an_effect_comes_until_it_is_done() {
    let mut kit = Kit::new();
    let before = room(&mut kit);
    assert_eq!(kit.answer(before.reserve()), Ok(true));
    assert_eq!(told(&kit, "confirm"), 1);
    kit.crash();
    let after = room(&mut kit);
    assert_eq!(told(&kit, "confirm"), 2);
    assert_eq!(kit.answer(after.confirmed()), Ok(true));
    kit.crash();
    room(&mut kit);
    assert_eq!(told(&kit, "confirm"), 2);
}

#[test]
fn a_key_without_a_message_makes_the_actor_fail() {
    let mut kit = Kit::new();
    let room = room(&mut kit);
    room.undue().unwrap();
    kit.run();
    assert!(kit.answer(room.ended()).is_err());
}

#[test]
fn a_letter_takes_effect_once() {
    let mut kit = Kit::new();
    let before = room(&mut kit);
    before.greet("room/7".to_owned()).unwrap();
    kit.run();
    assert_eq!(kit.answer(before.greetings()).unwrap(), ["hello"]);
    kit.crash();
    let after = room(&mut kit);
    assert_eq!(kit.answer(after.greetings()).unwrap(), ["hello"]);
    assert_eq!(told(&kit, "letter"), 1);
}

/// A durable actor with a type parameter, and with functions under conditions.
#[derive(Default)]
struct Generic<T>(T);

#[derive(Stored)]
#[stored(tag = 1)]
struct Nothing;

#[garrick::durable]
impl<T: Default + ToString + Send + 'static> Generic<T> {
    fn start(&self, cx: &mut Decide<'_, '_, Self>) {
        cx.once("key");
    }

    /// Handles an effect. The function that converts it has another name.
    fn due(&self, key: String, value: T, cx: &mut Decide<'_, '_, Self>) {
        cx.note(Told(key + &value.to_string()));
    }

    #[durable(apply)]
    fn apply(&mut self, _: &Nothing) {
        self.0 = T::default();
    }

    #[cfg(unix)]
    #[durable(due)]
    fn convert(
        garrick::journal::Due { mut key, .. }: garrick::journal::Due,
    ) -> std::option::Option<GenericMsg<T>> {
        key.push('-');
        Some(GenericMsg::Due(key, T::default()))
    }

    #[cfg(not(unix))]
    #[durable(due)]
    fn convert_elsewhere(due: Due) -> Option<GenericMsg<T>> {
        Some(GenericMsg::Due(due.key + "-", T::default()))
    }

    #[cfg(not(any(unix, windows)))]
    #[durable(letter)]
    fn letter(letter: Letter) -> Option<Unknown> {
        letter
    }
}

#[test]
fn generic_actors_and_conditions_are_possible() {
    let mut kit = Kit::new();
    let files: Arc<dyn Files> = Arc::new(kit.disk());
    let (journal, _) = Journal::open_files(kit.node().handle(), files).unwrap();
    let generic = journal.entity_of::<Generic<u8>>("generic").unwrap();
    let generic = GenericHandle::new(kit.node().spawn(generic).unwrap());
    generic.start().unwrap();
    kit.run();
    assert_eq!(told(&kit, "key-0"), 1);
}
