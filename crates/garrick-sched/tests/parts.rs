//! Tests of turns that take several messages out of the mailbox. The parts of such a turn, one for
//! each message, are committed together.
#![forbid(unsafe_code)]

use std::sync::mpsc::{Receiver, Sender, channel};

use garrick_sched::{Address, Ended, Flow, Pending, Reply, Spawns, Sponsor, Task, Turn, WhenFull};
use garrick_testkit::{ByHand, HANGS_AFTER, ends, silence_panics, wait};

struct Forwards(Address<u32>);

impl Task for Forwards {
    type Message = u32;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        turn.send(&self.0, number).unwrap();
        Flow::Continue
    }
}

struct Listener(Sender<u32>);

impl Task for Listener {
    type Message = u32;

    fn receive(&mut self, number: u32, _: &Turn<'_, u32>) -> Flow {
        let _ = self.0.send(number);
        Flow::Continue
    }
}

/// A message for [`Batcher`].
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Sends the number to the listener. The commit of the turn is decided later.
    Later(u32),
    /// Sends the number to the listener.
    Now(u32),
    /// Sends the number to the listener from a new task, and by a message to itself.
    Much(u32),
    /// Sends the number, and requests once more that the commit is decided later.
    Again(u32),
    /// Sends the number, and undoes this part of the turn.
    Undo(u32),
    /// Sends the number, and panics.
    Panic(u32),
    /// Sends the number, and stops.
    Stop(u32),
    /// Sends the number after a pause on another thread.
    Block(u32),
}

/// A task that handles all waiting messages of its mailbox in one turn.
struct Batcher {
    listener: Address<u32>,
    turns: Sender<Pending>,
    recovered: Sender<String>,
}

impl Batcher {
    fn handle(&self, part: Part, turn: &Turn<'_, Part>) -> Flow {
        let (Part::Later(number)
        | Part::Now(number)
        | Part::Much(number)
        | Part::Again(number)
        | Part::Undo(number)
        | Part::Panic(number)
        | Part::Stop(number)
        | Part::Block(number)) = part;
        if matches!(part, Part::Block(_)) {
            turn.blocking(|| ());
        }
        turn.send(&self.listener, number).unwrap();
        match part {
            Part::Much(_) => {
                let child = turn.spawn(Forwards(self.listener.clone()));
                turn.send(&child, number + 1).unwrap();
                turn.send(&turn.address(), Part::Now(number + 2)).unwrap();
            }
            Part::Again(_) => turn.commit_later(drop),
            Part::Undo(_) => return Flow::Undo,
            Part::Panic(_) => panic!("panics in a part"),
            Part::Stop(_) => return Flow::Stop,
            Part::Later(_) | Part::Now(_) | Part::Block(_) => {}
        }
        Flow::Continue
    }
}

impl Task for Batcher {
    type Message = Part;
    const COMMITS_LATER: bool = true;
    const RECOVERS: bool = true;

    fn receive(&mut self, mut part: Part, turn: &Turn<'_, Part>) -> Flow {
        let mut has_asked = false;
        loop {
            let flow = self.handle(part, turn);
            if matches!(part, Part::Later(_)) && !has_asked {
                has_asked = true;
                let turns = self.turns.clone();
                turn.commit_later(move |pending| turns.send(pending).unwrap());
            }
            if flow != Flow::Continue {
                return flow;
            }
            match turn.next_message() {
                Some(next) => part = next,
                None => return Flow::Continue,
            }
        }
    }

    fn recover(&mut self, said: &str, _: &Turn<'_, Part>) -> Flow {
        self.recovered.send(said.to_owned()).unwrap();
        Flow::Continue
    }
}

/// A task that sends several messages to another task in one turn, so that they wait in its mailbox
/// together.
struct Bursts(Address<Part>);

impl Task for Bursts {
    type Message = Vec<Part>;

    fn receive(&mut self, parts: Vec<Part>, turn: &Turn<'_, Vec<Part>>) -> Flow {
        for part in parts {
            let _ = turn.send(&self.0, part);
        }
        Flow::Continue
    }
}

