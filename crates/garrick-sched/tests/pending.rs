//! Tests of turns whose commit is decided after the turns have ended.
#![forbid(unsafe_code)]

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use garrick_sched::{
    Address, Ended, Flow, Here, NoReply, Pending, Reply, Spawns, Sponsor, Task, Turn, WhenFull,
};
use garrick_testkit::{HANGS_AFTER, ends, silence_panics, wait};

/// Number that a nudged entity sends.
const NUDGED: u32 = 1_000_000;

/// A message for [`Entity`].
enum Say {
    /// Sends a number to the listener. The commit of the turn is decided later.
    Later(u32),
    /// Sends a number to the listener. The turn commits at once.
    Now(u32),
    /// Answers the question in a turn whose commit is decided later.
    Answer(Reply<u32>),
    /// Sends a number to the listener from a new task, after a delay, and by itself.
    Much(u32),
    /// Stops in a turn whose commit is decided later.
    Stop(u32),
    /// Undoes a turn that has asked for a later decision about its commit.
    Undo(u32),
    /// Panics in a turn that has asked for a later decision about its commit.
    Panic(u32),
}

/// A task that sends numbers to a listener. The test decides whether the task's turns commit.
struct Entity {
    listener: Address<u32>,
    turns: Sender<Pending>,
    recovered: Sender<String>,
}

impl Entity {
    fn later(&self, turn: &Turn<'_, Say>) {
        let turns = self.turns.clone();
        turn.commit_later(move |pending| turns.send(pending).unwrap());
    }
}

impl Task for Entity {
    type Message = Say;
    const COMMITS_LATER: bool = true;
    const RECOVERS: bool = true;

    fn receive(&mut self, message: Say, turn: &Turn<'_, Say>) -> Flow {
        if !matches!(message, Say::Now(_)) {
            self.later(turn);
        }
        match message {
            Say::Later(number) | Say::Now(number) => turn.send(&self.listener, number).unwrap(),
            Say::Answer(reply) => reply.send(7),
            Say::Much(number) => {
                let child = turn.spawn(Forwards(self.listener.clone()));
                turn.send(&child, number).unwrap();
                let delay = Duration::from_millis(1);
                turn.send_after(delay, &child, number + 1).unwrap();
                turn.send(&turn.address(), Say::Now(number + 2)).unwrap();
            }
            Say::Stop(number) => {
                turn.send(&self.listener, number).unwrap();
                return Flow::Stop;
            }
            Say::Undo(number) => {
                turn.send(&self.listener, number).unwrap();
                return Flow::Undo;
            }
            Say::Panic(number) => {
                turn.send(&self.listener, number).unwrap();
                panic!("panics after its request");
            }
        }
        Flow::Continue
    }

    fn nudged(&mut self, turn: &Turn<'_, Say>) -> Flow {
        self.later(turn);
        turn.send(&self.listener, NUDGED).unwrap();
        Flow::Continue
    }

    fn recover(&mut self, said: &str, _: &Turn<'_, Say>) -> Flow {
        self.recovered.send(said.to_owned()).unwrap();
        Flow::Continue
    }
}

/// A task that nudges an entity, and then sends a number to it.
struct Nudges(Address<Say>);

impl Task for Nudges {
    type Message = u32;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        turn.nudge(&self.0);
        assert!(turn.send(&self.0, Say::Now(number)).is_ok());
        Flow::Continue
    }
}

struct Forwards(Address<u32>);

impl Task for Forwards {
    type Message = u32;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        turn.send(&self.0, number).unwrap();
        Flow::Continue
    }
}

/// A task whose turn ends when the test wants it.
struct Busy;

impl Task for Busy {
    type Message = (Sender<()>, Receiver<()>);

