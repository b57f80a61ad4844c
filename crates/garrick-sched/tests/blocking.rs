//! Tests of turns that block. Meanwhile, other tasks run, and all effects of the turn still take
//! place together.
#![forbid(unsafe_code)]

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use garrick_sched::{
    Address, Ending, Flow, Here, Nanos, NoReply, RealWorld, Reply, Sponsor, StartError, Task,
    ThreadSpec, Turn, World,
};
use garrick_testkit::{HANGS_AFTER, ends, wait};

/// A function to run in a turn.
type Deed = Box<dyn FnOnce(&Turn<'_, Deed2>) -> Flow + Send>;

/// A message that contains a function to run.
struct Deed2(Deed);

fn deed(deed: impl FnOnce(&Turn<'_, Deed2>) -> Flow + Send + 'static) -> Deed2 {
    Deed2(Box::new(deed))
}

/// A task that runs the functions that it receives.
struct Doer;

impl Task for Doer {
    type Message = Deed2;

    fn receive(&mut self, Deed2(deed): Deed2, turn: &Turn<'_, Deed2>) -> Flow {
        deed(turn)
    }
}

/// A task that reports the numbers that it receives.
struct Teller(Sender<u32>);

impl Task for Teller {
    type Message = u32;

    fn receive(&mut self, number: u32, _: &Turn<'_, u32>) -> Flow {
        let _ = self.0.send(number);
        Flow::Continue
    }
}

/// A task that reports that it has started.
struct Starter(Sender<u32>);

impl Task for Starter {
    type Message = u32;
    const STARTS: bool = true;

    fn start(&mut self, _: &Turn<'_, u32>) -> Flow {
        let _ = self.0.send(1_000);
        Flow::Continue
    }

    fn receive(&mut self, number: u32, _: &Turn<'_, u32>) -> Flow {
        let _ = self.0.send(number);
        Flow::Continue
    }
}

fn teller(sponsor: &Sponsor) -> (Address<u32>, Receiver<u32>) {
    let (tell, told) = channel();
    (sponsor.handle().spawn(Teller(tell)).unwrap(), told)
}

fn next(told: &Receiver<u32>) -> u32 {
    told.recv_timeout(HANGS_AFTER).expect("it is told soon")
}

#[test]
fn others_run_on_the_only_worker_while_a_turn_blocks() {
    let sponsor = Sponsor::pool(1).unwrap();
    let (teller, told) = teller(&sponsor);
    let doer = sponsor.handle().spawn(Doer).unwrap();
    let (go, wait) = channel::<()>();
    let (began, begun) = channel();
    let ended = doer.ask(|reply: Reply<u32>| {
        deed(move |turn| {
            let heard = turn.blocking(move || {
                began.send(()).unwrap();
                wait.recv_timeout(HANGS_AFTER).is_ok()
            });
            reply.send(u32::from(heard));
            Flow::Continue
        })
    });
    begun.recv_timeout(HANGS_AFTER).unwrap();
    for number in 0..100 {
        teller.send(number).unwrap();
        assert_eq!(next(&told), number);
    }
    go.send(()).unwrap();
    assert_eq!(ended.wait(), Ok(1));
    sponsor.shutdown();
}

#[test]
fn what_a_turn_sends_before_and_after_it_blocks_comes_in_order_and_not_before_it_commits() {
    let sponsor = Sponsor::pool(1).unwrap();
    let (teller, told) = teller(&sponsor);
    let doer = sponsor.handle().spawn(Doer).unwrap();
    let early = Arc::new(AtomicUsize::new(0));
    let (to, seen) = (teller.clone(), early.clone());
    let told = Arc::new(Mutex::new(told));
    let heard = told.clone();
    let made = doer.ask(|reply: Reply<u32>| {
        deed(move |turn| {
            // The first message goes to the teller's entry, the others to its mailbox.
            (1..=5).for_each(|number| turn.send(&to, number).unwrap());
            turn.blocking(|| {
                // A stranger's message is handled meanwhile, before the messages of the turn.
                to.send(100).unwrap();
                let heard = heard.lock().unwrap();
                assert_eq!(next(&heard), 100);
                seen.fetch_add(heard.try_iter().count(), SeqCst);
            });
            (6..=9).for_each(|number| turn.send(&to, number).unwrap());
            turn.blocking(|| ());
            (10..=12).for_each(|number| turn.send(&to, number).unwrap());
            reply.send(0);
            Flow::Continue
        })
    });
    assert_eq!(made.wait(), Ok(0));
    teller.send(13).unwrap();
    let told = told.lock().unwrap();
    let numbers: Vec<_> = (1..=13).map(|_| next(&told)).collect();
    assert_eq!(numbers, (1..=13).collect::<Vec<_>>());
    assert_eq!(early.load(SeqCst), 0, "handled before the turn committed");
    sponsor.shutdown();
}

#[test]
fn a_turn_that_has_blocked_is_undone_wholly() {
    for end in [0, 1, 2] {
        let sponsor = Sponsor::builder().on_failure(|_| ()).start().unwrap();
        let (teller, told) = teller(&sponsor);
        let (start, started) = channel();
        let doer = sponsor.handle().spawn(Doer).unwrap();
        let (to, me) = (teller.clone(), doer.clone());
        let ask = doer.ask(|reply: Reply<u32>| {
            deed(move |turn| {
                turn.send(&to, 1).unwrap();
                turn.send(&to, 2).unwrap();
                turn.send_after(Duration::ZERO, &to, 3).unwrap();
                let newborn = turn.spawn(Starter(start.clone()));
                turn.send(&newborn, 4).unwrap();
                let second = turn.spawn(Starter(start.clone()));
                let own = to.clone();
                turn.send(
                    &me,
                    deed(move |turn| turn.send(&own, 5).map_or(Flow::Stop, |()| Flow::Continue)),
                )
                .unwrap();
                reply.send(1);
                turn.blocking(|| assert!(end != 1, "on purpose, while it blocks"));
                turn.send(&second, 6).unwrap();
                turn.send(&to, 7).unwrap();
                assert!(end != 2, "on purpose, when it has come back");
                Flow::Undo
            })
        });
        assert_eq!(ask.wait(), Err(NoReply::Dropped));
        teller.send(8).unwrap();
        assert_eq!(next(&told), 8);
        sponsor.shutdown();
        assert_eq!(told.try_iter().count(), 0);
        assert_eq!(started.try_iter().count(), 0);
    }
}

#[test]
fn what_a_turn_makes_before_it_blocks_starts_when_it_commits() {
    let sponsor = Sponsor::pool(1).unwrap();
    let doer = sponsor.handle().spawn(Doer).unwrap();
    let (tell, told) = channel();
    let (before, heard) = channel();
    doer.send(deed(move |turn| {
        let first = turn.spawn(Starter(tell.clone()));
        let second = turn.spawn(Starter(tell.clone()));
        turn.send(&second, 1).unwrap();
        // Nobody ever sends to this task.
        drop(turn.spawn(Starter(tell.clone())));
        turn.blocking(thread::yield_now);
        before.send(()).unwrap();
        turn.send(&first, 2).unwrap();
        turn.send(&second, 3).unwrap();
        Flow::Continue
    }))
    .unwrap();
    heard.recv_timeout(HANGS_AFTER).unwrap();
    let mut numbers: Vec<_> = (0..6).map(|_| next(&told)).collect();
    let at = |number| numbers.iter().position(|&told| told == number);
    assert!(at(1) < at(3), "{numbers:?}");
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 1_000, 1_000, 1_000]);
    sponsor.shutdown();
}

