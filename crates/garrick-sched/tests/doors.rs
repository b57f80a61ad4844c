//! Tests of doors: receivers whose function each sender runs itself.

mod common;

use std::any::Any;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::Duration;

use common::does;
use garrick_sched::{
    Address, Door, Flow, Here, Reply, SendError, Sponsor, Task, TaskId, Turn, audit, door, in_turn,
};
use garrick_testkit::{ByHand, OnDrop, alone, ends_alone, fail, silence_panics, wait};

/// A door made of a closure.
struct Passes<F>(F);

impl<F> Door for Passes<F>
where
    F: Fn(u32) -> Result<(), SendError<u32>> + Send + Sync + 'static,
{
    type Message = u32;

    fn pass(&self, message: u32, _: &Address<u32>) -> Result<(), SendError<u32>> {
        (self.0)(message)
    }
}

/// Makes a door that sends its number plus one.
fn increments(to: Address<u32>) -> Address<u32> {
    door(Passes(move |n| to.send(n + 1)))
}

#[test]
fn a_door_is_part_of_the_turn_that_sends() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let (told, heard) = channel();
        let listener = here.spawn(does(move |n: u32, _: &Turn<'_, u32>| {
            told.send(n).unwrap();
            Flow::Continue
        }));
        let to = increments(listener);
        let sender = here.spawn(does(move |flow: Flow, turn: &Turn<'_, Flow>| {
            turn.send(&to, 10).unwrap();
            to.send(20).unwrap();
            flow
        }));
        for flow in [Flow::Undo, Flow::Continue] {
            sender.send(flow).unwrap();
        }
        here.run();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [11, 21]);
    });
}

#[test]
fn many_threads_are_in_one_door_at_once() {
    ends_alone(|| {
        let all_in = Arc::new(Barrier::new(4));
        let to = door(Passes({
            let all_in = all_in.clone();
            move |_| {
                all_in.wait();
                Ok(())
            }
        }));
        let sponsor = Sponsor::pool(2).unwrap();
        for _ in 0..2 {
            let to = to.clone();
            let task = sponsor.handle().spawn(does(move |(), turn: &Turn<'_, ()>| {
                turn.send(&to, 0).unwrap();
                Flow::Continue
            }));
            task.unwrap().send(()).unwrap();
        }
        let other = to.clone();
        let outside = thread::spawn(move || other.send(0).unwrap());
        to.send(0).unwrap();
        outside.join().unwrap();
        sponsor.shutdown();
    });
}

#[test]
fn a_door_that_refuses_gives_the_message_back() {
    ends_alone(|| {
        let to = door(Passes(|n| if n < 5 { Ok(()) } else { Err(SendError(n)) }));
        assert_eq!(to.send(4), Ok(()));
        assert_eq!(to.send(5), Err(SendError(5)));
        let (told, heard) = channel();
        let here = Here::new_here().unwrap();
        let sender = here.spawn(does(move |n: u32, turn: &Turn<'_, u32>| {
            told.send(turn.send(&to, n)).unwrap();
            Flow::Continue
        }));
        sender.send(4).unwrap();
        sender.send(5).unwrap();
        here.run();
        assert_eq!(
            heard.try_iter().collect::<Vec<_>>(),
            [Ok(()), Err(SendError(5))]
        );
    });
}

#[test]
fn a_thousand_doors_behind_one_another_are_passed() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let (told, heard) = channel();
        let last: Address<u32> = door(Passes(move |n| {
            told.send(n).unwrap();
            Ok(())
        }));
        let first = (0..1000).fold(last, |to, _| increments(to));
        first.send(0).unwrap();
        assert_eq!(heard.try_recv(), Ok(1000), "passed before `send` returns");
        let sender = here.spawn(does(move |n: u32, turn: &Turn<'_, u32>| {
            turn.send(&first, n).unwrap();
            Flow::Continue
        }));
        sender.send(5).unwrap();
        here.run();
        assert_eq!(heard.try_recv(), Ok(1005));
    });
}

/// Number of words in a large message.
const WORDS: usize = 1_000;

/// A door that adds one to the count in the message, and passes the message on. The last door
/// reports the count.
enum Counts {
    To(Address<[u64; WORDS]>),
    Tell(Sender<u64>),
}

impl Door for Counts {
    type Message = [u64; WORDS];

