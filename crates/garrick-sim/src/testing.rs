//! A kit for unit tests of actors: a system on the thread of the test, with a clock that the test
//! advances, and probes that receive messages.
//!
//! In contrast to a [check](crate::Check), a test makes one run. Messages that actors send are
//! delivered in the order in which they were sent. If the test itself sends messages to several
//! actors before it calls [`Kit::run`], one actor gets all its messages before the next actor gets
//! any.

use std::any::type_name;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

use garrick_actor::{Address, Ask, Failure, NoReply};
use garrick_sched::{Choice, Fate, Flow, Nanos, Task, Turn};

use crate::disk::{Disk, Disks};
use crate::facts::Facts;
use crate::node::Node;
use crate::sim::Sim;

/// Number of turns after which a [`Kit`] panics if its actors still have messages.
const TURNS_MAX: u32 = 10_000_000;

/// Name of the node of a [`Kit`].
const NODE: &str = "kit";

/// A system for unit tests of actors. It runs on the thread of the test, while the test calls
/// [`Kit::run`] or [`Kit::advance`].
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use garrick_actor::{Actor, Address, Context};
/// use garrick_sim::testing::Kit;
///
/// /// Reminds somebody after a minute.
/// struct Reminder(Address<&'static str>);
///
/// impl Actor for Reminder {
///     type Msg = &'static str;
///     type Outcome = ();
///
///     fn receive(&mut self, text: &'static str, cx: &mut Context<'_, &'static str>) {
///         let _ = cx.send_after(Duration::from_secs(60), &self.0, text);
///     }
/// }
///
/// let mut kit = Kit::new();
/// let probe = kit.probe();
/// let reminder = kit.spawn(Reminder(probe.address())).unwrap();
/// reminder.send("tea").unwrap();
/// kit.advance(Duration::from_secs(59));
/// probe.expect_nothing();
/// kit.advance(Duration::from_secs(1));
/// assert_eq!(probe.expect(), "tea");
/// ```
pub struct Kit {
    sim: Sim,
    node: Node,
    /// Choices that have not been taken yet, in the order in which they were caused.
    queue: VecDeque<Choice>,
}

impl Default for Kit {
    fn default() -> Self {
        Self::new()
    }
}

impl Kit {
    /// Creates a system without actors, whose clock is at zero.
    ///
    /// # Panics
    /// Panics if the thread runs a simulation or has another kit.
    #[must_use]
    pub fn new() -> Self {
        let mut sim = Sim::new(0);
        sim.allow_failures();
        let node = sim.node(NODE);
        sim.disks().all().loses_all();
        Self {
            sim,
            node,
            queue: VecDeque::new(),
        }
    }

    /// Returns the node on which the actors run.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Returns the disk of the system. A new disk is empty.
    pub fn disk(&mut self) -> Disk {
        self.sim.disk(NODE)
    }

    /// Returns the rules of the disk: its space and its faults.
    pub fn disks(&mut self) -> &mut Disks {
        self.sim.disks()
    }

    /// Crashes the system, and starts it again without actors. Its actors and probes end without
    /// any notice. The disk loses all unsynced data.
    pub fn crash(&mut self) {
        let index = self.sim.node_index(NODE);
        self.sim.crash(index);
        self.sim.add_disk_faults();
        self.sim.restart(index);
        self.node = self.sim.node(NODE);
        self.queue.clear();
    }