#[test]
fn what_comes_for_the_task_meanwhile_waits_and_is_handled() {
    let sponsor = Sponsor::pool(1).unwrap();
    let doer = sponsor.handle().spawn(Doer).unwrap();
    let sender = sponsor.handle().spawn(Doer).unwrap();
    let (tell, told) = channel();
    let busy = Arc::new(AtomicBool::new(false));
    let (me, flag, other) = (doer.clone(), busy.clone(), sender.clone());
    doer.send(deed(move |turn| {
        flag.store(true, SeqCst);
        turn.blocking(|| {
            // From another worker, and from the same worker.
            for number in 0..3 {
                let (tell, flag) = (tell.clone(), flag.clone());
                me.send(deed(move |_| {
                    tell.send((number, flag.load(SeqCst))).unwrap();
                    Flow::Continue
                }))
                .unwrap();
            }
            let (me, tell, flag) = (me.clone(), tell.clone(), flag.clone());
            let sent = other.ask(|reply: Reply<()>| {
                deed(move |turn| {
                    let late = deed(move |_| {
                        tell.send((3, flag.load(SeqCst))).unwrap();
                        Flow::Continue
                    });
                    turn.send(&me, late).unwrap();
                    reply.send(());
                    Flow::Continue
                })
            });
            sent.wait().unwrap();
        });
        flag.store(false, SeqCst);
        Flow::Continue
    }))
    .unwrap();
    for number in 0..4 {
        assert_eq!(told.recv_timeout(HANGS_AFTER), Ok((number, false)));
    }
    drop((doer, sender));
    sponsor.shutdown();
}