    fn pass(
        &self,
        mut message: [u64; WORDS],
        _: &Address<[u64; WORDS]>,
    ) -> Result<(), SendError<[u64; WORDS]>> {
        match self {
            Self::To(next) => {
                message[0] += 1;
                next.send(message)
            }
            Self::Tell(told) => {
                told.send(message[0]).unwrap();
                Ok(())
            }
        }
    }
}

#[test]
fn large_messages_pass_a_thousand_doors_on_a_small_stack() {
    // Other tests count the blocks of the whole process.
    let _alone = alone();
    let passes = || {
        let (told, heard) = channel();
        let last = door(Counts::Tell(told));
        let first = (0..1_000).fold(last, |next, _| door(Counts::To(next)));
        assert!(first.send([0; WORDS]).is_ok());
        assert_eq!(heard.try_recv(), Ok(1_000));
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    thread.spawn(passes).unwrap().join().unwrap();
}

#[test]
fn doors_in_a_circle_let_others_run() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let next = Arc::new(OnceLock::<Address<u32>>::new());
        let over = Arc::new(AtomicU32::new(0));
        let circle = door(Passes({
            let (next, over) = (next.clone(), over.clone());
            move |n| match over.load(SeqCst) {
                0 => next.get().unwrap().send(n),
                _ => Ok(()),
            }
        }));
        next.set(increments(circle.clone())).unwrap();
        let start = here.spawn(does(move |(), turn: &Turn<'_, ()>| {
            turn.send(&circle, 0).unwrap();
            Flow::Continue
        }));
        let end = here.spawn(does(move |(), _: &Turn<'_, ()>| {
            over.store(1, SeqCst);
            Flow::Continue
        }));
        start.send(()).unwrap();
        end.send(()).unwrap();
        here.run();
    });
}

#[test]
fn a_panic_in_a_door_is_reported_and_hurts_nobody() {
    ends_alone(|| {
        silence_panics();
        let to = door(Passes(|_| fail()));
        to.send(1).unwrap();
        let here = Here::new_here().unwrap();
        let (told, heard) = channel();
        let sender = here.spawn(does(move |n: u32, turn: &Turn<'_, u32>| {
            turn.send(&to, n).unwrap();
            told.send(n).unwrap();
            Flow::Continue
        }));
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        here.run();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(
            (here.handle().failures(), here.handle().dead_letters()),
            (2, 2)
        );
    });
}

#[test]
fn timers_and_answers_come_to_doors() {
    ends_alone(|| {
        let clock = ByHand::new();
        let here = Sponsor::builder().world(clock.clone()).here().unwrap();
        let (told, heard) = channel();
        let to = door(Passes(move |n| {
            told.send(n).unwrap();
            Ok(())
        }));
        let sender = here.spawn(does(move |reply: Reply<u32>, turn: &Turn<'_, _>| {
            turn.send_after(Duration::from_millis(1), &to, 1).unwrap();
            let answered =
                Reply::to_task(to.clone(), |answer: Result<u32, _>| answer.unwrap_or(99));
            answered.send(2);
            drop(Reply::<u32>::to_task(to.clone(), |answer| {
                answer.unwrap_or(99)
            }));
            reply.send(3);
            Flow::Continue
        }));
        let answer = sender.ask(|reply| reply);
        here.run();
        assert_eq!(answer.wait(), Ok(3));
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [2, 99]);
        clock.advance(Duration::from_millis(2));
        here.run();
        assert_eq!(heard.try_recv(), Ok(1));
    });
}

#[test]
fn a_door_is_dropped_with_its_last_address() {
    ends_alone(|| {
        let before = audit();
        for large in [false, true] {
            let (told, heard) = channel();
            let guard = OnDrop(move || told.send(()).unwrap());
            let to = if large {
                guarded::<5000>(guard)
            } else {
                guarded::<0>(guard)
            };
            let sponsor = Sponsor::pool(2).unwrap();
            let other = to.clone();
            assert_eq!(to, other);
            let task = sponsor
                .handle()
                .spawn(does(move |n: u32, turn: &Turn<'_, u32>| {
                    turn.send(&other, n).unwrap();
                    Flow::Stop
                }));
            to.stop();
            assert!(!to.is_stopped(), "doors do not stop");
            task.unwrap().send(1).unwrap();
            drop(to);
            wait(&heard);
            sponsor.shutdown();
        }
        assert_eq!(audit(), before);
    });
}