    /// Spawns a probe, which receives messages for the test.
    ///
    /// # Panics
    /// Panics if the system has no room for another actor.
    pub fn probe<M: Send + 'static>(&mut self) -> Probe<M> {
        let received = Rc::new(RefCell::new(VecDeque::new()));
        let task = ProbeTask(Rc::clone(&received));
        let address = self.sim.spawn_task(&self.node, task);
        Probe { address, received }
    }

    /// Runs the actors until none of them has a message to handle.
    ///
    /// # Panics
    /// Panics if the actors do not come to rest within 10 million turns.
    #[track_caller]
    pub fn run(&mut self) {
        self.sim.simulation.settle();
        for _ in 0..TURNS_MAX {
            let caused = self.sim.simulation.caused();
            self.queue.extend(caused.drain(..));
            self.sim.simulation.births().clear();
            let Some(at) = self.next() else {
                return;
            };
            self.sim.simulation.step(at, Fate::Happens);
            self.sim.add_disk_faults();
        }
        panic!("the actors have run {TURNS_MAX} turns and still have messages");
    }

    /// Returns the index of the choice to take next: the one that was caused first among the
    /// choices that are possible now.
    fn next(&mut self) -> Option<usize> {
        let choices = self.sim.simulation.choices();
        if choices.is_empty() {
            // What is left was sent to actors that have ended.
            self.queue.clear();
            return None;
        }
        for waiting in 0..self.queue.len() {
            let caused = self.queue[waiting];
            // A message may have to wait for the start of its receiver.
            if let Some(at) = choices.iter().position(|choice| *choice == caused) {
                self.queue.remove(waiting);
                return Some(at);
            }
        }
        Some(0)
    }

    /// Advances the clock by `by`, and runs the actors. Each timer fires exactly at its deadline.
    ///
    /// # Panics
    /// Panics if the actors do not come to rest within 10 million turns.
    #[track_caller]
    pub fn advance(&mut self, by: Duration) {
        self.run();
        let end = self
            .sim
            .clock
            .now()
            .saturating_add(garrick_sched::nanos(by));
        while let Some(deadline) = self.sim.next_deadline()
            && deadline <= end
        {
            self.sim.clock.advance_to(deadline);
            self.sim.fire_due();
            self.run();
        }
        self.sim.clock.advance_to(end);
    }

    /// Returns the time that has passed for the actors since the kit was created.
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.sim.clock.now())
    }

    /// Returns the time until the next timer fires. Returns `None` if there is no timer.
    #[must_use]
    pub fn next_timer(&self) -> Option<Duration> {
        let deadline: Nanos = self.sim.next_deadline()?;
        Some(Duration::from_nanos(
            deadline.saturating_sub(self.sim.clock.now()),
        ))
    }

    /// Runs the actors, and returns the answer to a question.
    ///
    /// # Errors
    /// Returns [`NoReply::Dropped`] if the reply was dropped without an answer, and
    /// [`NoReply::OnWorker`] if there is no answer yet.
    #[track_caller]
    pub fn answer<R: Send + 'static>(&mut self, ask: Ask<R>) -> Result<R, NoReply> {
        self.run();
        ask.wait()
    }

    /// Calls `read` with the facts that actors have recorded.
    pub fn facts<R>(&self, read: impl FnOnce(&Facts) -> R) -> R {
        read(&self.sim.facts.borrow())
    }

    /// Returns the failures of actors since the last call, oldest first.
    pub fn failures(&mut self) -> Vec<Failure> {
        self.sim.take_failures()
    }
}

/// A kit has all methods of its node, such as those that spawn actors.
impl Deref for Kit {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
}

impl fmt::Debug for Kit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kit")
            .field("now", &self.now())
            .field("next_timer", &self.next_timer())
            .finish_non_exhaustive()
    }
}

/// Messages that a probe has received and the test has not taken yet.
type Received<M> = Rc<RefCell<VecDeque<M>>>;

/// An actor whose messages the test takes one by one.
pub struct Probe<M> {
    address: Address<M>,
    received: Received<M>,
}

/// The task of a [`Probe`], which the scheduler runs.
struct ProbeTask<M>(Received<M>);

impl<M: Send + 'static> Task for ProbeTask<M> {
    type Message = M;

    fn receive(&mut self, message: M, _: &Turn<'_, M>) -> Flow {
        self.0.borrow_mut().push_back(message);
        Flow::Continue
    }
}

impl<M: Send + 'static> Probe<M> {
    /// Returns the address to which messages for the probe are sent.
    #[must_use]
    pub fn address(&self) -> Address<M> {
        self.address.clone()
    }

    /// Takes the oldest message.
    ///
    /// # Panics
    /// Panics if there is no message. Call [`Kit::run`] first.
    #[track_caller]
    pub fn expect(&self) -> M {
        let message = self.received.borrow_mut().pop_front();
        message.unwrap_or_else(|| panic!("no message of type {} has come", type_name::<M>()))
    }

    /// Checks that there is no message.
    ///
    /// # Panics
    /// Panics if there is a message.
    #[track_caller]
    pub fn expect_nothing(&self) {
        let count = self.received.borrow().len();
        assert_eq!(count, 0, "messages of type {} have come", type_name::<M>());
    }

    /// Takes all messages, oldest first.
    #[must_use]
    pub fn take(&self) -> Vec<M> {
        self.received.borrow_mut().drain(..).collect()
    }
}

impl<M> Clone for Probe<M> {
    fn clone(&self) -> Self {
        Self {
            address: self.address.clone(),
            received: Rc::clone(&self.received),
        }
    }
}

impl<M> fmt::Debug for Probe<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe")
            .field("messages", &self.received.borrow().len())
            .finish_non_exhaustive()
    }
}