#[test]
fn a_task_that_nobody_can_reach_any_more_finishes_its_turn() {
    let sponsor = Sponsor::pool(1).unwrap();
    let (teller, told) = teller(&sponsor);
    let doer = sponsor.handle().spawn(Doer).unwrap();
    let (drops, dropped) = channel::<()>();
    let to = teller.clone();
    doer.send(deed(move |turn| {
        turn.blocking(move || dropped.recv_timeout(HANGS_AFTER).unwrap());
        turn.send(&to, 1).unwrap();
        Flow::Continue
    }))
    .unwrap();
    let (ended, end) = channel();
    doer.watch(move |how| ended.send(how).unwrap());
    drop(doer);
    drops.send(()).unwrap();
    assert_eq!(next(&told), 1);
    assert_eq!(
        end.recv_timeout(HANGS_AFTER),
        Ok(garrick_sched::Ended::Unreachable)
    );
    sponsor.shutdown();
}

#[test]
fn as_many_block_at_once_as_there_are_threads_for() {
    const BLOCKERS: usize = 8;
    let sponsor = Sponsor::builder()
        .blocking_threads(BLOCKERS)
        .start()
        .unwrap();
    let all = Arc::new(Barrier::new(BLOCKERS + 1));
    for _ in 0..BLOCKERS {
        let all = all.clone();
        let doer = sponsor.handle().spawn(Doer).unwrap();
        doer.send(deed(move |turn| {
            turn.blocking(|| all.wait());
            Flow::Stop
        }))
        .unwrap();
    }
    // Another task still runs.
    let (teller, told) = teller(&sponsor);
    teller.send(1).unwrap();
    assert_eq!(next(&told), 1);
    all.wait();
    assert_eq!(sponsor.shutdown_within(HANGS_AFTER), Some(Ending::InOrder));
}

#[test]
fn one_more_keeps_its_worker_and_nothing_is_lost() {
    for threads in [0, 1, 2] {
        let sponsor = Sponsor::builder()
            .workers(2)
            .blocking_threads(threads)
            .start()
            .unwrap();
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..50 {
            let done = done.clone();
            let doer = sponsor.handle().spawn(Doer).unwrap();
            for _ in 0..4 {
                let done = done.clone();
                doer.send(deed(move |turn| {
                    turn.blocking(thread::yield_now);
                    done.fetch_add(1, SeqCst);
                    Flow::Continue
                }))
                .unwrap();
            }
        }
        sponsor.shutdown();
        assert_eq!(done.load(SeqCst), 200);
    }
}

