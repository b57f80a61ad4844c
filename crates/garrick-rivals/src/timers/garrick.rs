//! Sleepers that are actors of Garrick. A sleeper sleeps repeatedly, and measures by how much each
//! sleep was too long.

use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use garrick::tokio::Tokio;
use garrick::{Actor, Address, Context, Incoming, Next, System};

use super::{CROWD, FLOOD, Load, Plan, work};

/// Starts a system with one worker. The worker sleeps without tokio's driver.
fn ordinary() -> System {
    let system = System::builder().workers(1).start();
    system.expect("the system can start a thread")
}

/// Starts a system with one worker. The worker sleeps in tokio's driver.
fn in_driver() -> System {
    let system = System::builder().workers(1).driver(Tokio::new()).start();
    system.expect("the system can start a thread and its driver")
}

/// Sleeps as many times as planned, and returns the lateness of each sleep.
async fn sleep<S: Future<Output = ()>>(plan: Plan, sleep: impl Fn(Duration) -> S) -> Vec<Duration> {
    let mut late = Vec::with_capacity(plan.sleeps);
    for _ in 0..plan.sleeps {
        let began = Instant::now();
        sleep(plan.delay).await;
        late.push(lateness(plan, began));
    }
    late
}

/// Returns the lateness of a sleep that began at `began`.
pub(super) fn lateness(plan: Plan, began: Instant) -> Duration {
    let late = began.elapsed().checked_sub(plan.delay);
    late.expect("no sleep ends early")
}

pub(super) fn async_actor(plan: Plan) -> Vec<Duration> {
    own_sleeps(&ordinary(), plan)
}

pub(super) fn driven(plan: Plan) -> Vec<Duration> {
    own_sleeps(&in_driver(), plan)
}

fn own_sleeps(system: &System, plan: Plan) -> Vec<Duration> {
    run(system, plan, |told| {
        drop(system.spawn(move |mailbox: Incoming<()>| async move {
            let cx = mailbox.context();
            tell(&told, sleep(plan, |delay| cx.sleep(delay)).await);
        }));
    })
}

pub(super) fn driven_by_tokio_s_time(plan: Plan) -> Vec<Duration> {
    let system = in_driver();
    run(&system, plan, |told| {
        drop(system.spawn(move |_: Incoming<()>| async move {
            tell(&told, sleep(plan, tokio::time::sleep).await);
        }));
    })
}

pub(super) fn send_after(plan: Plan) -> Vec<Duration> {
    let system = ordinary();
    run(&system, plan, |told| {
        let sleeper = system.spawn(Sleeper {
            plan,
            late: Vec::with_capacity(plan.sleeps),
            told,
        });
        drop(sleeper);
    })
}

fn tell(told: &Sender<Vec<Duration>>, late: Vec<Duration>) {
    told.send(late).expect("the receiver has not been dropped");
}

/// Starts the additional load of the plan, and calls `begin`, which starts a sleeper. Returns the
/// sleeper's report.
fn run(system: &System, plan: Plan, begin: impl FnOnce(Sender<Vec<Duration>>)) -> Vec<Duration> {
    let (told, heard) = mpsc::channel();
    match plan.load {
        Load::Idle => {}
        Load::Crowded => (0..CROWD).for_each(|_| drop(system.spawn(Busy))),
        Load::Flooded => {
            let flooded = system.spawn(Flooded { left: 0 });
            let flooded = flooded.expect("the system is not ending");
            flooded.send(()).expect("it has not stopped");
        }
    }
    begin(told);
    heard.recv().expect("the sleeper reports before it stops")
}

/// A sleeper that wakes itself by delayed messages.
struct Sleeper {
    plan: Plan,
    late: Vec<Duration>,
    told: Sender<Vec<Duration>>,
}

impl Sleeper {
    fn sleep(&self, cx: &Context<'_, Instant>) {
        let sent = cx.send_after(self.plan.delay, &cx.address(), Instant::now());
        sent.expect("it has not stopped");
    }
}

impl Actor for Sleeper {
    type Msg = Instant;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, Instant>) -> Next {
        self.sleep(cx);
        Next::Continue
    }

    fn receive(&mut self, began: Instant, cx: &mut Context<'_, Instant>) -> Next {
        self.late.push(lateness(self.plan, began));
        if self.late.len() < self.plan.sleeps {
            self.sleep(cx);
            return Next::Continue;
        }
        tell(&self.told, std::mem::take(&mut self.late));
        Next::Stop
    }
}

/// One of many busy actors. In each turn, it works, and sends itself the next message.
struct Busy;

impl Actor for Busy {
    type Msg = ();
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, ()>) -> Next {
        self.receive((), cx)
    }

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) -> Next {
        work();
        cx.send(&cx.address(), ()).expect("it has not stopped");
        Next::Continue
    }
}

/// An actor whose mailbox is never empty.
struct Flooded {
    /// Number of unhandled messages from the latest flood.
    left: usize,
}

impl Flooded {
    fn flood(to: &Address<()>, cx: &Context<'_, ()>) {
        (0..FLOOD).for_each(|_| cx.send(to, ()).expect("it has not stopped"));
    }
}

impl Actor for Flooded {
    type Msg = ();
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, (): (), cx: &mut Context<'_, ()>) {
        work();
        if self.left == 0 {
            self.left = FLOOD;
            Self::flood(&cx.address(), cx);
        }
        self.left -= 1;
    }
}