/// Makes a door of at least `N` bytes.
fn guarded<const N: usize>(guard: OnDrop<impl FnMut() + Send + Sync + 'static>) -> Address<u32> {
    let content = [0_u8; N];
    door(Passes(move |n| {
        let _ = (&guard, &content);
        assert_eq!(n, 1);
        Ok(())
    }))
}

#[test]
fn what_a_door_holds_goes_with_it() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let (told, heard) = channel();
        let told: Sender<()> = told;
        let guard = OnDrop(move || told.send(()).unwrap());
        let behind = here.spawn(does(move |_: u32, _: &Turn<'_, u32>| {
            let _ = &guard;
            Flow::Continue
        }));
        let to = increments(behind);
        here.run();
        assert!(heard.try_recv().is_err());
        drop(to);
        here.run();
        assert_eq!(heard.try_recv(), Ok(()));
    });
}

#[test]
fn an_undone_answer_to_a_door_is_refused_even_if_nobody_else_holds_the_door() {
    ends_alone(|| {
        silence_panics();
        let before = audit();
        for end in [|| Flow::Undo, || fail()] {
            let here = Here::new_here().unwrap();
            let (told, heard) = channel();
            let answers = does(move |n: u32, _: &Turn<'_, u32>| {
                told.send(n).unwrap();
                Flow::Continue
            });
            let answers = here.spawn(answers);
            let answerer = here.spawn(does(move |reply: Reply<u32>, _: &Turn<'_, _>| {
                reply.send(1);
                end()
            }));
            let to = increments(answers);
            let reply = Reply::to_task(to, |answer: Result<u32, _>| answer.unwrap_or(98));
            answerer.send(reply).unwrap();
            here.run();
            assert_eq!(heard.try_iter().collect::<Vec<_>>(), [99]);
        }
        assert_eq!(audit(), before);
    });
}

#[test]
fn a_long_chain_of_doors_is_dropped_on_a_small_stack() {
    ends_alone(|| {
        let before = audit();
        let here = Here::new_here().unwrap();
        let (told, heard) = channel();
        let last = here.spawn(does(move |n: u32, _: &Turn<'_, u32>| {
            told.send(n).unwrap();
            Flow::Continue
        }));
        let chain = (0..100_000).fold(last.contramap(|n| n), |to, _| increments(to));
        let small = thread::Builder::new().stack_size(64 * 1024);
        let dropper = small.spawn(move || drop(chain)).unwrap();
        dropper.join().unwrap();
        last.send(7).unwrap();
        here.run();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [7]);
        drop((last, here));
        assert_eq!(audit(), before);
    });
}

/// A task that answers and panics when it is asked if it stops.
struct LastWords(Option<Reply<u32>>);

impl Task for LastWords {
    type Message = ();

    fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
        Flow::Continue
    }

    fn stops(&mut self) -> bool {
        self.0.take().expect("asked once").send(1);
        fail()
    }
}

#[test]
fn an_answer_between_turns_is_given_once_although_a_panic_follows() {
    ends_alone(|| {
        silence_panics();
        let before = audit();
        let here = Here::new_here().unwrap();
        let (told, heard) = channel();
        let ear = door(Passes(move |n| {
            told.send(n).unwrap();
            Ok(())
        }));
        // The last reference to the door is that of the reply.
        let reply = Reply::to_task(ear, |answer: Result<u32, _>| answer.unwrap_or(99));
        let task = here.spawn(LastWords(Some(reply)));
        task.stop();
        here.run();
        assert!(task.is_stopped());
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [1]);
        drop((task, here));
        assert_eq!(audit(), before);
    });
}

#[test]
fn what_waits_before_a_deep_door_is_a_dead_letter_if_the_sponsor_ends() {
    ends_alone(|| {
        let deep = (0..40).fold(door(Passes(|_| Ok(()))), |to, _| increments(to));
        let sponsor = Arc::new(Sponsor::pool(1).unwrap());
        let handle = sponsor.handle();
        let ours = sponsor.clone();
        let ender = handle.spawn(does(move |(), turn: &Turn<'_, ()>| {
            turn.send(&deep, 1).unwrap();
            turn.send(&deep, 2).unwrap();
            ours.begin_shutdown_now();
            Flow::Continue
        }));
        ender.unwrap().send(()).unwrap();
        sponsor.wait();
        assert_eq!(handle.dead_letters(), 2);
    });
}

