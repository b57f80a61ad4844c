//! Tests of streams of messages from actors, and of mailboxes that serve as sinks.

use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{self, Wake, Waker};
use std::thread;

use futures_util::{FutureExt, SinkExt, StreamExt, stream};
use garrick_actor::mailbox::{AddressSink, Mailbox, OnFull, Outlet, SinkError, TrySendError};
use garrick_actor::{Actor, Address, Context, Local, Next, SendError, System, behavior};
use garrick_testkit::ends_alone;

use crate::common::{self, settle};

fn capacity(n: usize) -> NonZero<usize> {
    NonZero::new(n).unwrap()
}

fn stream_of(local: &Local, n: usize) -> (Address<u32>, Outlet<u32>) {
    local.handle().stream(capacity(n)).unwrap()
}

/// Returns all messages that are in the outlet now.
fn read(outlet: &mut Outlet<u32>) -> Vec<u32> {
    std::iter::from_fn(|| outlet.try_recv()).collect()
}

#[test]
fn what_is_sent_is_read_in_order_and_then_it_ends() {
    let system = System::builder().workers(2).start().unwrap();
    let (inlet, outlet) = system.stream::<u32>(capacity(10)).unwrap();
    let sender = thread::spawn(move || {
        for n in 0..1000 {
            // A plain thread waits for a place.
            inlet.send(n).unwrap();
        }
    });
    let local = Local::new().unwrap();
    let read: Vec<u32> = local.block_on(outlet.collect());
    assert!(read.into_iter().eq(0..1000));
    sender.join().unwrap();
}

#[test]
fn a_thread_waits_for_a_place_also_through_a_conversion() {
    let system = System::builder().workers(1).start().unwrap();
    let (inlet, outlet) = system.stream::<u32>(capacity(2)).unwrap();
    let doubled = inlet.contramap(|n: u32| 2 * n);
    drop(inlet);
    let sender = thread::spawn(move || (0..100).for_each(|n| doubled.send(n).unwrap()));
    let local = Local::new().unwrap();
    let read: Vec<u32> = local.block_on(outlet.collect());
    assert!(read.into_iter().eq((0..100).map(|n| 2 * n)));
    sender.join().unwrap();
}

#[test]
fn a_thread_that_alone_runs_a_full_stream_gets_its_message_back() {
    ends_alone(|| {
        let (_, local) = common::local();
        let (out, mut outlet) = stream_of(&local, 1);
        let mapped = out.contramap(|n: u32| n);
        out.send(1).unwrap();
        assert_eq!(out.send(2), Err(SendError(2)));
        assert_eq!(out.send_blocking(3), Err(SendError(3)));
        assert_eq!(mapped.send(4), Err(SendError(4)));
        settle(&local);
        assert_eq!(read(&mut outlet), [1]);
        out.send(5).unwrap();
        settle(&local);
        assert_eq!(read(&mut outlet), [5]);
    });
}

/// Counts its wakes.
#[derive(Default)]
struct Wakes(AtomicU32);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_sink_wakes_the_last_task_that_has_polled_it() {
    let (_, local) = common::local();
    let (out, mut outlet) = stream_of(&local, 1);
    let mut sink = AddressSink::new(&out);
    out.send(1).unwrap();
    let [first, last] = [(); 2].map(|()| Arc::new(Wakes::default()));
    for wakes in [&first, &last] {
        let waker = Waker::from(wakes.clone());
        let ready = sink.poll_ready_unpin(&mut task::Context::from_waker(&waker));
        assert!(ready.is_pending());
    }
    settle(&local);
    assert_eq!(read(&mut outlet), [1]);
    let woken = [&first, &last].map(|wakes| wakes.0.load(Ordering::Relaxed));
    assert_eq!(woken, [0, 1]);
}

/// Sends a number on and ends the turn as the message says. Reports each number that the mailbox
/// rejects.
struct Source {
    out: Address<u32>,
    refused: mpsc::Sender<u32>,
}

impl Actor for Source {
    type Msg = (u32, Next);
    type Outcome = Next;

    fn receive(&mut self, (n, next): Self::Msg, cx: &mut Context<'_, Self::Msg>) -> Next {
        if let Err(SendError(n)) = cx.send(&self.out, n) {
            self.refused.send(n).unwrap();
        }
        next
    }
}