/// A [`Batcher`] on one worker, and the channel on which the test receives the batcher's reports.
struct Batch {
    sponsor: Sponsor,
    batcher: Address<Part>,
    bursts: Address<Vec<Part>>,
    heard: Receiver<u32>,
    turns: Receiver<Pending>,
    recovered: Receiver<String>,
}

impl Batch {
    fn new() -> Self {
        Self::with(|sponsor, batcher| sponsor.handle().spawn(batcher).unwrap())
    }

    fn with(spawn: impl FnOnce(&Sponsor, Batcher) -> Address<Part>) -> Self {
        // On a busy machine, an activation that lasts long handles fewer messages. Here, no time
        // passes.
        let sponsor = Sponsor::builder().workers(1).world(ByHand::new());
        let sponsor = sponsor.start().unwrap();
        let ((hears, heard), (turn, turns), (recovers, recovered)) =
            (channel(), channel(), channel());
        let listener = sponsor.handle().spawn(Listener(hears)).unwrap();
        let batcher = Batcher {
            listener,
            turns: turn,
            recovered: recovers,
        };
        let batcher = spawn(&sponsor, batcher);
        let bursts = sponsor.handle().spawn(Bursts(batcher.clone())).unwrap();
        Self {
            sponsor,
            batcher,
            bursts,
            heard,
            turns,
            recovered,
        }
    }

    fn send(&self, parts: impl Into<Vec<Part>>) {
        self.bursts.send(parts.into()).unwrap();
    }

    fn turn(&self) -> Pending {
        self.turns.recv_timeout(HANGS_AFTER).unwrap()
    }

    #[track_caller]
    fn hears(&self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            assert_eq!(self.heard.recv_timeout(HANGS_AFTER), Ok(number));
        }
    }

    #[track_caller]
    fn hears_nothing(&self) {
        assert!(self.heard.try_recv().is_err(), "nothing is released");
    }

    fn recovery(&self) -> String {
        self.recovered.recv_timeout(HANGS_AFTER).unwrap()
    }
}

#[test]
fn a_turn_takes_the_messages_that_wait_and_is_decided_once() {
    let batch = Batch::new();
    for round in 0..50 {
        let (from, to) = (100 * round, 100 * round + 60);
        // Those before the request wait for the decision, too.
        let part = |number| match number % 3 {
            1 => Part::Later(number),
            _ => Part::Now(number),
        };
        batch.send((from..to).map(part).collect::<Vec<_>>());
        let pending = batch.turn();
        batch.hears_nothing();
        if round % 2 == 0 {
            pending.commit();
            batch.hears(from..to);
        } else {
            pending.undo("for this test");
            assert_eq!(batch.recovery(), "for this test");
        }
        assert!(batch.turns.try_recv().is_err(), "one decision for all");
    }
    batch.sponsor.shutdown();
}

#[test]
fn parts_without_a_request_commit_at_the_end_of_the_turn() {
    let batch = Batch::new();
    batch.send([Part::Now(1), Part::Much(2), Part::Now(5), Part::Undo(6)]);
    // The message to itself is not part of the turn that has sent it.
    let mut heard: Vec<_> = (0..5)
        .map(|_| batch.heard.recv_timeout(HANGS_AFTER).unwrap())
        .collect();
    assert_eq!(heard[..2], [1, 2]);
    heard.sort_unstable();
    assert_eq!(heard, [1, 2, 3, 4, 5]);
    batch.send([Part::Now(7), Part::Panic(8), Part::Now(9)]);
    assert_eq!(batch.recovery(), "panics in a part");
    batch.hears([7, 9]);
    assert_eq!(batch.sponsor.handle().failures(), 1);
    batch.sponsor.shutdown();
}

