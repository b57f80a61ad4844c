//! Tests of piped futures: their results, their number, and their end.

use std::future::Future;
use std::num::NonZero;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{self, Poll};

use garrick_actor::future::PipeError;
use garrick_actor::mailbox::{Mailbox, OnFull};
use garrick_actor::supervise::{Strategy, Supervisor};
use garrick_actor::{Address, AsyncActor, AsyncContext, Incoming, Local, Next, behavior};

use crate::common::{self, settle};
use crate::pipes::{Gate, Guest, Msg, Piper};
use garrick_testkit::silence_panics;

struct Stand {
    local: Local,
    gate: Gate,
    guests: Arc<AtomicUsize>,
    heard: mpsc::Receiver<Result<u32, PipeError>>,
    told: mpsc::Sender<Result<u32, PipeError>>,
}

impl Stand {
    fn new() -> Self {
        let (_, local) = common::local();
        let (told, heard) = mpsc::channel();
        Self {
            local,
            gate: Gate::default(),
            guests: Arc::default(),
            heard,
            told,
        }
    }

    fn piper(&self) -> Piper {
        Piper {
            gate: self.gate.clone(),
            guests: self.guests.clone(),
            heard: self.told.clone(),
        }
    }

    fn run(&self) {
        settle(&self.local);
    }

    fn heard(&self) -> Vec<u32> {
        let heard = self.heard.try_iter();
        let mut heard: Vec<_> = heard.map(|result| result.unwrap()).collect();
        heard.sort_unstable();
        heard
    }

    /// Returns how many futures have neither completed nor been dropped.
    fn guests(&self) -> usize {
        self.guests.load(Ordering::Relaxed)
    }
}

#[test]
fn results_come_as_messages_while_the_actor_handles_others() {
    let stand = Stand::new();
    let piper = stand.local.spawn(stand.piper());
    piper.send(Msg::Pipe(3, Next::Continue)).unwrap();
    piper.send(Msg::Piped(Ok(9))).unwrap();
    stand.run();
    assert_eq!(stand.heard(), [9]);
    stand.gate.open();
    stand.run();
    assert_eq!(stand.heard(), [0, 1, 2]);
    assert_eq!(stand.guests(), 0);
    assert_eq!(stand.local.handle().dead_letters(), 0);
}

#[test]
fn a_turn_that_is_undone_or_fails_starts_nothing() {
    for (next, is_stopped) in [(Next::Undo, false), (Next::Fail, true)] {
        let stand = Stand::new();
        let piper = stand.local.spawn(stand.piper());
        piper.send(Msg::Pipe(3, next)).unwrap();
        stand.run();
        assert_eq!((stand.gate.polled(), stand.guests()), (0, 0));
        assert_eq!(piper.is_stopped(), is_stopped);
        stand.gate.open();
        stand.run();
        assert_eq!(stand.heard(), []);
    }
}

#[test]
fn a_panic_is_an_error_at_whichever_poll_and_the_actor_goes_on() {
    silence_panics();
    for polls in [1, 3] {
        let stand = Stand::new();
        let piper = stand.local.spawn(stand.piper());
        piper.send(Msg::Panic(polls)).unwrap();
        stand.run();
        let error = stand.heard.try_recv().unwrap().unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
        assert!(!piper.is_stopped());
        // The end of the actor is watched all the same.
        piper.send(Msg::Pipe(2, Next::Continue)).unwrap();
        stand.run();
        assert_eq!(stand.guests(), 2);
        piper.send(Msg::Stop).unwrap();
        stand.run();
        assert_eq!(stand.guests(), 0);
    }
}

#[test]
fn beyond_the_limit_they_wait_and_none_is_lost() {
    let stand = Stand::new();
    let limited = stand.local.actor(stand.piper());
    let limited = limited.pipe_limit(NonZero::new(3).unwrap()).spawn();
    for (piper, limit) in [(stand.local.spawn(stand.piper()), 64), (limited, 3)] {
        stand.gate.close();
        piper.send(Msg::Pipe(200, Next::Continue)).unwrap();
        stand.run();
        assert_eq!(stand.gate.polled(), limit);
        assert_eq!(stand.guests(), 200);
        stand.gate.open();
        stand.run();
        assert_eq!(stand.heard(), (0..200).collect::<Vec<_>>());
        assert_eq!(stand.guests(), 0);
    }
}

