//! The sending node's side of a measurement, and what the receiving node counts.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use garrick_measure::{Clock, Span, Stopwatch};

use super::child::is_ready;
use super::order::{Fault, Order, Outcome, SMALL, Work};

/// Time after which messages that have not arrived count as lost.
const LOST_AFTER: Duration = Duration::from_secs(3);

/// Time between two questions for the number of messages that have arrived.
const AGAIN_AFTER: Duration = Duration::from_millis(2);

/// The names and addresses by which the processes of a pair find each other.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Address of the NATS server. Empty if the pair needs none.
    pub(super) server: String,
    /// A name that no other pair on the server has.
    pub(super) name: String,
    /// Address that the receiving process has printed.
    pub(super) far: String,
}

/// The node that sends, and its way to the node that receives.
pub(super) trait Near {
    /// Sends `count` messages. Returns the CPU time of the sending turns, if it was measured.
    fn tell(&mut self, bytes: usize, count: u64) -> Result<Option<Duration>, Fault>;

    /// Asks `count` questions. Returns the time that each answer took.
    fn ask(&mut self, in_flight: usize, count: u64) -> Result<Vec<Duration>, Fault>;

    /// Asks the receiving node what it has counted, after all messages so far.
    fn tally(&mut self) -> Result<Tally, Fault>;
}

/// The report of a receiving node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    /// Number of messages that were handled so far.
    pub(super) handled: u64,
    /// CPU time of the process so far, in nanoseconds.
    pub(super) cpu_ns: u64,
}

/// The count of messages on a receiving node.
#[derive(Debug)]
pub(super) struct Count {
    handled: u64,
    /// Number that the next message should have.
    next: u64,
    clock: Stopwatch,
}

impl Count {
    pub(super) fn new() -> Self {
        Self {
            handled: 0,
            next: 0,
            clock: Stopwatch::start(Clock::Process),
        }
    }

    /// Counts a message, by its two numbers. The messages of an order have the numbers from 0. A
    /// message that comes after a later one, or whose second number is wrong, does not count.
    pub(super) fn add(&mut self, first: u64, second: u64) {
        if second == first + 1 && (first >= self.next || first == 0) {
            self.handled += 1;
            self.next = second;
        }
    }

    /// Counts a message whose content begins with its two numbers.
    pub(super) fn add_bytes(&mut self, content: &[u8]) {
        if let Some([first, second]) = numbers(content) {
            self.add(first, second);
        }
    }

    pub(super) fn tally(&self) -> Tally {
        let cpu = self.clock.stop().cpu.as_nanos();
        Tally {
            handled: self.handled,
            cpu_ns: u64::try_from(cpu).unwrap_or(u64::MAX),
        }
    }
}

