//! Runs a stage as a task of the scheduler. Each message makes the stage check whether its next
//! step is due.

use garrick_sched::{Flow, Task, Turn};

use super::runner::{Env, Runner};
use super::{Clock, Stage};
use crate::post::Wake;
use crate::timer::Alarm;
use crate::wait::Verdict;

/// The task that runs a stage on a thread.
pub(crate) struct StageTask<S: Stage> {
    /// Runs the steps of the stage.
    runner: Runner<S>,
    /// True while a [`Wake::Again`] is in flight. During this time, other messages have no effect.
    queued: bool,
    /// Timer that sends [`Wake::Timer`].
    alarm: Alarm,
}

impl<S: Stage> StageTask<S> {
    pub(crate) fn new(stage: S, env: Env) -> Self {
        Self {
            runner: Runner::new(stage, env),
            // `Post::open` sends the first one.
            queued: true,
            alarm: Alarm::default(),
        }
    }

    /// Takes a step if one is due, and makes sure that the next step follows.
    fn go_on(&mut self, turn: &Turn<'_, Wake>) -> Flow {
        let is_due = self.runner.look(|| turn.now()) == Verdict::Due;
        if is_due && !self.runner.step(Clock::Turn(turn)) {
            return Flow::Stop;
        }
        self.rest_or_go_on(turn)
    }

    /// Sends a [`Wake::Again`] to the task itself if the next step is due. Otherwise lets the stage
    /// sleep.
    fn rest_or_go_on(&mut self, turn: &Turn<'_, Wake>) -> Flow {
        let now = || turn.now();
        let mut verdict = self.runner.look(now);
        if matches!(verdict, Verdict::NotYet(_)) {
            self.runner.arm();
            // Check again: if another end moved before the stage was registered, it has not woken
            // the stage.
            verdict = self.runner.look(now);
        }
        let Some(env) = self.runner.env() else {
            return Flow::Stop;
        };
        env.post.settle(env.id, verdict != Verdict::Due);
        match verdict {
            Verdict::Due => {
                env.work.stepped(now);
                self.queued = turn.send(&turn.address(), Wake::Again).is_ok();
            }
            Verdict::NotYet(earliest) => {
                self.runner.rested(now);
                if let Some(earliest) = earliest {
                    self.alarm.set(earliest, turn);
                }
            }
            Verdict::Done => {
                self.runner.is_done(now);
                return Flow::Stop;
            }
        }
        Flow::Continue
    }
}

impl<S: Stage> Task for StageTask<S> {
    type Message = Wake;

    fn receive(&mut self, wake: Wake, turn: &Turn<'_, Wake>) -> Flow {
        match wake {
            Wake::Again => self.queued = false,
            Wake::Note | Wake::Ring => {}
            Wake::Timer => self.alarm.rang(),
            Wake::Tell => {
                self.runner.tell(|| turn.now());
                return Flow::Continue;
            }
            #[cfg(feature = "sim")]
            Wake::Panic => {
                if let Some(env) = self.runner.env() {
                    env.desk.choose_fault();
                }
                return Flow::Continue;
            }
        }
        if self.queued {
            return Flow::Continue;
        }
        let flow = self.go_on(turn);
        if flow == Flow::Stop {
            self.alarm.cancel();
        }
        flow
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, OnceLock};
    use std::task::{Wake as Waking, Waker};
    use std::thread::{self, Thread};
    use std::time::Duration;

    use garrick_sched::{Address, Driver, Drivers, Handle, Sponsor};
    use garrick_testkit::ByHand;

    use super::*;
    use crate::graph::{AnyStage, Graph, Opened};
    use crate::{Cx, Wait};

    const LONG: Duration = Duration::from_secs(3_600);

    /// A stage that counts the messages of its timers.
    struct Counted {
        task: StageTask<AnyStage>,
        timers: Arc<AtomicU64>,
    }

    impl Task for Counted {
        type Message = Wake;

        fn receive(&mut self, wake: Wake, turn: &Turn<'_, Wake>) -> Flow {
            self.timers
                .fetch_add(u64::from(wake == Wake::Timer), Relaxed);
            self.task.receive(wake, turn)
        }
    }