#[test]
fn a_turn_that_is_undone_has_put_nothing_out_and_a_full_stream_gives_back() {
    let (_, local) = common::local();
    let (out, mut outlet) = stream_of(&local, 2);
    let (told, refused) = mpsc::channel();
    let source = local.spawn(Source {
        out: out.clone(),
        refused: told,
    });
    source.send((1, Next::Undo)).unwrap();
    for n in 2..6 {
        source.send((n, Next::Continue)).unwrap();
    }
    settle(&local);
    assert_eq!(refused.try_iter().collect::<Vec<_>>(), [4, 5]);
    assert_eq!(out.waiting(), Some(2));
    assert_eq!(read(&mut outlet), [2, 3]);
    assert_eq!(out.waiting(), Some(0));
    assert!(out.try_send(6).is_ok());
    settle(&local);
    drop((out, source));
    settle(&local);
    assert_eq!(outlet.recv().now_or_never(), Some(Some(6)));
    assert_eq!(outlet.recv().now_or_never(), Some(None));
}

#[test]
fn a_reader_that_has_gone_stops_the_senders() {
    let (_, local) = common::local();
    let (out, outlet) = stream_of(&local, 2);
    out.try_send(1).unwrap();
    out.try_send(2).unwrap();
    settle(&local);
    let waiting = out.clone();
    let mut third = Box::pin(async move { waiting.send_async(3).await });
    assert!(third.as_mut().now_or_never().is_none());
    drop(outlet);
    settle(&local);
    assert_eq!(third.now_or_never(), Some(Err(SendError(3))));
    assert!(out.is_stopped());
    assert!(matches!(out.try_send(4), Err(TrySendError::Stopped(4))));
}

#[test]
fn a_stream_made_in_a_turn_is_read_by_an_async_actor() {
    let (_, local) = common::local();
    let (told, heard) = mpsc::channel();
    let parent = local.spawn(behavior(move |n: u32, cx| {
        let (inlet, mut outlet) = cx.stream::<u32>(capacity(4));
        let told = told.clone();
        drop(cx.spawn(move |_: garrick_actor::Incoming<()>| async move {
            while let Some(n) = outlet.recv().await {
                told.send(n).unwrap();
            }
            told.send(u32::MAX).unwrap();
        }));
        (0..n).for_each(|n| inlet.try_send(n).unwrap());
        Next::Continue
    }));
    parent.send(4).unwrap();
    settle(&local);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [0, 1, 2, 3, u32::MAX]);
}

#[test]
fn a_sink_waits_for_places_and_says_when_its_receiver_has_stopped() {
    let (_, local) = common::local();
    let (told, heard) = mpsc::channel();
    let slow = behavior(move |n: u32, _| {
        told.send(n).unwrap();
        if n == 9 { Next::Stop } else { Next::Continue }
    });
    let mailbox = Mailbox::bounded(2, OnFull::DropNewest).unwrap();
    let inlet = local.handle().actor(slow).mailbox(mailbox).spawn().unwrap();
    let mut sink = AddressSink::new(&inlet);
    let mut numbers = stream::iter((0..100).map(Ok));
    let mut sending = Box::pin(sink.send_all(&mut numbers));
    assert!(sending.as_mut().now_or_never().is_none());
    assert_eq!(inlet.waiting(), Some(2));
    let ended = (0..100).find_map(|_| {
        settle(&local);
        sending.as_mut().now_or_never()
    });
    assert_eq!(ended, Some(Err(SinkError)));
    assert_eq!(
        heard.try_iter().collect::<Vec<_>>(),
        (0..10).collect::<Vec<_>>()
    );
    assert_eq!(inlet.dropped(), 0, "a sink waits whatever the mailbox does");
    // One without a bound takes everything at once.
    let open = local
        .handle()
        .actor(behavior(|_: u32, _| Next::Stop))
        .mailbox(Mailbox::unbounded())
        .spawn();
    let mut sink = AddressSink::new(&open.unwrap());
    assert_eq!(sink.send(1).now_or_never(), Some(Ok(())));
    settle(&local);
    assert_eq!(sink.send(1).now_or_never(), Some(Err(SinkError)));
}