    fn receive(&mut self, (begins, ends): Self::Message, _: &Turn<'_, Self::Message>) -> Flow {
        begins.send(()).unwrap();
        let _ = ends.recv();
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

/// An [`Entity`] with its listener, and the channels on which the test receives their reports.
struct Scene {
    entity: Address<Say>,
    heard: Receiver<u32>,
    turns: Receiver<Pending>,
    recovered: Receiver<String>,
}

impl Scene {
    fn new(sponsor: &Sponsor) -> Self {
        let ((hears, heard), (turn, turns), (recovers, recovered)) =
            (channel(), channel(), channel());
        let listener = sponsor.handle().spawn(Listener(hears)).unwrap();
        let entity = Entity {
            listener,
            turns: turn,
            recovered: recovers,
        };
        Self {
            entity: sponsor.handle().spawn(entity).unwrap(),
            heard,
            turns,
            recovered,
        }
    }

    fn say(&self, say: Say) {
        assert!(self.entity.send(say).is_ok());
    }

    fn hear(&self) -> u32 {
        self.heard.recv_timeout(HANGS_AFTER).unwrap()
    }

    fn turn(&self) -> Pending {
        self.turns.recv_timeout(HANGS_AFTER).unwrap()
    }

    fn recovery(&self) -> String {
        self.recovered.recv_timeout(HANGS_AFTER).unwrap()
    }
}

fn pools() -> [Sponsor; 2] {
    [1, 3].map(|workers| Sponsor::pool(workers).unwrap())
}

#[test]
fn effects_take_place_when_the_turn_is_committed_and_later_messages_wait() {
    for sponsor in pools() {
        let scene = Scene::new(&sponsor);
        let other = Scene::new(&sponsor);
        for number in 0..100 {
            scene.say(Say::Later(3 * number));
            scene.say(Say::Now(3 * number + 1));
            scene.say(Say::Now(3 * number + 2));
            let pending = scene.turn();
            // The workers are free.
            other.say(Say::Now(number));
            assert_eq!(other.hear(), number);
            assert!(scene.heard.try_recv().is_err(), "nothing is released");
            pending.commit();
            let heard: Vec<_> = (0..3).map(|_| scene.hear()).collect();
            assert_eq!(heard, [3 * number, 3 * number + 1, 3 * number + 2]);
        }
        sponsor.shutdown();
    }
}

#[test]
fn a_turn_that_is_undone_has_no_effects_and_its_task_fails() {
    for sponsor in pools() {
        let scene = Scene::new(&sponsor);
        scene.say(Say::Later(1));
        scene.say(Say::Now(2));
        scene.turn().undo("the disk is gone");
        assert_eq!(scene.recovery(), "the disk is gone");
        assert_eq!(scene.hear(), 2);
        // A decision that is never made is an undo.
        scene.say(Say::Later(3));
        scene.say(Say::Now(4));
        drop(scene.turn());
        assert_eq!(scene.recovery(), "nobody has decided about the turn");
        assert_eq!(scene.hear(), 4);
        assert_eq!(sponsor.handle().failures(), 2);
        sponsor.shutdown();
    }
}

#[test]
fn a_decision_may_be_left_to_the_moment_in_which_the_worker_is_free() {
    silence_panics();
    for sponsor in pools() {
        let scene = Scene::new(&sponsor);
        scene.say(Say::Later(1));
        let (commits, committed) = channel();
        scene.turn().when_due(move |due| {
            due.commit();
            commits.send(()).unwrap();
        });
        assert_eq!(scene.hear(), 1);
        committed.recv_timeout(HANGS_AFTER).unwrap();
        scene.say(Say::Later(2));
        scene.turn().when_due(|due| due.undo("too late"));
        assert_eq!(scene.recovery(), "too late");
        // Without a decision, the turn is undone.
        scene.say(Say::Later(3));
        scene.turn().when_due(|_| ());
        assert_eq!(scene.recovery(), "nobody has decided about the turn");
        scene.say(Say::Later(4));
        scene.turn().when_due(|_| panic!("for this test"));
        assert_eq!(scene.recovery(), "nobody has decided about the turn");
        // What was decided before a panic holds.
        scene.say(Say::Later(5));
        scene.turn().when_due(|due| {
            due.commit();
            panic!("for this test");
        });
        assert_eq!(scene.hear(), 5);
        scene.say(Say::Now(6));
        assert_eq!(scene.hear(), 6);
        // Three turns that were undone, and two panics of functions that decide.
        assert_eq!(sponsor.handle().failures(), 5);
        sponsor.shutdown();
    }
}

#[test]
fn a_turn_may_wait_again_when_its_worker_is_free() {
    for sponsor in pools() {
        let scene = Scene::new(&sponsor);
        for number in 0..20 {
            scene.say(Say::Later(2 * number));
            scene.say(Say::Now(2 * number + 1));
            let (waits, waiting) = channel();
            let (also, first) = (waits.clone(), scene.turn());
            first.when_due(move |due| also.send(due.wait()).unwrap());
            let pending = waiting.recv_timeout(HANGS_AFTER).unwrap();
            assert!(scene.heard.try_recv().is_err(), "nothing is released");
            if number % 2 == 0 {
                pending.commit();
                assert_eq!(scene.hear(), 2 * number);
            } else {
                drop(pending);
                assert_eq!(scene.recovery(), "nobody has decided about the turn");
            }
            assert_eq!(scene.hear(), 2 * number + 1);
        }
        // A turn that waits again keeps the sponsor alive.
        let ask = scene.entity.ask(Say::Answer);
        scene.turn().when_due(|due| {
            let pending = due.wait();
            thread::spawn(move || pending.commit());
        });
        sponsor.shutdown();
        assert_eq!(ask.wait(), Ok(7));
    }
}

#[test]
fn a_decision_is_made_when_the_worker_has_finished_its_turn() {
    let sponsor = Sponsor::pool(1).unwrap();
    let scene = Scene::new(&sponsor);
    let is_true = Arc::new(AtomicBool::new(true));
    scene.say(Say::Later(1));
    let pending = scene.turn();
    let ((begins, begun), (ends, end)) = (channel(), channel());
    let busy = sponsor.handle().spawn(Busy).unwrap();
    assert!(busy.send((begins, end)).is_ok());
    begun.recv_timeout(HANGS_AFTER).unwrap();
    let condition = is_true.clone();
    pending.when_due(move |due| {
        if condition.load(SeqCst) {
            due.commit();
        } else {
            due.undo("the condition has ended");
        }
    });
    is_true.store(false, SeqCst);
    drop(ends);
    assert_eq!(scene.recovery(), "the condition has ended");
    assert!(scene.heard.try_recv().is_err());
    sponsor.shutdown();
}

#[test]
fn answers_are_published_or_refused_with_the_turn() {
    for sponsor in pools() {
        let scene = Scene::new(&sponsor);
        let ask = scene.entity.ask(Say::Answer);
        let pending = scene.turn();
        let waits = Duration::from_millis(1);
        let ask = match ask.wait_timeout(waits) {
            Err(NoReply::TimedOut) => {
                pending.commit();
                let again = scene.entity.ask(Say::Answer);
                scene.turn().commit();
                again
            }
            other => panic!("an answer of an undecided turn came: {other:?}"),
        };
        assert_eq!(ask.wait(), Ok(7));
        let ask = scene.entity.ask(Say::Answer);
        scene.turn().undo("for this test");
        assert_eq!(ask.wait(), Err(NoReply::Dropped));
        sponsor.shutdown();
    }
}

#[test]
fn spawns_timers_and_messages_to_itself_wait_as_well() {
    for sponsor in pools() {
        let scene = Scene::new(&sponsor);
        scene.say(Say::Much(10));
        let pending = scene.turn();
        assert!(scene.heard.try_recv().is_err());
        pending.commit();
        let mut heard: Vec<_> = (0..3).map(|_| scene.hear()).collect();
        heard.sort_unstable();
        assert_eq!(heard, [10, 11, 12]);
        scene.say(Say::Much(20));
        scene.turn().undo("for this test");
        scene.say(Say::Now(30));
        assert_eq!(scene.hear(), 30);
        sponsor.shutdown();
    }
}

#[test]
fn a_task_may_stop_and_a_turn_may_be_discarded_or_panic() {
    for sponsor in pools() {
        let scene = Scene::new(&sponsor);
        scene.say(Say::Undo(1));
        scene.say(Say::Panic(2));
        assert_eq!(scene.recovery(), "panics after its request");
        scene.say(Say::Stop(3));
        scene.say(Say::Now(4));
        let (ends, end) = channel();
        scene.entity.watch(move |ended| ends.send(ended).unwrap());
        let pending = scene.turn();
        assert!(end.try_recv().is_err());
        pending.commit();
        assert_eq!(end.recv_timeout(HANGS_AFTER), Ok(Ended::Stopped));
        assert_eq!(scene.hear(), 3);
        assert!(scene.turns.try_recv().is_err(), "no other turn waited");
        sponsor.shutdown();
    }
}

#[test]
fn a_nudged_turn_is_decided_later() {
    for sponsor in pools() {
        let scene = Scene::new(&sponsor);
        let nudges = sponsor.handle().spawn(Nudges(scene.entity.clone()));
        let nudges = nudges.unwrap();
        for number in 0..20 {
            nudges.send(number).unwrap();
            let pending = scene.turn();
            assert!(scene.heard.try_recv().is_err(), "nothing is released");
            if number % 3 == 0 {
                pending.undo("for this test");
                assert_eq!(scene.recovery(), "for this test");
            } else {
                pending.commit();
                assert_eq!(scene.hear(), NUDGED);
            }
            assert_eq!(scene.hear(), number);
        }
        sponsor.shutdown();
    }
}

#[test]
fn a_shutdown_waits_for_the_decision() {
    for now in [false, true] {
        for (sponsor, commits) in pools().into_iter().zip([true, false]) {
            let scene = Scene::new(&sponsor);
            let ask = scene.entity.ask(Say::Answer);
            let pending = scene.turn();
            let decides = thread::spawn(move || {
                if commits {
                    pending.commit();
                } else {
                    pending.undo("for this test");
                }
            });
            if now {
                sponsor.shutdown_now();
            } else {
                sponsor.shutdown();
            }
            let answer = if commits {
                Ok(7)
            } else {
                Err(NoReply::Dropped)
            };
            assert_eq!(ask.wait(), answer);
            decides.join().unwrap();
        }
    }
}

/// A task that keeps the rights to decide about turns of other tasks, and reports each of them.
struct Hoards(Vec<Pending>, Sender<()>);

impl Task for Hoards {
    type Message = Pending;

    fn receive(&mut self, pending: Pending, _: &Turn<'_, Pending>) -> Flow {
        self.0.push(pending);
        self.1.send(()).unwrap();
        Flow::Continue
    }
}

#[test]
fn a_shutdown_drops_a_right_to_decide_that_a_task_keeps() {
    ends(|| {
        for sponsor in pools() {
            let scene = Scene::new(&sponsor);
            let (kept, keeps) = channel();
            let hoards = sponsor.handle().spawn(Hoards(Vec::new(), kept)).unwrap();
            let ask = scene.entity.ask(Say::Answer);
            hoards.send(scene.turn()).unwrap();
            wait(&keeps);
            sponsor.shutdown_now();
            assert_eq!(ask.wait(), Err(NoReply::Dropped));
        }
    });
}

#[test]
fn an_unreachable_task_finishes_its_turn() {
    for sponsor in pools() {
        let scene = Scene::new(&sponsor);
        scene.say(Say::Later(1));
        let pending = scene.turn();
        let (ends, end) = channel();
        scene.entity.watch(move |ended| ends.send(ended).unwrap());
        let Scene { entity, heard, .. } = scene;
        drop(entity);
        pending.commit();
        assert_eq!(heard.recv_timeout(HANGS_AFTER), Ok(1));
        assert_eq!(end.recv_timeout(HANGS_AFTER), Ok(Ended::Unreachable));
        sponsor.shutdown();
    }
}

/// A task that decides in its own turns whether turns of another task commit.
struct Decides;

impl Task for Decides {
    type Message = Pending;

    fn receive(&mut self, pending: Pending, _: &Turn<'_, Pending>) -> Flow {
        pending.commit();
        Flow::Continue
    }
}

/// A task that counts its messages. Another task decides whether each turn commits, or the turn
/// commits at its end.
struct Counts {
    number: u32,
    decides: Option<Address<Pending>>,
    says: Address<u32>,
}

impl Task for Counts {
    type Message = u32;
    const COMMITS_LATER: bool = true;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        assert_eq!(number, self.number);
        self.number += 1;
        turn.send(&self.says, number).unwrap();
        let decides = self.decides.clone();
        turn.commit_later(move |pending| match decides {
            Some(decides) => decides.send(pending).unwrap(),
            None => pending.commit(),
        });
        Flow::Continue
    }
}

#[test]
fn thousands_of_tasks_wait_at_the_same_time_and_each_handles_its_messages_in_order() {
    const TASKS: usize = 1_000;
    const MESSAGES: u32 = 20;
    for sponsor in pools() {
        let handle = sponsor.handle();
        let (says, said) = channel();
        let says = handle.spawn(Listener(says)).unwrap();
        let decides = handle.spawn(Decides).unwrap();
        let spawn = |index: usize| {
            let decides = (!index.is_multiple_of(3)).then(|| decides.clone());
            let says = says.clone();
            let counts = Counts {
                number: 0,
                decides,
                says,
            };
            handle.spawn(counts).unwrap()
        };
        let tasks: Vec<_> = (0..TASKS).map(spawn).collect();
        for number in 0..MESSAGES {
            tasks.iter().for_each(|task| task.send(number).unwrap());
        }
        for _ in 0..TASKS * MESSAGES as usize {
            said.recv_timeout(HANGS_AFTER).unwrap();
        }
        sponsor.shutdown();
        assert_eq!(handle.failures(), 0);
    }
}

/// A task that asks for a later decision about its commit where that is impossible.
struct Wrong<const LATER: bool>;

impl<const LATER: bool> Task for Wrong<LATER> {
    type Message = ();
    const STARTS: bool = LATER;
    const COMMITS_LATER: bool = LATER;