#[test]
fn the_end_of_the_actor_ends_what_is_under_way_and_what_waits() {
    silence_panics();
    for end in [|| Msg::Stop, || Msg::Fail] {
        for is_limited in [false, true] {
            let stand = Stand::new();
            let piper = if is_limited {
                let limit = NonZero::new(2).unwrap();
                stand.local.actor(stand.piper()).pipe_limit(limit).spawn()
            } else {
                stand.local.spawn(stand.piper())
            };
            // A second time, when the first ones are gone.
            piper.send(Msg::Pipe(5, Next::Continue)).unwrap();
            stand.run();
            stand.gate.open();
            stand.run();
            assert_eq!(stand.heard().len(), 5);
            stand.gate.close();
            piper.send(Msg::Pipe(100, Next::Continue)).unwrap();
            stand.run();
            assert_eq!(stand.guests(), 100);
            piper.send(end()).unwrap();
            stand.run();
            assert_eq!(stand.guests(), 0);
            stand.gate.open();
            stand.run();
            assert_eq!(stand.heard(), []);
        }
    }
}

#[test]
fn what_is_under_way_keeps_its_actor_alive_and_nothing_else_does() {
    let stand = Stand::new();
    let piper = stand.local.spawn(stand.piper());
    piper.send(Msg::Pipe(1, Next::Continue)).unwrap();
    drop(piper);
    stand.run();
    assert_eq!(stand.guests(), 1);
    stand.gate.open();
    stand.run();
    assert_eq!(stand.heard(), [0]);
    // The piper has the last sender but one.
    let Stand {
        heard, told, local, ..
    } = stand;
    drop(told);
    local.run();
    assert_eq!(heard.try_recv(), Err(mpsc::TryRecvError::Disconnected));
}

#[test]
fn a_restart_ends_what_its_predecessor_had_under_way() {
    silence_panics();
    for is_limited in [false, true] {
        let stand = Stand::new();
        let tree = Supervisor::new("app", Strategy::OneForOne);
        let tree = tree.spawn(&stand.local.handle()).unwrap();
        let (gate, guests, told) = (stand.gate.clone(), stand.guests.clone(), stand.told.clone());
        let piper = move || Piper {
            gate: gate.clone(),
            guests: guests.clone(),
            heard: told.clone(),
        };
        let piper = if is_limited {
            let limit = NonZero::new(2).unwrap();
            tree.handle()
                .actor(piper)
                .pipe_limit(limit)
                .named("piper")
                .supervised_by(&tree)
                .spawn()
        } else {
            tree.handle()
                .actor(piper)
                .named("piper")
                .supervised_by(&tree)
                .spawn()
        };
        let piper = piper.unwrap();
        piper.send(Msg::Pipe(10, Next::Continue)).unwrap();
        stand.run();
        assert_eq!(stand.guests(), 10);
        piper.send(Msg::Fail).unwrap();
        stand.run();
        assert_eq!(stand.guests(), 0);
        stand.gate.open();
        piper.send(Msg::Pipe(2, Next::Continue)).unwrap();
        stand.run();
        assert_eq!(stand.heard(), [0, 1], "only what the new one has begun");
        drop(tree.stop());
        stand.run();
    }
}

#[test]
fn an_actor_behind_a_bounded_mailbox_pipes_too() {
    let stand = Stand::new();
    let mailbox = Mailbox::bounded(10, OnFull::Fail).unwrap();
    let inlet = stand
        .local
        .handle()
        .actor(stand.piper())
        .mailbox(mailbox)
        .spawn();
    let inlet = inlet.unwrap();
    inlet.try_send(Msg::Pipe(2, Next::Continue)).unwrap();
    stand.run();
    stand.gate.open();
    stand.run();
    assert_eq!(stand.heard(), [0, 1]);
    stand.gate.close();
    inlet.try_send(Msg::Pipe(2, Next::Continue)).unwrap();
    inlet.try_send(Msg::Stop).unwrap();
    stand.run();
    assert_eq!(stand.guests(), 0);
}