impl Tally {
    pub(super) fn to_bytes(self) -> [u8; SMALL] {
        content_of(self.handled, self.cpu_ns)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, Fault> {
        let [handled, cpu_ns] = numbers(bytes).ok_or("a tally that is too short")?;
        Ok(Self { handled, cpu_ns })
    }
}

/// Returns the content of a small message.
pub(super) fn content_of(first: u64, second: u64) -> [u8; SMALL] {
    let mut content = [0; SMALL];
    content[..8].copy_from_slice(&first.to_le_bytes());
    content[8..].copy_from_slice(&second.to_le_bytes());
    content
}

/// Returns the two numbers at the beginning of a message.
pub(super) fn numbers(content: &[u8]) -> Option<[u64; 2]> {
    let (first, rest) = content.split_first_chunk()?;
    let (second, _) = rest.split_first_chunk()?;
    Some([first, second].map(|bytes| u64::from_le_bytes(*bytes)))
}

/// Returns the answer to a question.
pub(super) fn answer_to(first: u64, second: u64) -> u64 {
    first + second
}

/// Checks the answer to the question with the numbers `first` and `first + 1`.
pub(super) fn check(first: u64, answer: u64) -> Result<(), Fault> {
    match answer == answer_to(first, first + 1) {
        true => Ok(()),
        false => Err(format!("the answer to question {first} was {answer}").into()),
    }
}

/// Carries out the orders on standard input, and prints their outcomes.
pub(super) fn serve(mut near: impl Near) -> Result<(), Fault> {
    // The other node may not be known at once, so the first question waits for it.
    near.tally()?;
    is_ready("")?;
    for line in io::stdin().lines() {
        let line = line?;
        let order = Order::parse(&line).ok_or_else(|| format!("no order: '{line}'"))?;
        println!("{}", carry_out(&mut near, order)?.json());
    }
    Ok(())
}

/// Carries out an order, and measures it.
pub(super) fn carry_out(near: &mut impl Near, order: Order) -> Result<Outcome, Fault> {
    let before = near.tally()?;
    let watch = Stopwatch::start(Clock::Process);
    let (mut turns, mut latency, mut lost) = (None, None, 0);
    let (span, after);
    match order.work {
        Work::Tell { bytes } => {
            turns = near.tell(bytes, order.count)?;
            (span, after) = confirmed(near, &watch, before.handled + order.count)?;
            lost = (before.handled + order.count).saturating_sub(after.handled);
        }
        Work::Ask { in_flight } => {
            latency = Some(near.ask(in_flight, order.count)?);
            (span, after) = (watch.stop(), near.tally()?);
        }
    }
    Ok(Outcome {
        count: order.count,
        lost,
        seconds: span.wall.as_secs_f64(),
        near_cpu: span.cpu.as_secs_f64(),
        far_cpu: (after.cpu_ns - before.cpu_ns) as f64 / 1e9,
        turns_cpu: turns.map(|cpu| cpu.as_secs_f64()),
        latency: latency.map(spread),
    })
}

/// Waits until the receiving node has handled as many messages as expected, or until no more
/// arrive. Returns the time until then.
fn confirmed(
    near: &mut impl Near,
    watch: &Stopwatch,
    expected: u64,
) -> Result<(Span, Tally), Fault> {
    let mut tally = near.tally()?;
    let (mut span, mut since) = (watch.stop(), Instant::now());
    while tally.handled < expected && since.elapsed() < LOST_AFTER {
        thread::sleep(AGAIN_AFTER);
        let now = near.tally()?;
        if now.handled > tally.handled {
            (span, since) = (watch.stop(), Instant::now());
        }
        tally = now;
    }
    Ok((span, tally))
}

/// Returns the median and the 99th percentile, in microseconds.
fn spread(mut times: Vec<Duration>) -> [f64; 2] {
    times.sort_unstable();
    let at = |index: usize| {
        times
            .get(index)
            .map_or(0.0, |time| time.as_secs_f64() * 1e6)
    };
    [at(times.len() / 2), at(times.len() * 99 / 100)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pair of nodes in this process. Each third message is lost if `loses` is true.
    struct Here {
        count: Count,
        loses: bool,
    }

    impl Near for Here {
        fn tell(&mut self, _: usize, count: u64) -> Result<Option<Duration>, Fault> {
            let arrives = |number: &u64| !(self.loses && number.is_multiple_of(3));
            for number in (0..count).filter(arrives) {
                self.count.add_bytes(&content_of(number, number + 1));
            }
            Ok(None)
        }

        fn ask(&mut self, _: usize, count: u64) -> Result<Vec<Duration>, Fault> {
            Ok((1..=count).map(Duration::from_micros).collect())
        }

        fn tally(&mut self) -> Result<Tally, Fault> {
            Ok(self.count.tally())
        }
    }

    fn here(loses: bool) -> Here {
        Here {
            count: Count::new(),
            loses,
        }
    }

    #[test]
    fn messages_are_counted_and_answers_are_timed() {
        let mut near = here(false);
        let work = Work::Tell { bytes: 16 };
        let order = Order { work, count: 9 };
        for _ in 0..2 {
            let outcome = carry_out(&mut near, order).expect("it works");
            assert_eq!((outcome.count, outcome.lost), (9, 0));
        }
        let work = Work::Ask { in_flight: 1 };
        let outcome = carry_out(&mut near, Order { work, count: 100 }).expect("it works");
        assert_eq!((outcome.lost, outcome.latency), (0, Some([51.0, 100.0])));
    }

    #[test]
    fn lost_and_late_messages_do_not_count() {
        let work = Work::Tell { bytes: 16 };
        let outcome = carry_out(&mut here(true), Order { work, count: 9 });
        assert_eq!(outcome.expect("it works").lost, 3);
        let mut count = Count::new();
        for first in [0, 2, 1, 3, 3] {
            count.add(first, first + 1);
        }
        count.add(4, 4);
        assert_eq!(count.tally().handled, 3);
    }

    #[test]
    fn a_tally_is_read_as_it_was_written() {
        let tally = Tally {
            handled: 7,
            cpu_ns: 1 << 40,
        };
        assert_eq!(Tally::from_bytes(&tally.to_bytes()).ok(), Some(tally));
        assert!(Tally::from_bytes(&[0; 15]).is_err());
        assert!(check(3, 7).is_ok() && check(3, 8).is_err());
    }
}
