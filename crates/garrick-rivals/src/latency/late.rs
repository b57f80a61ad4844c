//! Lateness of messages that a plain thread sends to actors, while other actors use the workers for
//! a long time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use garrick_measure::{Clock, Result, Span, Stopwatch};

use super::peers::{Blocks, Peer};
use super::turns::Contender;
use super::work::Work;
use crate::actors::framework::{Flow, Role};

/// A disturbance of the measured actors by other actors, or by messages that take a long time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// No disturbance: there are no additional actors, and no messages that take a long time.
    Nothing,
    /// One additional actor, which repeatedly blocks its thread by sleeping.
    Sleeper,
    /// One additional actor, which repeatedly keeps its thread busy for a long time.
    Spinner,
    /// No additional actors, but handling some of the measured messages takes a long time.
    Heavy,
    /// The given number of additional actors, which sleep at the same time by the method that their
    /// library recommends for blocking work.
    Blockers(usize),
}

impl Trouble {
    /// Disturbances in which a few handlers take a long time.
    pub(super) const LONG: [Self; 3] = [Self::Sleeper, Self::Spinner, Self::Heavy];

    pub(super) fn name(self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Sleeper => "one sleeps 50 ms of every 100 ms".to_owned(),
            Self::Spinner => "one spins 50 ms of every 100 ms".to_owned(),
            Self::Heavy => "1 % of the messages take 5 ms".to_owned(),
            Self::Blockers(actors) => format!("{actors} block 10 ms of every 200 ms"),
        }
    }

    /// Returns the number of additional actors, whose messages are not measured.
    fn actors(self) -> usize {
        match self {
            Self::Nothing | Self::Heavy => 0,
            Self::Sleeper | Self::Spinner => 1,
            Self::Blockers(actors) => actors,
        }
    }

    /// Returns the job of each additional actor, and the interval between two jobs.
    fn job(self) -> Option<(Job, Duration)> {
        match self {
            Self::Nothing | Self::Heavy => None,
            Self::Sleeper => Some((Job::Sleep(LONG), LONG_EVERY)),
            Self::Spinner => Some((Job::Work(Work::of(LONG)), LONG_EVERY)),
            Self::Blockers(_) => Some((Job::Block(BLOCK), BLOCK_EVERY)),
        }
    }
}

/// Time between two messages to the single additional actor. Handling each of them takes the time
/// `LONG`.
const LONG_EVERY: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_millis(50);
/// Time between two messages to the same blocking actor. Handling each of them takes the time
/// `BLOCK`.
const BLOCK_EVERY: Duration = Duration::from_millis(200);
pub(super) const BLOCK: Duration = Duration::from_millis(10);
/// Inverse of the probability that handling a measured message takes the time `HEAVY`.
const HEAVY_OF: u64 = 100;
const HEAVY: Duration = Duration::from_millis(5);
/// Maximum time to wait, after the last send, until all messages have been handled.
const DRAIN_MAX: Duration = Duration::from_secs(60);

/// The parameters of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) actors: usize,
    /// Messages per second.
    pub(super) rate: u32,
    pub(super) time: Duration,
    pub(super) workers: usize,
    pub(super) trouble: Trouble,
}

/// The work that a message requests from its receiver.
#[derive(Debug, Clone, Copy)]
enum Job {
    Nothing,
    Sleep(Duration),
    Work(Work),
    /// Sleep by the method that the library recommends for blocking work.
    Block(Duration),
}

/// A message with its due time, measured from the start of the round.
#[derive(Debug, Clone, Copy)]
struct Due {
    at: Duration,
    to: usize,
    /// Index of the message among the measured messages. `None` for messages to the additional
    /// actors.
    number: Option<usize>,
    job: Job,
}