#[test]
fn a_part_that_is_undone_or_panics_leaves_the_earlier_parts() {
    let batch = Batch::new();
    batch.send([Part::Later(1), Part::Now(2), Part::Undo(3), Part::Now(4)]);
    let pending = batch.turn();
    batch.hears_nothing();
    pending.commit();
    batch.hears([1, 2, 4]);
    batch.send([Part::Later(5), Part::Now(6), Part::Panic(7), Part::Now(8)]);
    let pending = batch.turn();
    batch.hears_nothing();
    assert!(batch.recovered.try_recv().is_err(), "it fails after that");
    pending.commit();
    assert_eq!(batch.recovery(), "panics in a part");
    batch.hears([5, 6, 8]);
    batch.send([Part::Later(20), Part::Again(21), Part::Now(22)]);
    let pending = batch.turn();
    batch.hears_nothing();
    pending.commit();
    assert!(batch.recovery().contains("an earlier part of this turn"));
    batch.hears([20, 22]);
    // If the earlier parts are undone, the task fails once.
    batch.send([Part::Later(9), Part::Panic(10), Part::Now(11)]);
    batch.turn().undo("for this test");
    assert_eq!(batch.recovery(), "for this test");
    batch.hears([11]);
    assert!(batch.recovered.try_recv().is_err(), "it has failed once");
    batch.sponsor.shutdown();
}

#[test]
fn a_part_can_stop_its_task_and_spawn_and_block() {
    let batch = Batch::new();
    batch.send([Part::Later(1), Part::Much(2), Part::Now(5)]);
    let pending = batch.turn();
    batch.hears_nothing();
    pending.commit();
    let mut heard: Vec<_> = (0..5)
        .map(|_| batch.heard.recv_timeout(HANGS_AFTER).unwrap())
        .collect();
    heard.sort_unstable();
    assert_eq!(heard, [1, 2, 3, 4, 5]);
    batch.send([Part::Later(6), Part::Much(7)]);
    batch.turn().undo("for this test");
    assert_eq!(batch.recovery(), "for this test");
    // A turn that has blocked takes no more messages.
    batch.send([Part::Later(10), Part::Block(11), Part::Now(12)]);
    let pending = batch.turn();
    batch.hears_nothing();
    pending.commit();
    batch.hears(10..13);
    batch.send([Part::Later(13), Part::Stop(14), Part::Now(15)]);
    let (ends, end) = channel();
    batch.batcher.watch(move |ended| ends.send(ended).unwrap());
    let pending = batch.turn();
    assert!(end.try_recv().is_err());
    pending.commit();
    assert_eq!(end.recv_timeout(HANGS_AFTER), Ok(Ended::Stopped));
    batch.hears([13, 14]);
    let heard = batch.heard;
    batch.sponsor.shutdown();
    assert!(heard.try_recv().is_err(), "the rest is dropped");
}

#[test]
fn a_bounded_mailbox_has_room_for_the_messages_that_a_turn_has_taken() {
    let batch = Batch::with(|sponsor, batcher| {
        let handle = sponsor.handle();
        handle.spawn_bounded(8, WhenFull::Wait, batcher).unwrap()
    });
    for round in 0..20 {
        let numbers = 10 * round..10 * round + 8;
        batch.send(numbers.clone().map(Part::Later).collect::<Vec<_>>());
        batch.turn().commit();
        batch.hears(numbers);
    }
    batch.sponsor.shutdown();
}

/// The end of a turn of [`Lends`].
#[derive(Clone, Copy, Debug)]
enum End {
    Commit,
    Undo,
    Panic,
}

/// The event in the last part of a turn of [`Lends`] that sends [`Lent::Number`] to the task.
#[derive(Clone, Copy, Debug)]
enum Comes {
    /// The turn blocks, and another thread sends the number meanwhile.
    WhileItBlocks,
    /// The turn is undone, and the destructor of a message that it has sent sends the number.
    FromADestructor,
}

/// A message for [`Lends`].
enum Lent {
    /// Begins a turn with two parts. If the flag is true, the commit of the turn is decided later.
    Begin(bool, Comes, End),
    /// The message of the last part.
    Part,
    /// A number to report.
    Number(u32),
}

/// A message whose destructor sends [`Lent::Number`].
struct SendsWhenDropped(Address<Lent>);

impl Drop for SendsWhenDropped {
    fn drop(&mut self) {
        let _ = self.0.send(Lent::Number(1));
    }
}

/// A task that drops its messages.
struct Drops;

impl Task for Drops {
    type Message = SendsWhenDropped;

