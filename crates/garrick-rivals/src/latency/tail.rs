//! How late messages are handled when a few handlers take long.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use garrick_bench::{Clock, Result, Span, Stopwatch};

use super::peers::{Peer, peers};
use super::told;
use super::turns::{Contender, Rounds, busy, in_turns, median, quantile, shown};
use super::work::Work;
use crate::actors::framework::{Flow, Role};

/// Who takes long.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// One more actor, which sleeps.
    Sleeper,
    /// One more actor, which works.
    Spinner,
    /// Some of the messages themselves.
    Heavy,
}

impl Trouble {
    const ALL: [Self; 3] = [Self::Sleeper, Self::Spinner, Self::Heavy];

    fn name(self) -> &'static str {
        match self {
            Self::Sleeper => "one sleeps 50 ms of 100",
            Self::Spinner => "one spins 50 ms of 100",
            Self::Heavy => "1 % take 5 ms",
        }
    }
}

/// How often the one in the way is sent a message, and how long it takes.
const BLOCK_EVERY: Duration = Duration::from_millis(100);
const BLOCK: Duration = Duration::from_millis(50);
/// One message of so many takes long, and how long.
const HEAVY_OF: u64 = 100;
const HEAVY: Duration = Duration::from_millis(5);
/// For how long the last message is waited for.
const DRAIN_MAX: Duration = Duration::from_secs(60);

/// What is sent.
#[derive(Debug, Clone, Copy)]
struct Plan {
    actors: usize,
    /// Messages a second.
    rate: u32,
    time: Duration,
    workers: usize,
    trouble: Trouble,
}

/// What a message has its receiver do.
#[derive(Debug, Clone, Copy)]
enum Job {
    Nothing,
    Sleep(Duration),
    Work(Work),
}

/// A message, and when it is due after the beginning.
#[derive(Debug, Clone, Copy)]
struct Due {
    at: Duration,
    to: usize,
    /// Its place among those whose lateness counts.
    number: Option<usize>,
    job: Job,
}

/// Numbers at random, the same for every contender (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// More than 0 and at most 1.
    fn share(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

impl Plan {
    /// All messages in the order in which they are due.
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
        let job = match self.trouble {
            Trouble::Sleeper => Job::Sleep(BLOCK),
            Trouble::Spinner => Job::Work(Work::of(BLOCK)),
            Trouble::Heavy => return messages,
        };
        let times = (0..).map(|number| BLOCK_EVERY * number);
        messages.extend(times.take_while(|at| *at < self.time).map(|at| Due {
            at,
            to: self.actors,
            number: None,
            job,
        }));
        messages.sort_by_key(|message| message.at);
        messages
    }
}

/// What became of the messages.
#[derive(Debug)]
struct Notes {
    /// Nanoseconds by which each was late. Whoever handles it writes, and the driver reads after the last.
    late: Vec<AtomicU64>,
    /// Messages still to be handled.
    left: AtomicUsize,
    done: Sender<()>,
}

/// Notes how late its messages are.
struct Receiver(Arc<Notes>);

/// What a [`Receiver`] is told: a message that was due then.
struct Parcel(Instant, Due);

impl<F: Peer> Role<F> for Receiver {
    type Message = Parcel;

    async fn receive(&mut self, Parcel(due, message): Parcel) -> Flow {
        let late = due.elapsed();
        let notes = &self.0;
        if let Some(number) = message.number {
            notes.late[number].store(late.as_nanos() as u64, Ordering::Relaxed);
        }
        match message.job {
            Job::Nothing => {}
            Job::Sleep(time) => thread::sleep(time),
            Job::Work(work) => work.spin(),
        }
        // AcqRel: each one pairs with those before it, so that the driver, told by the last, sees all that was noted.
        if notes.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            // A driver that has given up listens no more.
            let _ = notes.done.send(());
        }
        Flow::Continue
    }
}