    fn start(&mut self, turn: &Turn<'_, ()>) -> Flow {
        turn.commit_later(Pending::commit);
        Flow::Continue
    }

    fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
        turn.commit_later(Pending::commit);
        Flow::Continue
    }
}

#[test]
fn a_later_decision_in_the_wrong_place_is_an_error() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let reports = said.clone();
    let sponsor = Sponsor::builder()
        .workers(1)
        .on_failure(move |failure| reports.lock().unwrap().push(failure.message.clone()))
        .start()
        .unwrap();
    sponsor.handle().spawn(Wrong::<true>).unwrap();
    sponsor
        .handle()
        .spawn(Wrong::<false>)
        .unwrap()
        .send(())
        .unwrap();
    sponsor.shutdown();
    let wrong = "this turn cannot leave its commit to a later decision";
    assert_eq!(*said.lock().unwrap(), [wrong, wrong]);
}

#[test]
fn a_decision_on_the_own_thread_is_taken_by_the_next_run() {
    let here = Here::new_here().unwrap();
    let (hears, heard) = channel();
    let says = here.spawn(Listener(hears));
    let counts = here.spawn(Counts {
        number: 0,
        decides: None,
        says,
    });
    (0..50).for_each(|number| counts.send(number).unwrap());
    here.run();
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), Vec::from_iter(0..50));
}

#[test]
fn places_in_bounded_mailboxes_are_taken_by_the_turn_and_given_back_by_its_undo() {
    let sponsor = Sponsor::pool(2).unwrap();
    let (hears, heard) = channel();
    let full = sponsor
        .handle()
        .spawn_bounded(1, WhenFull::Wait, Listener(hears))
        .unwrap();
    let (turn, turns) = channel();
    let (recovers, _recovered) = channel();
    let entity = Entity {
        listener: full.clone(),
        turns: turn,
        recovered: recovers,
    };
    let entity = sponsor.handle().spawn(entity).unwrap();
    assert!(entity.send(Say::Later(1)).is_ok());
    let pending = turns.recv_timeout(HANGS_AFTER).unwrap();
    assert_eq!(full.waiting(), Some(1), "the turn has taken the place");
    pending.undo("for this test");
    assert!(entity.send(Say::Later(2)).is_ok());
    let pending = turns.recv_timeout(HANGS_AFTER).unwrap();
    pending.commit();
    assert_eq!(heard.recv_timeout(HANGS_AFTER), Ok(2));
    sponsor.shutdown();
}
