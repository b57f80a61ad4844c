//! Actors that are always busy: each of them works, and sends itself the next message.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Instant;

use super::WAIT_MAX;
use super::peers::Peer;
use super::work::Work;
use crate::actors::framework::{Flow, Role};

/// Counter of the turns of one actor. Only this actor writes the counter. Each counter has a
/// separate cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Count(AtomicU64);

/// The turn counters of all busy actors. The actors share them with the code that reads the
/// counters.
#[derive(Debug)]
pub(super) struct Turns {
    counts: Box<[Count]>,
    /// Set to true to stop the actors.
    over: AtomicBool,
}

impl Turns {
    /// Returns the number of turns of each actor so far.
    pub(super) fn all(&self) -> Vec<u64> {
        let counts = self.counts.iter();
        counts
            .map(|count| count.0.load(Ordering::Relaxed))
            .collect()
    }

    /// Returns the maximum number of turns that one actor has run since the counts `before` were
    /// read. `before` contains the count of each actor.
    pub(super) fn most_since(&self, before: &[u64]) -> u64 {
        let turns = self.all().into_iter().zip(before);
        turns.map(|(now, before)| now - before).max().unwrap_or(0)
    }
}

/// An actor that always has a message: in each turn it works, and sends itself the next message.
pub(super) struct Busy<F: Peer> {
    number: usize,
    work: Work,
    turns: Arc<Turns>,
    /// Sender for the report that the first turn has run. `None` after the report was sent.
    started: Option<Sender<()>>,
    /// Sender that is dropped when the actor ends.
    ended: Option<Sender<()>>,
    me: Option<F::Address<Self>>,
}

/// A message to a [`Busy`].
pub(super) enum Turn<F: Peer> {
    /// The first message, which contains the address of the actor that receives it.
    Begin(F::Address<Busy<F>>),
    Again,
}

impl<F: Peer> Role<F> for Busy<F> {
    type Message = Turn<F>;

    async fn receive(&mut self, message: Turn<F>) -> Flow {
        if let Turn::Begin(me) = message {
            self.me = Some(me);
        }
        if self.turns.over.load(Ordering::Relaxed) {
            self.me = None;
            self.started = None;
            self.ended = None;
            return Flow::Stop;
        }
        self.work.spin();
        self.turns.counts[self.number]
            .0
            .fetch_add(1, Ordering::Relaxed);
        if let Some(started) = self.started.take() {
            // The driver may have stopped waiting.
            let _ = started.send(());
        }
        if let Some(me) = &self.me {
            F::tell::<Self>(me, Turn::Again).await;
        }
        Flow::Continue
    }
}

/// A group of busy actors.
pub(super) struct Company {
    pub(super) turns: Arc<Turns>,
    started: Receiver<()>,
    ended: Receiver<()>,
}

impl Company {
    /// Creates `count` busy actors from a thread outside of the framework, and starts them.
    pub(super) async fn gather<F: Peer>(count: usize, work: Work) -> Self {
        let turns = Arc::new(Turns {
            counts: iter::repeat_with(Count::default).take(count).collect(),
            over: AtomicBool::new(false),
        });
        let (starts, started) = mpsc::channel();
        let (ends, ended) = mpsc::channel();
        for number in 0..count {
            let busy = F::place(Busy::<F> {
                number,
                work,
                turns: turns.clone(),
                started: Some(starts.clone()),
                ended: Some(ends.clone()),
                me: None,
            })
            .await;
            F::tell::<Busy<F>>(&busy, Turn::Begin(busy.clone())).await;
        }
        Self {
            turns,
            started,
            ended,
        }
    }

    /// Waits until each actor has run at least once, but not longer than `WAIT_MAX`.
    pub(super) fn wait_for_all(&self) {
        let end = Instant::now() + WAIT_MAX;
        for _ in 0..self.turns.counts.len() {
            let left = end.saturating_duration_since(Instant::now());
            if self.started.recv_timeout(left).is_err() {
                return;
            }
        }
    }

    /// Stops the actors, and waits until they have stopped.
    pub(super) fn disperse(self) {
        self.turns.over.store(true, Ordering::Relaxed);
        // Nothing is sent on this channel. `recv` returns an error when the last sender has been
        // dropped.
        assert!(
            self.ended.recv().is_err(),
            "nothing is sent on this channel"
        );
    }
}