/// A generator (xorshift) of random numbers. Every contender gets the same numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a random number that is greater than 0 and at most 1.
    fn share(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

impl Plan {
    /// Returns all messages in the order of their due times.
    fn messages(&self) -> Vec<Due> {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let (mut messages, mut at) = (Vec::new(), 0.0);
        loop {
            at -= random.share().ln() / f64::from(self.rate);
            if at >= self.time.as_secs_f64() {
                break;
            }
            let is_heavy = random.next().is_multiple_of(HEAVY_OF);
            messages.push(Due {
                at: Duration::from_secs_f64(at),
                to: random.next() as usize % self.actors,
                number: Some(messages.len()),
                job: match self.trouble {
                    Trouble::Heavy if is_heavy => Job::Work(Work::of(HEAVY)),
                    _ => Job::Nothing,
                },
            });
        }
        let Some((job, every)) = self.trouble.job() else {
            return messages;
        };
        let times = (0..).map(|number| every * number);
        for at in times.take_while(|at| *at < self.time) {
            let in_the_way = self.actors..self.actors + self.trouble.actors();
            messages.extend(in_the_way.map(|to| Due {
                at,
                to,
                number: None,
                job,
            }));
        }
        messages.sort_by_key(|message| message.at);
        messages
    }
}

/// The measured lateness of the messages. The actors record it, and the measuring thread reads it.
#[derive(Debug)]
struct Notes {
    /// Lateness of each measured message, in nanoseconds. The receiver of the message writes the
    /// lateness, and the measuring thread reads it after the last message.
    late: Vec<AtomicU64>,
    /// Maximum time from the due time of a job to its end, over all jobs of the additional actors,
    /// in nanoseconds.
    in_the_way: AtomicU64,
    /// Number of messages that have not been handled yet.
    left: AtomicUsize,
    done: Sender<()>,
}

impl Notes {
    fn handled(&self, due: Instant, message: &Due) {
        if let Some(number) = message.number {
            self.late[number].store(due.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }

    fn done(&self, due: Instant, message: &Due) {
        if message.number.is_none() {
            let late = due.elapsed().as_nanos() as u64;
            self.in_the_way.fetch_max(late, Ordering::Relaxed);
        }
        // AcqRel: each decrement pairs with the earlier ones. So the driver, which is notified by
        // the last one, sees all recorded values.
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            // A driver that has given up no longer receives.
            let _ = self.done.send(());
        }
    }
}

/// An actor that records the lateness of its messages.
struct Receiver(Arc<Notes>);

/// An actor that blocks for the requested time, by the method that its library recommends.
struct Blocker(Arc<Notes>);

/// A message, with the time at which the message was due.
struct Parcel(Instant, Due);

impl<F: Peer> Role<F> for Receiver {
    type Message = Parcel;

    async fn receive(&mut self, Parcel(due, message): Parcel) -> Flow {
        self.0.handled(due, &message);
        match message.job {
            Job::Nothing | Job::Block(_) => {}
            Job::Sleep(time) => thread::sleep(time),
            Job::Work(work) => work.spin(),
        }
        self.0.done(due, &message);
        Flow::Continue
    }
}

impl<F: Blocks> Role<F> for Blocker {
    type Message = Parcel;

    const BLOCKS: bool = true;

    async fn receive(&mut self, Parcel(due, message): Parcel) -> Flow {
        if let Job::Block(time) = message.job {
            F::block(time).await;
        }
        self.0.done(due, &message);
        Flow::Continue
    }
}

/// The lateness of the messages of a round, sorted.
pub(super) struct Round {
    pub(super) handled: Vec<Duration>,
    /// Lateness of the sends. This lateness is caused by the measuring thread, not by the
    /// framework.
    pub(super) sent: Vec<Duration>,
    /// Maximum time from the due time of a job to its end, over all jobs of the additional actors.
    pub(super) in_the_way: Duration,
    pub(super) span: Span,
}

/// Returns a contender for plans without [`Trouble::Blockers`].
pub(super) fn contender<F: Peer>() -> Contender<Plan, Round> {
    Contender {
        name: F::NAME,
        round: |plan| {
            let receiver = async |notes| place::<F, _>(Receiver(notes)).await;
            F::outside(plan.workers, round(plan, receiver, receiver))?
        },
    }
}

/// Returns a contender for plans with [`Trouble::Blockers`]. The additional actors block as their
/// library recommends.
pub(super) fn contender_that_blocks<F: Blocks>() -> Contender<Plan, Round> {
    Contender {
        name: F::NAME,
        round: |plan| {
            let receiver = async |notes| place::<F, _>(Receiver(notes)).await;
            let blocker = async |notes| place::<F, _>(Blocker(notes)).await;
            F::outside(plan.workers, round(plan, receiver, blocker))?
        },
    }
}

/// Creates an actor, and returns a function that sends messages to the actor.
async fn place<F: Peer, R: Role<F, Message = Parcel>>(
    role: R,
) -> impl Fn(Parcel) -> Option<()> + use<F, R> {
    let address = F::place(role).await;
    move |parcel| F::tell::<R>(&address, parcel).now_or_never()
}

/// Creates the actors, sends the messages when they are due, and waits until all of them have been
/// handled.
async fn round<T, W>(
    plan: &Plan,
    place: impl AsyncFn(Arc<Notes>) -> T,
    place_in_the_way: impl AsyncFn(Arc<Notes>) -> W,
) -> Result<Round>
where
    T: Fn(Parcel) -> Option<()>,
    W: Fn(Parcel) -> Option<()>,
{
    let messages = plan.messages();
    let counted = messages.iter().filter(|one| one.number.is_some()).count();
    let (done, all_done) = mpsc::channel();
    let notes = Arc::new(Notes {
        late: (0..counted).map(|_| AtomicU64::new(0)).collect(),
        in_the_way: AtomicU64::new(0),
        left: AtomicUsize::new(messages.len()),
        done,
    });
    let (mut receivers, mut in_the_way) = (Vec::new(), Vec::new());
    for _ in 0..plan.actors {
        receivers.push(place(notes.clone()).await);
    }
    for _ in 0..plan.trouble.actors() {
        in_the_way.push(place_in_the_way(notes.clone()).await);
    }
    let watch = Stopwatch::start(Clock::Process);
    let sent = send(messages, |parcel| {
        let to = parcel.1.to;
        match receivers.get(to) {
            Some(tell) => tell(parcel),
            None => in_the_way[to - plan.actors](parcel),
        }
    });
    all_done.recv_timeout(DRAIN_MAX)?;
    let span = watch.stop();
    let late = notes.late.iter().map(|late| late.load(Ordering::Relaxed));
    let mut handled: Vec<Duration> = late.map(Duration::from_nanos).collect();
    handled.sort_unstable();
    Ok(Round {
        handled,
        sent,
        in_the_way: Duration::from_nanos(notes.in_the_way.load(Ordering::Relaxed)),
        span,
    })
}

/// Sends each message when it is due, or as soon as this thread wakes after the due time. Returns
/// the lateness of each send.
fn send(messages: Vec<Due>, tell: impl Fn(Parcel) -> Option<()>) -> Vec<Duration> {
    let mut sent = Vec::with_capacity(messages.len());
    let begin = Instant::now();
    for message in messages {
        let due = begin + message.at;
        let early = due.saturating_duration_since(Instant::now());
        if !early.is_zero() {
            thread::sleep(early);
        }
        sent.push(due.elapsed());
        tell(Parcel(due, message)).expect("an unbounded mailbox has room");
    }
    sent.sort_unstable();
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::peers::peers;
    use crate::latency::turns::in_turns;

    #[test]
    fn every_message_is_handled_by_every_contender() {
        for trouble in Trouble::LONG {
            let plan = Plan {
                actors: 10,
                rate: 1_000,
                time: Duration::from_millis(60),
                workers: 2,
                trouble,
            };
            let sent = plan
                .messages()
                .iter()
                .filter(|one| one.number.is_some())
                .count();
            assert!(sent > 20, "{sent}");
            for (name, rounds) in in_turns(&peers!(contender), &plan, 1).expect("all arrive") {
                let round = &rounds[0];
                assert_eq!(round.handled.len(), sent, "{name}");
                assert!(round.handled[0] > Duration::ZERO, "{name}");
            }
        }
    }

    #[test]
    fn messages_are_in_the_order_in_which_they_are_due_and_as_many_as_planned() {
        let plan = Plan {
            actors: 7,
            rate: 10_000,
            time: Duration::from_secs(1),
            workers: 2,
            trouble: Trouble::Sleeper,
        };
        let messages = plan.messages();
        assert!(messages.is_sorted_by_key(|message| message.at));
        let in_the_way = messages.iter().filter(|one| one.to == plan.actors).count();
        assert_eq!(in_the_way, 10);
        assert!((9_500..10_500).contains(&messages.len()));
    }
}