    fn receive(&mut self, dropped: SendsWhenDropped, _: &Turn<'_, SendsWhenDropped>) -> Flow {
        drop(dropped);
        Flow::Continue
    }
}

/// A task that answers questions.
struct Answers;

impl Task for Answers {
    type Message = Reply<()>;

    fn receive(&mut self, reply: Reply<()>, _: &Turn<'_, Reply<()>>) -> Flow {
        reply.send(());
        Flow::Continue
    }
}

/// A task that handles a message from its mailbox and a message that it has kept in one turn.
struct Lends {
    answers: Address<Reply<()>>,
    drops: Address<SendsWhenDropped>,
    turns: Sender<Pending>,
    numbers: Sender<u32>,
    recovered: Sender<String>,
}

impl Task for Lends {
    type Message = Lent;
    const COMMITS_LATER: bool = true;
    const RECOVERS: bool = true;

    fn receive(&mut self, lent: Lent, turn: &Turn<'_, Lent>) -> Flow {
        let (is_later, comes, end) = match lent {
            Lent::Begin(is_later, comes, end) => (is_later, comes, end),
            Lent::Part => return Flow::Continue,
            Lent::Number(number) => {
                self.numbers.send(number).unwrap();
                return Flow::Continue;
            }
        };
        turn.lend([Lent::Part].into());
        if is_later {
            let turns = self.turns.clone();
            turn.commit_later(move |pending| turns.send(pending).unwrap());
        }
        assert!(matches!(turn.next_message(), Some(Lent::Part)));
        assert!(turn.take_back().is_empty());
        match comes {
            Comes::WhileItBlocks => {
                let (me, answers) = (turn.address(), self.answers.clone());
                turn.blocking(move || {
                    assert!(me.send(Lent::Number(1)).is_ok());
                    // After the answer, the worker has seen the message before it.
                    answers.ask(|reply| reply).wait().unwrap();
                });
            }
            Comes::FromADestructor => {
                let sends = SendsWhenDropped(turn.address());
                assert!(turn.send(&self.drops, sends).is_ok());
            }
        }
        match end {
            End::Commit => Flow::Continue,
            End::Undo => Flow::Undo,
            End::Panic => panic!("panics in its last part"),
        }
    }

    fn recover(&mut self, said: &str, _: &Turn<'_, Lent>) -> Flow {
        self.recovered.send(said.to_owned()).unwrap();
        Flow::Continue
    }
}

#[test]
fn a_message_that_comes_in_the_last_part_of_a_lone_turn_is_handled_once_and_after_the_decision() {
    silence_panics();
    let ways = [
        (Comes::WhileItBlocks, End::Commit),
        (Comes::WhileItBlocks, End::Undo),
        (Comes::WhileItBlocks, End::Panic),
        (Comes::FromADestructor, End::Undo),
        (Comes::FromADestructor, End::Panic),
    ];
    for ((comes, end), is_later) in ways.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        ends(move || {
            let sponsor = Sponsor::pool(1).unwrap();
            let handle = sponsor.handle();
            let ((turn, turns), (tells, numbers), (recovers, recovered)) =
                (channel(), channel(), channel());
            let answers = handle.spawn(Answers).unwrap();
            let lends = Lends {
                answers: answers.clone(),
                drops: handle.spawn(Drops).unwrap(),
                turns: turn,
                numbers: tells,
                recovered: recovers,
            };
            let lends = handle.spawn(lends).unwrap();
            assert!(lends.send(Lent::Begin(is_later, comes, end)).is_ok());
            if is_later {
                let pending = wait(&turns);
                for _ in 0..4 {
                    answers.ask(|reply| reply).wait().unwrap();
                }
                assert!(numbers.try_recv().is_err(), "it waits for the decision");
                pending.commit();
            }
            if matches!(end, End::Panic) {
                assert_eq!(wait(&recovered), "panics in its last part");
            }
            assert_eq!(wait(&numbers), 1);
            assert!(lends.send(Lent::Number(2)).is_ok());
            assert_eq!(wait(&numbers), 2);
            drop(lends);
            sponsor.shutdown();
            assert!(numbers.try_recv().is_err(), "each number comes once");
        });
    }
}