/// Pipes futures before and after an `await` of the same turn.
struct Awaiting(mpsc::Sender<u32>);

impl AsyncActor for Awaiting {
    type Msg = Option<u32>;
    type Outcome = Next;

    async fn receive(&mut self, msg: Self::Msg, cx: &mut AsyncContext<Self::Msg>) -> Next {
        match msg {
            None => {
                cx.pipe(async { 1 }, |n| n.ok());
                cx.yield_now().await;
                cx.pipe(async { 2 }, |n| n.ok());
                return Next::Undo;
            }
            Some(n) => self.0.send(n).unwrap(),
        }
        Next::Continue
    }
}

#[test]
fn an_async_actor_pipes_what_its_poll_has_not_undone() {
    let (_, local) = common::local();
    let (told, heard) = mpsc::channel();
    let actor = local.spawn(Awaiting(told));
    actor.send(None).unwrap();
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [1]);
    assert_eq!(local.handle().failures(), 0);
}

/// A future that never completes, and sends its number when it is dropped.
struct Endless(u32, mpsc::Sender<u32>);

impl Future for Endless {
    type Output = u32;

    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<u32> {
        Poll::Pending
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.1.send(self.0).unwrap();
    }
}

#[test]
fn what_is_under_way_is_cancelled_in_the_order_in_which_it_came() {
    let (_, local) = common::local();
    let (told, dropped) = mpsc::channel();
    let piper = local.spawn(behavior(move |n: u32, cx| {
        cx.pipe(Endless(n, told.clone()), |n| n.unwrap());
        Next::Continue
    }));
    for n in 0..50 {
        piper.send(n).unwrap();
        // Newborns are run newest first.
        settle(&local);
    }
    assert!(dropped.try_recv().is_err());
    piper.stop();
    settle(&local);
    assert_eq!(
        dropped.try_iter().collect::<Vec<_>>(),
        (0..50).collect::<Vec<_>>()
    );
}

/// An async actor that has given its context to the test, and sends its messages there.
struct Lender {
    address: Address<u32>,
    context: AsyncContext<u32>,
    heard: mpsc::Receiver<u32>,
}

fn lender(local: &Local) -> Lender {
    let (lends, lent) = mpsc::channel();
    let (told, heard) = mpsc::channel();
    let address = local.spawn(move |mut mailbox: Incoming<u32>| async move {
        lends.send(mailbox.context()).unwrap();
        while let Some(n) = mailbox.recv().await {
            told.send(n).unwrap();
        }
    });
    settle(local);
    Lender {
        address,
        context: lent.try_recv().unwrap(),
        heard,
    }
}

#[test]
fn a_future_that_is_piped_between_two_polls_starts_without_another_poll() {
    let (_, local) = common::local();
    let lender = lender(&local);
    lender.context.pipe(async { 7 }, Result::unwrap);
    settle(&local);
    assert_eq!(lender.heard.try_iter().collect::<Vec<_>>(), [7]);
}

#[test]
fn a_future_that_is_piped_in_a_turn_of_another_actor_starts_if_that_turn_commits() {
    let (_, local) = common::local();
    let lender = lender(&local);
    let context = lender.context.clone();
    let other = local.spawn(behavior(move |(n, next): (u32, Next), _| {
        context.pipe(async move { n }, Result::unwrap);
        next
    }));
    for piped in [(1, Next::Undo), (2, Next::Continue)] {
        other.send(piped).unwrap();
        settle(&local);
    }
    // A poll of the actor starts nothing that was undone.
    lender.address.send(3).unwrap();
    settle(&local);
    assert_eq!(lender.heard.try_iter().collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn a_future_that_is_piped_after_the_end_is_dropped() {
    let (_, local) = common::local();
    let lender = lender(&local);
    lender.address.stop();
    settle(&local);
    let guests = Arc::default();
    let guest = Guest::new(&guests);
    lender.context.pipe(async { drop(guest) }, |_| 7);
    settle(&local);
    assert_eq!(guests.load(Ordering::Relaxed), 0);
}
