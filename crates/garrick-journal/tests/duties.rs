//! Effects and reminders of durable actors, and states without events, on a simulated disk.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use garrick_actor::files::Files;
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::supervise::{Decision, Strategy, Supervisor};
use garrick_actor::{Address, Next, Reply};
use garrick_journal::{
    BoxError, Decide, Due, Durable, DurableActor, EventKind, Journal, Keeper, Options, Stored,
};
use garrick_sim::testing::Kit;
use garrick_testkit::silence_panics;

const KIND: EventKind = EventKind { tag: 1, version: 1 };

/// An actor with effects and reminders. It handles them only if `is_diligent` is true.
struct Clerk {
    is_diligent: bool,
}

enum Command {
    /// Requests an effect. The answer is true if the effect is new.
    Once(&'static str, Reply<bool>),
    /// Sets a reminder for a number of seconds from now.
    Remind(&'static str, u64, Reply<()>),
    /// Cancels an effect or a reminder.
    Cancel(&'static str, Reply<bool>),
    /// Requests an effect and discards the turn.
    Undo(&'static str),
    Due(Due),
    /// Returns the keys that were handled.
    Handled(Reply<Vec<String>>),
    /// Sends itself a message, which takes a place in the mailbox, and then handles a command.
    Crowded(Box<Command>),
    /// The message that takes a place.
    Nothing,
}

/// The event of a clerk: the effect or reminder with this key was handled.
struct Handled(String);

impl Stored for Handled {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        bytes.extend(self.0.as_bytes());
        KIND
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(String::from_utf8(bytes.to_vec())?))
    }
}

/// A fact: a clerk has received the message about an effect or a reminder. Contains its key and its
/// number.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told(String, u64);

fn message_of(due: Due) -> Option<Command> {
    (due.key != "unknown").then_some(Command::Due(due))
}

impl DurableActor for Clerk {
    type Msg = Command;
    type State = Vec<String>;
    type Event = Handled;
    type Outcome = Next;

    fn decide(
        &self,
        handled: &Vec<String>,
        command: Command,
        cx: &mut Decide<'_, '_, Self>,
    ) -> Next {
        match command {
            Command::Once(key, reply) => {
                let is_new = cx.once(key);
                assert!(cx.is_pending(key));
                reply.send(is_new);
            }
            Command::Remind(key, seconds, reply) => {
                cx.remind_after(key, Duration::from_secs(seconds));
                reply.send(());
            }
            Command::Cancel(key, reply) => {
                let is_done = cx.done(key);
                assert!(!cx.is_pending(key));
                reply.send(is_done);
            }
            Command::Undo(key) => {
                cx.once(key);
                return Next::Undo;
            }
            Command::Due(due) => {
                cx.note(Told(due.key.clone(), due.number));
                if due.key == "again" && cx.complete(&due) {
                    // The message comes once more, after the reminder was set again.
                    cx.remind_after("again", Duration::from_secs(10));
                    assert!(!cx.complete(&due), "it is about the earlier reminder");
                    let _ = cx.send(&cx.address(), Command::Due(due));
                } else if self.is_diligent && cx.complete(&due) {
                    cx.record(Handled(due.key));
                }
            }
            Command::Handled(reply) => reply.send(handled.clone()),
            Command::Crowded(command) => {
                cx.send(&cx.address(), Command::Nothing).unwrap();
                return self.decide(handled, *command, cx);
            }
            Command::Nothing => {}
        }
        Next::Continue
    }

    fn apply(handled: &mut Vec<String>, Handled(key): &Handled) {
        handled.push(key.clone());
    }

    fn due(due: Due) -> Option<Command> {
        message_of(due)
    }

    const SAVE_EVERY: u64 = 3;

    fn save(handled: &Vec<String>, bytes: &mut Vec<u8>) -> Option<EventKind> {
        bytes.extend(handled.join(" ").as_bytes());
        Some(KIND)
    }

    fn load(_: EventKind, bytes: &[u8]) -> Result<Vec<String>, BoxError> {
        let text = str::from_utf8(bytes)?;
        Ok(text.split_whitespace().map(str::to_owned).collect())
    }
}

/// A [`Keeper`] whose state is a text.
struct Book;

#[derive(Clone, Default)]
struct Page(String);

impl Stored for Page {
    fn encode(&self, bytes: &mut Vec<u8>) -> EventKind {
        // Not `extend`: this must not change the duties.
        *bytes = self.0.as_bytes().to_vec();
        KIND
    }

    fn decode(_: EventKind, bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self(String::from_utf8(bytes.to_vec())?))
    }
}

enum Writing {
    Write(&'static str, Reply<()>),
    /// Writes to the text and requests an effect, in one turn.
    WriteOnce(&'static str, &'static str, Reply<()>),
    /// Writes to the text and discards the turn.
    Undo(&'static str),
    Read(Reply<String>),
    Due(Due),
}

impl Keeper for Book {
    type Msg = Writing;
    type State = Page;
    type Outcome = Next;

    fn receive(
        &self,
        page: &mut Durable<'_, Page>,
        msg: Writing,
        cx: &mut Decide<'_, '_, Self>,
    ) -> Next {
        match msg {
            Writing::Write(text, reply) => {
                page.0.push_str(text);
                reply.send(());
            }
            Writing::WriteOnce(text, key, reply) => {
                cx.once(key);
                page.set(Page(text.to_owned()));
                reply.send(());
            }
            Writing::Undo(text) => {
                page.0.push_str(text);
                return Next::Undo;
            }
            Writing::Read(reply) => reply.send(page.0.clone()),
            Writing::Due(due) => cx.note(Told(due.key, due.number)),
        }
        Next::Continue
    }

    fn due(due: Due) -> Option<Writing> {
        Some(Writing::Due(due))
    }
}

/// Opens the journal of a kit.
fn open(kit: &mut Kit) -> Journal {
    let files: Arc<dyn Files> = Arc::new(kit.disk());
    Journal::open_files(kit.node().handle(), files).unwrap().0
}

fn clerk(kit: &mut Kit, is_diligent: bool) -> Address<Command> {
    let journal = open(kit);
    let entity = journal.entity("clerk", Clerk { is_diligent }).unwrap();
    let clerk = kit.node().spawn(entity).unwrap();
    kit.run();
    clerk
}

/// Starts a clerk with a mailbox for one message, and calls `f` with its kit. The kit is a new one
/// for each policy of a full mailbox.
fn each_narrow(f: impl Fn(&mut Kit, &dyn Fn(&mut Kit) -> Address<Command>)) {
    for on_full in [OnFull::Wait, OnFull::Fail, OnFull::DropNewest] {
        f(&mut Kit::new(), &|kit| {
            let journal = open(kit);
            let entity = journal.entity("clerk", Clerk { is_diligent: false });
            let clerk = (kit.node().handle().actor(entity.unwrap()))
                .mailbox(Mailbox::bounded(1, on_full).unwrap())
                .spawn()
                .unwrap();
            kit.run();
            clerk
        });
    }
}

/// Returns the key and the number of each message about an effect or a reminder, except the first
/// `from` messages.
fn told(kit: &Kit, from: usize) -> Vec<(String, u64)> {
    kit.facts(|facts| {
        let told = facts.seen::<Told>().skip(from);
        told.map(|Told(key, number)| (key.clone(), *number))
            .collect()
    })
}

fn keys(told: &[(String, u64)]) -> Vec<&str> {
    told.iter().map(|(key, _)| &**key).collect()
}

#[test]
fn a_message_about_an_earlier_reminder_does_not_end_a_later_one() {
    let mut kit = Kit::new();
    let clerk = clerk(&mut kit, false);
    let asked = clerk.ask(|reply| Command::Remind("again", 1, reply));
    assert_eq!(kit.answer(asked), Ok(()));
    kit.advance(Duration::from_secs(1));
    let first = told(&kit, 0);
    assert_eq!(keys(&first), ["again", "again"]);
    assert_eq!(first[0], first[1]);
    kit.advance(Duration::from_secs(9));
    assert_eq!(told(&kit, 2), []);
    kit.advance(Duration::from_secs(1));
    let second = told(&kit, 2);
    assert_eq!(keys(&second), ["again", "again"]);
    assert!(second[0].1 > first[0].1);
}

#[test]
fn an_effect_is_requested_again_after_each_start_until_it_is_done() {
    let mut kit = Kit::new();
    let lazy = clerk(&mut kit, false);
    assert_eq!(
        kit.answer(lazy.ask(|reply| Command::Once("a", reply))),
        Ok(true)
    );
    assert_eq!(
        kit.answer(lazy.ask(|reply| Command::Once("b", reply))),
        Ok(true)
    );
    // A key that is pending is no new effect.
    assert_eq!(
        kit.answer(lazy.ask(|reply| Command::Once("a", reply))),
        Ok(false)
    );
    let first = told(&kit, 0);
    assert_eq!(keys(&first), ["a", "b"]);
    kit.crash();
    let lazy = clerk(&mut kit, false);
    assert_eq!(told(&kit, 2), first);
    assert_eq!(
        kit.answer(lazy.ask(|reply| Command::Cancel("a", reply))),
        Ok(true)
    );
    assert_eq!(
        kit.answer(lazy.ask(|reply| Command::Cancel("a", reply))),
        Ok(false)
    );
    kit.crash();
    let diligent = clerk(&mut kit, true);
    assert_eq!(told(&kit, 4), first[1..]);
    assert_eq!(
        kit.answer(diligent.ask(Command::Handled)),
        Ok(vec!["b".to_owned()])
    );
    // The same key after that is another effect.
    assert_eq!(
        kit.answer(diligent.ask(|reply| Command::Once("a", reply))),
        Ok(true)
    );
    let again = told(&kit, 5);
    assert_eq!(keys(&again), ["a"]);
    assert!(again[0].1 > first[1].1);
    kit.crash();
    let diligent = clerk(&mut kit, true);
    assert_eq!(told(&kit, 6), []);
    let handled = kit.answer(diligent.ask(Command::Handled)).unwrap();
    assert_eq!(handled, ["b", "a"]);
}

#[test]
fn a_turn_that_is_undone_requests_nothing() {
    let mut kit = Kit::new();
    let clerk = clerk(&mut kit, true);
    clerk.send(Command::Undo("a")).unwrap();
    assert_eq!(kit.answer(clerk.ask(Command::Handled)), Ok(vec![]));
    assert_eq!(told(&kit, 0), []);
}

#[test]
fn an_effect_whose_turn_could_not_be_written_is_not_requested() {
    let mut kit = Kit::new();
    let clerk = clerk(&mut kit, true);
    kit.disks().all().full(0);
    assert!(
        kit.answer(clerk.ask(|reply| Command::Once("a", reply)))
            .is_err()
    );
    assert_eq!(told(&kit, 0), []);
}

#[test]
fn reminders_come_at_their_times() {
    let mut kit = Kit::new();
    let clerk = clerk(&mut kit, true);
    let remind = |key, seconds| clerk.ask(move |reply| Command::Remind(key, seconds, reply));
    for (key, seconds) in [("late", 30), ("soon", 10), ("moved", 5), ("cancelled", 7)] {
        assert_eq!(kit.answer(remind(key, seconds)), Ok(()));
    }
    assert_eq!(kit.answer(remind("moved", 20)), Ok(()));
    let cancelled = clerk.ask(|reply| Command::Cancel("cancelled", reply));
    assert_eq!(kit.answer(cancelled), Ok(true));
    kit.advance(Duration::from_secs(9));
    assert_eq!(told(&kit, 0), []);
    kit.advance(Duration::from_secs(1));
    assert_eq!(keys(&told(&kit, 0)), ["soon"]);
    kit.advance(Duration::from_secs(60));
    assert_eq!(keys(&told(&kit, 0)), ["soon", "moved", "late"]);
    assert_eq!(kit.next_timer(), None);
}

#[test]
fn overdue_reminders_come_in_their_order_after_a_pause() {
    let mut kit = Kit::new();
    let busy = clerk(&mut kit, true);
    for (key, seconds) in [("c", 30), ("a", 10), ("d", 90), ("b", 20)] {
        let remind = busy.ask(move |reply| Command::Remind(key, seconds, reply));
        assert_eq!(kit.answer(remind), Ok(()));
    }
    kit.crash();
    kit.advance(Duration::from_secs(60));
    assert_eq!(told(&kit, 0), []);
    let busy = clerk(&mut kit, true);
    assert_eq!(keys(&told(&kit, 0)), ["a", "b", "c"]);
    assert_eq!(kit.next_timer(), Some(Duration::from_secs(30)));
    kit.advance(Duration::from_secs(30));
    let handled = kit.answer(busy.ask(Command::Handled)).unwrap();
    assert_eq!(handled, ["a", "b", "c", "d"]);
    // Each of them once.
    kit.crash();
    clerk(&mut kit, true);
    kit.advance(Duration::from_secs(100));
    assert_eq!(told(&kit, 4), []);
}

/// Starts a clerk that goes on after each failure.
fn clerk_that_goes_on(kit: &mut Kit, is_diligent: bool) -> Address<Command> {
    supervised_clerk(kit, is_diligent, Decision::Resume)
}

/// Starts a clerk for which a supervisor makes a decision after each failure.
fn supervised_clerk(kit: &mut Kit, is_diligent: bool, after: Decision) -> Address<Command> {
    let journal = open(kit);
    let tree = Supervisor::new("clerks", Strategy::OneForOne)
        .intensity(100, Duration::from_secs(1))
        .spawn(kit.node().handle())
        .unwrap();
    let make = move || journal.entity("clerk", Clerk { is_diligent }).unwrap();
    (kit.node().handle().actor(make))
        .named("clerk")
        .supervised_by(&tree)
        .decide(move |_| after)
        .spawn()
        .unwrap()
}

#[test]
fn reminders_are_kept_when_turns_fail_and_the_actor_goes_on() {
    let mut kit = Kit::new();
    let clerk = clerk_that_goes_on(&mut kit, true);
    let remind = |key, seconds| clerk.ask(move |reply| Command::Remind(key, seconds, reply));
    assert_eq!(kit.answer(remind("kept", 10)), Ok(()));
    for _ in 0..3 {
        // The turn panics, so its reminder is not set, and the others stay.
        assert!(kit.answer(remind("lost", 5)).is_ok());
        assert!(
            kit.answer(clerk.ask(|reply| Command::Cancel("lost", reply)))
                .is_ok()
        );
        let long: &'static str = String::leak("x".repeat(256));
        assert!(kit.answer(remind(long, 1)).is_err());
        // The turn is undone late, because the disk is full.
        kit.disks().all().full(0);
        assert!(kit.answer(remind("late", 5)).is_err());
        kit.disks().all().full(u64::MAX);
    }
    kit.advance(Duration::from_secs(9));
    assert_eq!(told(&kit, 0), []);
    kit.advance(Duration::from_secs(1));
    assert_eq!(kit.answer(clerk.ask(Command::Handled)).unwrap(), ["kept"]);
    kit.advance(Duration::from_secs(100));
    assert_eq!(kit.answer(clerk.ask(Command::Handled)).unwrap(), ["kept"]);
}

fn turns_that_fail_do_not_fill_the_mailbox(after: Decision) {
    silence_panics();
    let mut kit = Kit::new();
    let clerk = supervised_clerk(&mut kit, false, after);
    let pending = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    for key in pending {
        let once = clerk.ask(move |reply| Command::Once(key, reply));
        assert_eq!(kit.answer(once), Ok(true));
    }
    assert_eq!(keys(&told(&kit, 0)), pending);
    let long: &'static str = String::leak("x".repeat(256));
    let ask = |_| {
        let fails = clerk.ask(move |reply| Command::Remind(long, 1, reply));
        (fails, clerk.ask(Command::Handled))
    };
    let asked: Vec<_> = (0..50).map(ask).collect();
    for (fails, handled) in asked {
        assert!(kit.answer(fails).is_err());
        assert_eq!(kit.answer(handled), Ok(Vec::new()));
    }
    // A turn that fails may have been about one of them, so they come again, but not after each
    // of these turns.
    let again = told(&kit, 10);
    assert!((10..=150).contains(&again.len()), "{}", again.len());
    for key in pending {
        assert!(keys(&again).contains(&key), "{key}");
    }
}

#[test]
fn turns_that_fail_do_not_fill_the_mailbox_with_duties() {
    turns_that_fail_do_not_fill_the_mailbox(Decision::Resume);
}

#[test]
fn restarts_do_not_fill_the_mailbox_with_duties() {
    turns_that_fail_do_not_fill_the_mailbox(Decision::Restart);
}

#[test]
fn an_entity_with_the_name_of_an_ended_one_gets_the_messages_about_its_duties() {
    let mut kit = Kit::new();
    let journal = open(&mut kit);
    for round in 0..3 {
        let entity = journal.entity("clerk", Clerk { is_diligent: false });
        let clerk = kit.node().spawn(entity.unwrap()).unwrap();
        let once = clerk.ask(|reply| Command::Once("effect", reply));
        // The message about the effect waits in the mailbox when the entity ends.
        clerk.stop();
        assert_eq!(kit.answer(once), Ok(round == 0));
        assert_eq!(told(&kit, 0).len(), round);
        let entity = journal.entity("clerk", Clerk { is_diligent: false });
        let clerk = kit.node().spawn(entity.unwrap()).unwrap();
        kit.run();
        assert_eq!(told(&kit, 0).len(), round + 1);
        clerk.stop();
        kit.run();
    }
}

#[test]
fn a_reminder_whose_turn_fails_comes_again() {
    let mut kit = Kit::new();
    let clerk = clerk_that_goes_on(&mut kit, true);
    let remind = |key, seconds| clerk.ask(move |reply| Command::Remind(key, seconds, reply));
    for round in 1..=3 {
        assert_eq!(kit.answer(remind("soon", 10)), Ok(()));
        assert_eq!(kit.answer(remind("later", 60)), Ok(()));
        // The message arrives, and its turn is undone.
        kit.disks().all().full(0);
        kit.advance(Duration::from_secs(10));
        kit.disks().all().full(u64::MAX);
        assert!(kit.answer(clerk.ask(Command::Handled)).is_ok());
        let handled = kit.answer(clerk.ask(Command::Handled)).unwrap();
        assert_eq!(handled, vec!["soon"; round]);
        let cancel = clerk.ask(|reply| Command::Cancel("later", reply));
        assert_eq!(kit.answer(cancel), Ok(true));
    }
}

#[test]
fn saved_states_have_the_duties() {
    let mut kit = Kit::new();
    let lazy = clerk(&mut kit, false);
    let pending = ["p", "q", "r", "s", "t", "u", "v", "w", "x", "y"];
    for key in pending {
        assert_eq!(
            kit.answer(lazy.ask(move |reply| Command::Once(key, reply))),
            Ok(true)
        );
    }
    kit.crash();
    let (log, _) = Options::new().inspect(Arc::new(kit.disk())).unwrap();
    let journal = log.find("clerk").unwrap();
    assert!(log.oldest(journal) > 1, "events were removed");
    let diligent = clerk(&mut kit, true);
    assert_eq!(kit.answer(diligent.ask(Command::Handled)).unwrap(), pending);
}

#[test]
fn a_full_mailbox_accepts_the_message_about_an_effect() {
    each_narrow(|kit, start| {
        let clerk = start(kit);
        let crowded = clerk.ask(|reply| Command::Crowded(Box::new(Command::Once("effect", reply))));
        assert_eq!(kit.answer(crowded), Ok(true));
        assert_eq!(keys(&told(kit, 0)), ["effect"]);
        // The bound is the same as before.
        assert_eq!((clerk.capacity(), clerk.waiting()), (Some(1), Some(0)));
    });
}

#[test]
fn a_full_mailbox_accepts_the_message_about_an_overdue_reminder() {
    each_narrow(|kit, start| {
        let clerk = start(kit);
        let remind = |reply| Command::Crowded(Box::new(Command::Remind("overdue", 0, reply)));
        assert_eq!(kit.answer(clerk.ask(remind)), Ok(()));
        assert_eq!(keys(&told(kit, 0)), ["overdue"]);
    });
}

#[test]
fn a_mailbox_accepts_the_messages_about_all_duties_after_a_start() {
    each_narrow(|kit, start| {
        let clerk = start(kit);
        for key in ["a", "b", "c"] {
            let once = clerk.ask(move |reply| Command::Once(key, reply));
            assert_eq!(kit.answer(once), Ok(true));
        }
        assert_eq!(keys(&told(kit, 0)), ["a", "b", "c"]);
        kit.crash();
        let clerk = start(kit);
        assert_eq!(keys(&told(kit, 3)), ["a", "b", "c"]);
        assert_eq!((clerk.capacity(), clerk.waiting()), (Some(1), Some(0)));
    });
}

#[test]
fn a_duty_without_a_message_is_an_error() {
    let mut kit = Kit::new();
    let clerk = clerk(&mut kit, true);
    assert!(
        kit.answer(clerk.ask(|reply| Command::Once("unknown", reply)))
            .is_err()
    );
    let failures = kit.failures();
    let text = "the actor of the journal \"clerk\" returns no message for the due key \"unknown\"";
    assert!(
        failures[0].message.contains(text),
        "{}",
        failures[0].message
    );
}

#[test]
fn a_key_that_is_too_long_is_refused() {
    let mut kit = Kit::new();
    let clerk = clerk(&mut kit, true);
    let long: &'static str = String::leak("x".repeat(256));
    assert!(
        kit.answer(clerk.ask(|reply| Command::Once(long, reply)))
            .is_err()
    );
    let text = "a key may have at most 255 bytes, not 256";
    assert!(kit.failures()[0].message.contains(text));
}

/// An actor with an event whose tag is reserved.
struct Greedy;

struct Reserved;

impl Stored for Reserved {
    fn encode(&self, _: &mut Vec<u8>) -> EventKind {
        EventKind {
            tag: 0xFF00,
            version: 1,
        }
    }

    fn decode(_: EventKind, _: &[u8]) -> Result<Self, BoxError> {
        Ok(Self)
    }
}

impl DurableActor for Greedy {
    type Msg = Reply<()>;
    type State = ();
    type Event = Reserved;
    type Outcome = ();

    fn decide(&self, (): &(), reply: Reply<()>, cx: &mut Decide<'_, '_, Self>) {
        cx.record(Reserved);
        reply.send(());
    }

    fn apply((): &mut (), _: &Reserved) {}
}

#[test]
fn a_reserved_tag_is_refused() {
    let mut kit = Kit::new();
    let journal = open(&mut kit);
    let greedy = kit
        .node()
        .spawn(journal.entity("greedy", Greedy).unwrap())
        .unwrap();
    assert!(kit.answer(greedy.ask(|reply| reply)).is_err());
    let text = "an event of the journal \"greedy\" has the tag 65280";
    assert!(kit.failures()[0].message.contains(text));
}

#[test]
fn a_keeper_stores_its_newest_state_only() {
    let mut kit = Kit::new();
    let journal = open(&mut kit);
    let book = kit
        .node()
        .spawn(journal.entity("book", Book).unwrap())
        .unwrap();
    for text in ["one ", "two ", "three"] {
        let write = book.ask(move |reply| Writing::Write(text, reply));
        assert_eq!(kit.answer(write), Ok(()));
    }
    book.send(Writing::Undo("lost")).unwrap();
    assert_eq!(
        kit.answer(book.ask(Writing::Read)).unwrap(),
        "one two three"
    );
    kit.crash();
    let (log, _) = Options::new().inspect(Arc::new(kit.disk())).unwrap();
    let stored = log.find("book").unwrap();
    assert_eq!((log.oldest(stored), log.newest(stored)), (3, 3));
    let journal = open(&mut kit);
    let book = kit
        .node()
        .spawn(journal.entity("book", Book).unwrap())
        .unwrap();
    assert_eq!(
        kit.answer(book.ask(Writing::Read)).unwrap(),
        "one two three"
    );
}

#[test]
fn a_keeper_has_duties() {
    let mut kit = Kit::new();
    for round in 0..3 {
        let journal = open(&mut kit);
        let book = kit
            .node()
            .spawn(journal.entity("book", Book).unwrap())
            .unwrap();
        kit.run();
        // Those of earlier rounds were told again.
        let before = ["a", "b", "c"].get(..round).unwrap();
        let from = (0..round).map(|round| round + 1).sum();
        assert_eq!(keys(&told(&kit, from)), before);
        let (text, key) = [("A", "a"), ("B", "b"), ("C", "c")][round];
        let write = book.ask(move |reply| Writing::WriteOnce(text, key, reply));
        assert_eq!(kit.answer(write), Ok(()));
        assert_eq!(kit.answer(book.ask(Writing::Read)).unwrap(), text);
        kit.crash();
    }
}
