//! Work of a soak: async actors. Some have handlers that sleep, ask, and wait for room in a
//! mailbox. Others consist of a single future each.

use std::sync::mpsc;
use std::time::Duration;

use garrick::mailbox::{Mailbox, OnFull};
use garrick::{
    Address, Ask, AsyncActor, AsyncContext, Handle, Incoming, Next, Reply, System, behavior,
};
use garrick_measure::{Result, sent};

use super::asks::{Oracle, Question, right};
use super::part::{PATIENCE, Part, same, sum_below};

/// Number of actors whose handlers wait.
const WAITERS: u64 = 8;

/// Number of messages to each waiter in a round.
const ORDERS: u64 = 10;

/// Capacity of the mailbox to which the waiters send. A waiter waits while this mailbox is full.
const ROOM: usize = 2;

/// Number of actors that are created in a round and consist of a single future each.
const FUTURES: u64 = 100;

/// Number of values that each future adds up.
const NUMBERS: u64 = 20;

const NAP: Duration = Duration::from_micros(100);

pub(super) struct Waiting {
    waiters: Vec<Address<Order>>,
    /// Unanswered questions to the waiters, each with its number.
    orders: Vec<(u64, Ask<u64>)>,
    /// Receiver for the waiters' answers. The answers pass through a mailbox with the capacity
    /// [`ROOM`].
    seen: mpsc::Receiver<u64>,
    sums: Option<mpsc::Receiver<u64>>,
}

impl Waiting {
    pub(super) fn new(system: &System) -> Result<Self> {
        let (see, seen) = mpsc::channel();
        let oracle = system.spawn(Oracle::default())?;
        let narrow = Mailbox::bounded(ROOM, OnFull::Wait)?;
        let narrow = system
            .actor(behavior(move |n, _| sent(&see.send(n))))
            .mailbox(narrow)
            .spawn()?;
        let mut waiters = Vec::new();
        for _ in 0..WAITERS {
            waiters.push(system.spawn(Waiter {
                oracle: oracle.clone(),
                narrow: narrow.clone(),
            })?);
        }
        Ok(Self {
            waiters,
            orders: Vec::new(),
            seen,
            sums: None,
        })
    }
}

impl Part for Waiting {
    fn name(&self) -> &'static str {
        "async actors"
    }

    fn begin(&mut self, system: &Handle) -> Result<()> {
        self.orders.clear();
        for number in 0..WAITERS * ORDERS {
            let waiter = &self.waiters[(number % WAITERS) as usize];
            let order = waiter.ask(|reply| Order(number, reply));
            self.orders.push((number, order));
        }
        let (tell, sums) = mpsc::channel();
        self.sums = Some(sums);
        for _ in 0..FUTURES {
            let tell = tell.clone();
            let adder = system.spawn(move |mut mailbox: Incoming<u64>| async move {
                let mut sum = 0;
                while let Some(number) = mailbox.recv().await {
                    sum += number;
                    mailbox.context().yield_now().await;
                }
                // The thread is waiting for this sum.
                let _ = tell.send(sum);
            })?;
            (0..NUMBERS).try_for_each(|number| adder.send(number))?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<u64> {
        let mut passed = 0;
        for (number, order) in self.orders.drain(..) {
            let answer = order
                .wait_timeout(PATIENCE)
                .map_err(|why| format!("an async actor did not answer: {why}"))?;
            same("an async actor's answer", answer, right(number))?;
            passed += answer;
        }
        let mut seen = 0;
        for _ in 0..WAITERS * ORDERS {
            seen += self.seen.recv_timeout(PATIENCE)?;
        }
        same(
            "the sum of the answers that passed through the small mailbox",
            seen,
            passed,
        )?;
        let sums = self.sums.take().ok_or("no round was started")?;
        for _ in 0..FUTURES {
            let sum = sums.recv_timeout(PATIENCE)?;
            same("the sum of a future", sum, sum_below(NUMBERS))?;
        }
        Ok(WAITERS * ORDERS + FUTURES * NUMBERS)
    }
}

/// A question whose answer takes some time.
struct Order(u64, Reply<u64>);

/// An async actor. For each message, the actor sleeps, asks the oracle (an actor that answers
/// questions), sends to a small mailbox when there is room, and then answers.
struct Waiter {
    oracle: Address<Question>,
    narrow: Address<u64>,
}

impl AsyncActor for Waiter {
    type Msg = Order;
    type Outcome = Next;

    async fn receive(&mut self, Order(number, reply): Order, cx: &mut AsyncContext<Order>) -> Next {
        cx.sleep(NAP).await;
        let answer = self.oracle.ask(|reply| Question::Now(number, reply)).await;
        let Ok(answer) = answer else {
            return Next::Stop;
        };
        if self.narrow.send_async(answer).await.is_err() {
            return Next::Stop;
        }
        reply.send(answer);
        Next::Continue
    }
}