#[test]
fn a_sponsor_waits_for_a_turn_that_blocks() {
    for now in [false, true] {
        let sponsor = Sponsor::pool(2).unwrap();
        let (teller, told) = teller(&sponsor);
        let doer = sponsor.handle().spawn(Doer).unwrap();
        let (go, wait) = channel::<()>();
        let (began, begun) = channel();
        let to = teller.clone();
        doer.send(deed(move |turn| {
            turn.send(&to, 1).unwrap();
            turn.blocking(move || {
                began.send(()).unwrap();
                wait.recv_timeout(HANGS_AFTER).unwrap();
            });
            turn.send(&to, 2).unwrap();
            Flow::Continue
        }))
        .unwrap();
        begun.recv_timeout(HANGS_AFTER).unwrap();
        if now {
            sponsor.begin_shutdown_now();
        } else {
            sponsor.begin_shutdown();
        }
        let handle = sponsor.handle();
        go.send(()).unwrap();
        drop((teller, doer, sponsor));
        let numbers: Vec<_> = told.iter().collect();
        if now {
            // The message is a dead letter, or was handled.
            assert_eq!(numbers.len() as u64 + handle.dead_letters(), 2);
        } else {
            assert_eq!(numbers, [1, 2]);
        }
    }
}

#[test]
fn a_question_may_be_waited_for_where_a_turn_blocks() {
    let sponsor = Sponsor::pool(1).unwrap();
    let doer = sponsor.handle().spawn(Doer).unwrap();
    let other = sponsor.handle().spawn(Doer).unwrap();
    let answer = doer.ask(|reply: Reply<u32>| {
        deed(move |turn| {
            let heard = turn.blocking(|| {
                let asked = other.ask(|reply: Reply<u32>| {
                    deed(move |_| {
                        reply.send(21);
                        Flow::Continue
                    })
                });
                let called = other.call(|reply: Reply<u32>| {
                    deed(move |_| {
                        reply.send(21);
                        Flow::Continue
                    })
                });
                asked.wait().unwrap() + called.wait().unwrap()
            });
            reply.send(heard);
            Flow::Continue
        })
    });
    assert_eq!(answer.wait(), Ok(42));
    sponsor.shutdown();
}

#[test]
fn a_thread_that_calls_may_run_a_turn_that_blocks() {
    let sponsor = Sponsor::pool(1).unwrap();
    let doer = sponsor.handle().spawn(Doer).unwrap();
    for number in 0..300 {
        let answer = doer.call(|reply: Reply<u32>| {
            deed(move |turn| {
                let number = turn.blocking(|| number);
                reply.send(number);
                Flow::Continue
            })
        });
        assert_eq!(answer.wait(), Ok(number));
    }
    sponsor.shutdown();
}

#[test]
fn on_a_thread_of_its_own_and_with_pinned_workers_a_turn_blocks_where_it_is() {
    let here = Here::new_here().unwrap();
    let doer = here.spawn(Doer);
    let answer = doer.ask(|reply: Reply<thread::ThreadId>| {
        deed(move |turn| {
            reply.send(turn.blocking(|| thread::current().id()));
            Flow::Continue
        })
    });
    assert_eq!(here.block_on(answer), Ok(thread::current().id()));

    let sponsor = Sponsor::builder().pin_to([0]).start().unwrap();
    let doer = sponsor.handle().spawn(Doer).unwrap();
    let answer = doer.ask(|reply: Reply<u32>| {
        deed(move |turn| {
            reply.send(turn.blocking(|| 1));
            Flow::Continue
        })
    });
    assert_eq!(answer.wait(), Ok(1));
    sponsor.shutdown();
}

#[test]
fn too_many_threads_for_turns_that_block_are_refused() {
    let error = Sponsor::builder()
        .blocking_threads(4_097)
        .start()
        .unwrap_err();
    assert!(matches!(
        error,
        StartError::TooManyBlockingThreads { asked: 4_097 }
    ));
    assert_eq!(
        error.to_string(),
        "cannot use 4097 blocking threads: a sponsor can have at most 4096"
    );
}