    /// Starts `graph`, which has one stage, on the thread pool (sponsor) of `handle`. Returns the
    /// state of the graph, and the number of messages that timers have sent to the stage.
    fn start(graph: Graph, handle: &Handle) -> (Opened, Arc<AtomicU64>) {
        let (opened, stages) = Opened::by_hand(graph).unwrap();
        let timers = Arc::<AtomicU64>::default();
        let spawn = |(stage, env)| {
            let task = StageTask::new(stage, env);
            let timers = Arc::clone(&timers);
            handle.spawn(Counted { task, timers }).unwrap()
        };
        let addresses: Vec<Address<Wake>> = stages.into_iter().map(spawn).collect();
        opened.post.open(addresses);
        (opened, timers)
    }

    #[test]
    fn a_stage_that_waits_for_short_and_long_times_has_one_timer() {
        const ROUNDS: u64 = 1_000;
        let clock = ByHand::new();
        let here = Sponsor::builder().world(clock.clone()).here().unwrap();
        let mut graph = Graph::new();
        let (mut tx, mut rx) = graph.channel::<u64>(4).unwrap();
        let mut is_long = true;
        graph.stage("waits", move |_: &mut Cx<'_>| {
            rx.pop_each(4, drop);
            is_long = !is_long;
            match is_long {
                true => Wait::readable(&rx, 1).or(Wait::timer(LONG)),
                false => Wait::timer(Duration::from_micros(100)),
            }
        });
        let (opened, timers) = start(graph, &here.handle());
        here.run();
        for round in 1..=ROUNDS {
            clock.advance(Duration::from_micros(200));
            here.run();
            assert_eq!(timers.load(Relaxed), round, "the short time is over");
            tx.try_push(round).unwrap();
            here.run();
        }
        let steps = opened.monitor.sample().stages[0].steps;
        assert_eq!(steps, 2 * ROUNDS + 1);
        // All timers that were set by now fire.
        clock.advance(2 * LONG);
        here.run();
        assert_eq!(timers.load(Relaxed) - ROUNDS, 1);
    }

    /// A driver that parks its thread, and sends the time limit of each sleep.
    struct Parks {
        thread: Arc<OnceLock<Thread>>,
        limits: Sender<Option<Duration>>,
    }

    struct Unparks(Arc<OnceLock<Thread>>);

    impl Waking for Unparks {
        fn wake(self: Arc<Self>) {
            self.0.get().map(Thread::unpark);
        }
    }

    impl Driver for Parks {
        fn waker(&self) -> Waker {
            Arc::new(Unparks(Arc::clone(&self.thread))).into()
        }

        fn surround(&self, life: &mut dyn FnMut()) {
            let _ = self.thread.set(thread::current());
            life();
        }

        fn park(&self, limit: Option<Duration>) {
            let _ = self.limits.send(limit);
            match limit {
                Some(limit) => thread::park_timeout(limit),
                None => thread::park(),
            }
        }

        fn poll(&self) {}
    }
    /// Creates the only driver of a thread pool (sponsor) with one worker. The driver waits when
    /// the worker has nothing to do.
    struct One(Sender<Option<Duration>>);

    impl Drivers for One {
        fn driver(&self, _: usize) -> io::Result<Box<dyn Driver>> {
            Ok(Box::new(Parks {
                thread: Arc::default(),
                limits: self.0.clone(),
            }))
        }
    }

    /// Waits until the thread goes to sleep. If `has_limit` is true, the sleep must have a time
    /// limit. Otherwise, it must have none.
    #[track_caller]
    fn sleeps(limits: &Receiver<Option<Duration>>, has_limit: bool) {
        let soon = Duration::from_secs(30);
        while limits.recv_timeout(soon).unwrap().is_some() != has_limit {}
    }

    #[test]
    fn a_stage_that_has_ended_has_no_timer() {
        let (to, limits) = channel();
        let sponsor = Sponsor::builder().workers(1).driver(One(to)).start();
        let sponsor = sponsor.unwrap();
        let mut graph = Graph::new();
        let (mut tx, mut rx) = graph.channel::<u64>(4).unwrap();
        graph.stage("waits", move |_: &mut Cx<'_>| match rx.try_pop() {
            Some(_) => Wait::done(),
            None => Wait::readable(&rx, 1).or(Wait::timer(LONG)),
        });
        let (_opened, _) = start(graph, &sponsor.handle());
        sleeps(&limits, true);
        tx.try_push(1).unwrap();
        sleeps(&limits, false);
    }
}