/// How late messages were, sorted.
struct Round {
    handled: Vec<Duration>,
    /// When they were sent: the driver's own share.
    sent: Vec<Duration>,
    span: Span,
}

fn contender<F: Peer>() -> Contender<Plan, Round> {
    Contender {
        name: F::NAME,
        round: |plan| F::outside(plan.workers, round::<F>(plan))?,
    }
}

async fn round<F: Peer>(plan: &Plan) -> Result<Round> {
    let messages = plan.messages();
    let counted = messages.iter().filter(|one| one.number.is_some()).count();
    let (done, all_done) = mpsc::channel();
    let notes = Arc::new(Notes {
        late: (0..counted).map(|_| AtomicU64::new(0)).collect(),
        left: AtomicUsize::new(messages.len()),
        done,
    });
    let mut receivers = Vec::new();
    // The last one is in the way.
    for _ in 0..=plan.actors {
        receivers.push(F::place(Receiver(notes.clone())).await);
    }
    let watch = Stopwatch::start(Clock::Process);
    let sent = send::<F>(&receivers, messages);
    all_done.recv_timeout(DRAIN_MAX)?;
    let span = watch.stop();
    let late = notes.late.iter().map(|late| late.load(Ordering::Relaxed));
    let mut handled: Vec<Duration> = late.map(Duration::from_nanos).collect();
    handled.sort_unstable();
    Ok(Round {
        handled,
        sent,
        span,
    })
}

/// Sends each message when it is due, or as soon after as this thread is woken, and gives back by how much it was late.
fn send<F: Peer>(receivers: &[F::Address<Receiver>], messages: Vec<Due>) -> Vec<Duration> {
    let mut sent = Vec::with_capacity(messages.len());
    let begin = Instant::now();
    for message in messages {
        let due = begin + message.at;
        let early = due.saturating_duration_since(Instant::now());
        if !early.is_zero() {
            thread::sleep(early);
        }
        sent.push(due.elapsed());
        F::tell::<Receiver>(&receivers[message.to], Parcel(due, message))
            .now_or_never()
            .expect("an unbounded mailbox has room");
    }
    sent.sort_unstable();
    sent
}

pub(super) fn section(quick: bool) -> Result<String> {
    let (rounds, millis) = if quick { (1, 200) } else { (3, 1_000) };
    let mut rows = Vec::new();
    for trouble in Trouble::ALL {
        for workers in [2, 4] {
            let plan = Plan {
                actors: 1_000,
                rate: 10_000,
                time: Duration::from_millis(millis),
                workers,
                trouble,
            };
            show(
                &plan,
                &in_turns(&peers!(contender), &plan, rounds)?,
                &mut rows,
            );
        }
    }
    let sentence = format!(
        "tail: how late 10,000 messages a second are handled that a thread outside sends to 1,000 actors at random; late from when \
         each was due, so what the sender wakes too late is part of it (last columns). {rounds} rounds of {millis} ms"
    );
    let header = [
        "beside",
        "workers",
        "contender",
        "p50",
        "p99",
        "p99.9",
        "max",
        "CPU",
        "sent: p50",
        "p99",
    ];
    Ok(told(&sentence, header, rows))
}

fn show(plan: &Plan, all: &Rounds<Round>, rows: &mut Vec<[String; 10]>) {
    for (name, rounds) in all {
        let handled = |share| shown(median(rounds, |round| quantile(&round.handled, share)));
        let sent = |share| shown(median(rounds, |round| quantile(&round.sent, share)));
        rows.push([
            plan.trouble.name().to_owned(),
            plan.workers.to_string(),
            (*name).to_owned(),
            handled(0.5),
            handled(0.99),
            handled(0.999),
            handled(1.0),
            format!("{:.0} %", 100.0 * median(rounds, |round| busy(&round.span))),
            sent(0.5),
            sent(0.99),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_handled_by_every_contender() {
        for trouble in Trouble::ALL {
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