#[test]
fn a_turn_comes_back_to_a_worker_that_is_always_busy() {
    /// A task that sends to itself until its flag is set.
    struct Busy(Arc<AtomicBool>);

    impl Task for Busy {
        type Message = ();

        fn receive(&mut self, (): (), turn: &Turn<'_, ()>) -> Flow {
            if !self.0.load(SeqCst) {
                turn.send(&turn.address(), ()).unwrap();
            }
            Flow::Continue
        }
    }

    let sponsor = Sponsor::pool(1).unwrap();
    let enough = Arc::new(AtomicBool::new(false));
    let busy = sponsor.handle().spawn(Busy(enough.clone())).unwrap();
    // A task that works off a mailbox, and a task that is run for single messages.
    for _ in 0..1_000 {
        busy.send(()).unwrap();
    }
    sponsor
        .handle()
        .spawn(Busy(enough.clone()))
        .unwrap()
        .send(())
        .unwrap();
    let doer = sponsor.handle().spawn(Doer).unwrap();
    for _ in 0..20 {
        let came = doer.ask(|reply: Reply<()>| {
            deed(move |turn| {
                turn.blocking(thread::yield_now);
                reply.send(());
                Flow::Continue
            })
        });
        assert_eq!(came.wait_timeout(HANGS_AFTER), Ok(()));
    }
    enough.store(true, SeqCst);
    sponsor.shutdown();
}

#[test]
fn a_turn_is_undone_though_something_came_while_it_blocked() {
    for fails in [false, true] {
        for blocks in 1..=3 {
            let sponsor = Sponsor::builder().on_failure(|_| ()).start().unwrap();
            let doer = sponsor.handle().spawn(Doer).unwrap();
            let (tell, told) = channel();
            let (me, done) = (doer.clone(), tell.clone());
            let other = sponsor.handle().spawn(Doer).unwrap();
            doer.send(deed(move |turn| {
                for number in 0..blocks {
                    turn.blocking(|| {
                        let done = done.clone();
                        me.send(deed(move |_| {
                            done.send(number).unwrap();
                            Flow::Continue
                        }))
                        .unwrap();
                        // The sitter has taken earlier messages when another task answers.
                        let asked = other.ask(|reply: Reply<()>| {
                            deed(move |_| {
                                reply.send(());
                                Flow::Continue
                            })
                        });
                        asked.wait().unwrap();
                    });
                }
                drop(tell);
                assert!(!fails, "on purpose");
                Flow::Undo
            }))
            .unwrap();
            drop(doer);
            sponsor.shutdown();
            let expected: Vec<_> = if fails {
                Vec::new()
            } else {
                (0..blocks).collect()
            };
            assert_eq!(told.iter().collect::<Vec<_>>(), expected);
        }
    }
}

/// A task that blocks at each message until it is released.
struct Blocker {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    go: Arc<Mutex<Receiver<()>>>,
    done: Sender<u32>,
}

impl Task for Blocker {
    type Message = u32;
    const BLOCKS: bool = true;

    fn receive(&mut self, number: u32, turn: &Turn<'_, u32>) -> Flow {
        turn.blocking(|| {
            let now = 1 + self.now.fetch_add(1, SeqCst);
            self.most.fetch_max(now, SeqCst);
            let _ = self.go.lock().unwrap().recv_timeout(HANGS_AFTER);
            self.now.fetch_sub(1, SeqCst);
        });
        let _ = self.done.send(number);
        Flow::Continue
    }
}

/// Makes `count` tasks that block, each with two messages. Returns a counter, a sender that
/// releases the tasks, and a receiver of their reports.
fn blockers(sponsor: &Sponsor, count: usize) -> (Arc<AtomicUsize>, Sender<()>, Receiver<u32>) {
    let (go, wait) = channel();
    let (done, told) = channel();
    let (wait, most) = (Arc::new(Mutex::new(wait)), Arc::new(AtomicUsize::new(0)));
    let now = Arc::new(AtomicUsize::new(0));
    for _ in 0..count {
        let blocker = Blocker {
            now: now.clone(),
            most: most.clone(),
            go: wait.clone(),
            done: done.clone(),
        };
        let blocker = sponsor.handle().spawn(blocker).unwrap();
        blocker.send(1).unwrap();
        blocker.send(2).unwrap();
    }
    (most, go, told)
}