#[test]
fn what_waits_before_a_deep_door_keeps_nobody_from_running() {
    ends_alone(|| {
        // The other worker is idle all the time, and none of these tasks can be given to it.
        let sponsor = Sponsor::pool(2).unwrap();
        let deep = (0..40).fold(door(Passes(|_| Ok(()))), |to, _| increments(to));
        let (told, heard) = channel();
        for _ in 0..200 {
            let told = told.clone();
            let neighbour = does(move |n: u32, _: &Turn<'_, u32>| {
                told.send(n).unwrap();
                Flow::Continue
            });
            let deep = deep.clone();
            let mut neighbour = Some(neighbour);
            let task = sponsor.handle().spawn(does(move |(), turn: &Turn<'_, ()>| {
                let neighbour = turn.spawn(neighbour.take().unwrap());
                (0..3).for_each(|n| turn.send(&neighbour, n).unwrap());
                (0..6).for_each(|_| turn.send(&deep, 0).unwrap());
                Flow::Stop
            }));
            task.unwrap().send(()).unwrap();
            for n in 0..3 {
                assert_eq!(wait(&heard), n);
            }
        }
    });
}

#[test]
fn a_door_whose_time_comes_while_its_sponsor_sleeps_is_passed_by_a_worker() {
    ends_alone(|| {
        silence_panics();
        let here = Here::new_here().unwrap();
        let nudge = here.spawn(does(|(), _: &Turn<'_, ()>| Flow::Continue));
        let (told, heard) = channel();
        let to = door(Passes(move |_| {
            told.send(in_turn()).unwrap();
            nudge.send(()).unwrap();
            fail()
        }));
        let sender = here.spawn(does(move |(), turn: &Turn<'_, ()>| {
            let _ = turn.send_after(Duration::from_millis(5), &to, 1);
            Flow::Continue
        }));
        sender.send(()).unwrap();
        let passed = std::cell::Cell::new(None);
        here.run_until(|| {
            passed.set(passed.get().or(heard.try_recv().ok()));
            passed.get().is_some()
        });
        assert_eq!(passed.get(), Some(true));
        let handle = here.handle();
        assert_eq!((handle.failures(), handle.dead_letters()), (1, 1));
    });
}

/// A door to a task on another node.
struct Far(u64);

impl Door for Far {
    type Message = u32;

    fn pass(&self, message: u32, _: &Address<u32>) -> Result<(), SendError<u32>> {
        Err(SendError(message))
    }

    fn stands_for(&self) -> Option<TaskId> {
        Some(TaskId::far(self.0))
    }

    fn origin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::new(self.0))
    }
}

#[test]
fn doors_to_one_far_task_have_equal_addresses() {
    ends_alone(|| {
        let [first, again, other] = [7, 7, 8].map(|number| door(Far(number)));
        assert_eq!(first, again);
        assert_ne!(first, other);
        assert_eq!(first.id(), TaskId::far(7));
        assert!(first.id().is_far());
        // No door or task of this process has such an identity.
        let here = door(Passes(|_| Ok(())));
        assert!([&first, &other].into_iter().all(|far| *far != here) && !here.id().is_far());
    });
}

#[test]
fn an_address_tells_what_its_door_was_made_from() {
    ends_alone(|| {
        let here = Here::new_here().unwrap();
        let origin = |address: &Address<u32>| address.origin()?.downcast_ref::<u64>().copied();
        let far = door(Far(7));
        assert_eq!(origin(&far), Some(7));
        // A large door is in a box.
        let large = door(Large(Far(8), [0; 1_000]));
        assert_eq!(origin(&large), Some(8));
        // Those that do not tell it, and tasks.
        assert_eq!(origin(&far.contramap(|number: u32| number)), None);
        assert_eq!(origin(&door(Passes(|_| Ok(())))), None);
        assert_eq!(origin(&here.spawn(does(|_: u32, _| Flow::Continue))), None);
    });
}

/// A door that is too large for a block of the pool.
struct Large(Far, [u64; 1_000]);

impl Door for Large {
    type Message = u32;

    fn pass(&self, message: u32, _: &Address<u32>) -> Result<(), SendError<u32>> {
        assert_eq!(self.1[0], 0);
        Err(SendError(message))
    }

    fn origin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.0.origin()
    }
}

#[test]
#[should_panic(expected = "the number of a far task has 63 bits")]
fn a_number_of_64_bits_is_no_far_task() {
    let _ = TaskId::far(1 << 63);
}