#[test]
fn tasks_that_say_that_they_block_wait_without_a_worker() {
    for workers in [1, 2] {
        let sponsor = Sponsor::builder()
            .workers(workers)
            .blocking_threads(3)
            .start()
            .unwrap();
        let (most, go, done) = blockers(&sponsor, 20);
        // Other tasks run while three of them block, and the rest wait for those three.
        let (teller, told) = teller(&sponsor);
        for number in 0..200 {
            teller.send(number).unwrap();
            assert_eq!(next(&told), number);
        }
        assert!(done.try_recv().is_err(), "nobody was let go");
        (0..40).for_each(|_| go.send(()).unwrap());
        let mut heard: Vec<_> = (0..40).map(|_| next(&done)).collect();
        heard.sort_unstable();
        assert_eq!(heard, [[1; 20], [2; 20]].concat());
        assert!(most.load(SeqCst) <= 3);
        sponsor.shutdown();
    }
}

#[test]
fn an_end_in_order_waits_for_those_who_wait_to_block_and_one_at_once_does_not() {
    for now in [false, true] {
        let sponsor = Sponsor::builder()
            .workers(2)
            .blocking_threads(1)
            .start()
            .unwrap();
        let (_, go, done) = blockers(&sponsor, 10);
        let handle = sponsor.handle();
        if now {
            sponsor.begin_shutdown_now();
        } else {
            sponsor.begin_shutdown();
        }
        (0..20).for_each(|_| {
            // Nobody waits any more if all are gone.
            let _ = go.send(());
        });
        drop(sponsor);
        let handled = done.iter().count() as u64;
        assert_eq!(handled + handle.dead_letters(), 20);
        assert!(now || handled == 20, "{handled}");
    }
}

/// A task that never answers, and reports each question.
struct Keeper(Vec<Reply<u32>>, Sender<()>);

impl Task for Keeper {
    type Message = Reply<u32>;

    fn receive(&mut self, reply: Reply<u32>, _: &Turn<'_, Reply<u32>>) -> Flow {
        self.0.push(reply);
        let _ = self.1.send(());
        Flow::Continue
    }
}

#[test]
fn a_sponsor_ends_although_a_turn_waits_for_an_answer_on_its_own_worker() {
    ends(|| {
        let sponsor = Sponsor::pool(1).unwrap();
        let (kept, keeps) = channel();
        let keeper = sponsor.handle().spawn(Keeper(Vec::new(), kept)).unwrap();
        let doer = sponsor.handle().spawn(Doer).unwrap();
        let (told, answer) = channel();
        doer.send(deed(move |turn| {
            turn.blocking(|| told.send(keeper.ask(|reply| reply).wait()).unwrap());
            Flow::Continue
        }))
        .unwrap();
        wait(&keeps);
        sponsor.shutdown_now();
        assert_eq!(answer.try_recv(), Ok(Err(NoReply::Dropped)));
    });
}

#[test]
fn a_sponsor_ends_although_a_turn_has_just_asked_a_task_of_its_own_worker() {
    ends(|| {
        // The question is often still on its way when the shutdown begins.
        for round in 0..400 {
            let sponsor = Sponsor::pool(1 + round % 2).unwrap();
            let keeper = sponsor.handle().spawn(Keeper(Vec::new(), channel().0));
            let (keeper, doer) = (keeper.unwrap(), sponsor.handle().spawn(Doer).unwrap());
            let has_asked = Arc::new(AtomicBool::new(false));
            let (told, answer) = channel();
            let asks = has_asked.clone();
            doer.send(deed(move |turn| {
                turn.blocking(|| {
                    let ask = keeper.ask(|reply| reply);
                    asks.store(true, SeqCst);
                    told.send(ask.wait()).unwrap();
                });
                Flow::Continue
            }))
            .unwrap();
            while !has_asked.load(SeqCst) {
                thread::yield_now();
            }
            sponsor.shutdown_now();
            assert_eq!(answer.try_recv(), Ok(Err(NoReply::Dropped)));
        }
    });
}

/// A world that cannot start the first spare thread. It reports the attempt, and fails when it is
/// told to. It records the names of the spare threads that it has started.
struct Poor {
    real: Arc<dyn World>,
    first: Mutex<Option<(Sender<()>, Receiver<()>)>>,
    started: Arc<Mutex<Vec<String>>>,
}

impl World for Poor {
    fn now(&self) -> Nanos {
        self.real.now()
    }

    fn seed(&self) -> u64 {
        self.real.seed()
    }

    fn spawn_thread(
        &self,
        spec: ThreadSpec,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<thread::JoinHandle<()>> {
        let is_spare = spec.name.contains("-spare-");
        let first = is_spare.then(|| self.first.lock().unwrap().take());
        if let Some((tries, fails)) = first.flatten() {
            tries.send(()).unwrap();
            fails.recv_timeout(HANGS_AFTER).unwrap();
            return Err(io::Error::other("no more threads"));
        }
        if is_spare {
            self.started.lock().unwrap().push(spec.name.clone());
        }
        self.real.spawn_thread(spec, body)
    }
}

#[test]
fn a_spare_thread_that_fails_to_start_leaves_its_number_to_the_next() {
    ends(|| {
        let ((tries, tried), (fail, fails)) = (channel(), channel());
        let started = Arc::new(Mutex::new(Vec::new()));
        let world = Poor {
            real: RealWorld::shared(),
            first: Mutex::new(Some((tries, fails))),
            started: started.clone(),
        };
        let sponsor = Sponsor::builder()
            .workers(2)
            .world(Arc::new(world))
            .start()
            .unwrap();
        let (began, begun) = channel();
        let block = |doer: &Address<Deed2>, number: u32| {
            let (go, goes) = channel::<()>();
            let began = began.clone();
            let blocks = deed(move |turn| {
                turn.blocking(move || {
                    began.send(number).unwrap();
                    goes.recv_timeout(HANGS_AFTER).unwrap();
                });
                Flow::Stop
            });
            doer.send(blocks).ok().unwrap();
            go
        };
        let first = block(&sponsor.handle().spawn(Doer).unwrap(), 1);
        tried.recv_timeout(HANGS_AFTER).unwrap();
        // The other worker runs some of these tasks.
        let (makes, made) = channel();
        for _ in 0..4 {
            let makes = makes.clone();
            let make = deed(move |turn: &Turn<'_, Deed2>| {
                let _ = makes.send([turn.spawn(Doer), turn.spawn(Doer)]);
                Flow::Continue
            });
            sponsor
                .handle()
                .spawn(Doer)
                .unwrap()
                .send(make)
                .ok()
                .unwrap();
        }
        let [doer, other] = made.recv_timeout(HANGS_AFTER).unwrap();
        // While the first spare thread is about to be started, the second one is started.
        let second = block(&doer, 2);
        assert_eq!(begun.recv_timeout(HANGS_AFTER), Ok(2));
        fail.send(()).unwrap();
        assert_eq!(begun.recv_timeout(HANGS_AFTER), Ok(1));
        let third = block(&other, 3);
        assert_eq!(begun.recv_timeout(HANGS_AFTER), Ok(3));
        for go in [first, second, third] {
            go.send(()).unwrap();
        }
        sponsor.shutdown();
        let started = started.lock().unwrap();
        assert_eq!(started.len(), 2);
        assert_ne!(
            started[0], started[1],
            "each thread has a number of its own"
        );
    });
}
