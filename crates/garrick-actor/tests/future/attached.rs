//! Tests of attached streams: the order of the items, back-pressure, and the end of a stream.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use futures_util::{StreamExt, stream};
use garrick_actor::future::{Attachment, Streamed, Ticket};
use garrick_actor::{Actor, Address, Context, Local, Next};

use crate::common::{self, settle};
use crate::pipes::Guest;
use garrick_testkit::{fail, silence_panics};

/// Records the items of a stream. Keeps their tickets if `keeps` is true, and drops tickets on
/// request.
struct Reader {
    kept: Vec<Ticket>,
    heard: Rc<RefCell<Vec<String>>>,
    keeps: bool,
    attachment: Option<Attachment>,
}

/// A closure that attaches a stream to a reader.
type Attach = Box<dyn FnOnce(&mut Context<'_, Read>) -> Attachment + Send>;

/// A message to a reader.
enum Read {
    Attach(Attach, Next),
    Streamed(Streamed<u32>),
    GiveBack(usize),
    Detach,
}

impl Actor for Reader {
    type Msg = Read;
    type Outcome = Next;

    fn receive(&mut self, msg: Read, cx: &mut Context<'_, Read>) -> Next {
        let mut heard = self.heard.borrow_mut();
        match msg {
            Read::Attach(attach, next) => {
                let attachment = attach(cx);
                self.attachment = (next == Next::Continue).then_some(attachment);
                return next;
            }
            Read::Streamed(Streamed::Item(n, ticket)) => {
                heard.push(n.to_string());
                if self.keeps {
                    self.kept.push(ticket);
                }
            }
            Read::Streamed(Streamed::End) => heard.push("end".to_owned()),
            Read::Streamed(Streamed::Failed(_)) => heard.push("failed".to_owned()),
            Read::GiveBack(count) => drop(self.kept.drain(..count)),
            Read::Detach => self.attachment.take().unwrap().detach(),
        }
        Next::Continue
    }
}

fn reader(local: &Local, keeps: bool) -> (Address<Read>, Rc<RefCell<Vec<String>>>) {
    let heard = Rc::<RefCell<Vec<String>>>::default();
    let reader = Reader {
        kept: Vec::new(),
        heard: heard.clone(),
        keeps,
        attachment: None,
    };
    (local.spawn(reader), heard)
}

/// Returns a stream of the numbers below `count`, which counts in `taken` how many items were
/// taken.
fn numbers(taken: &Arc<AtomicUsize>, count: u32) -> impl stream::Stream<Item = u32> + Send + use<> {
    let taken = taken.clone();
    stream::iter(0..count).inspect(move |_| {
        taken.fetch_add(1, Ordering::Relaxed);
    })
}

#[test]
fn a_stream_comes_in_order_and_says_that_it_has_ended() {
    let (_, local) = common::local();
    let (reader, heard) = reader(&local, false);
    let stream = stream::iter(0..1000);
    let attach = move |cx: &mut Context<'_, Read>| cx.attach(stream, Read::Streamed);
    reader
        .send(Read::Attach(Box::new(attach), Next::Continue))
        .ok()
        .unwrap();
    settle(&local);
    let expected: Vec<_> = (0..1000)
        .map(|n: u32| n.to_string())
        .chain(["end".to_owned()])
        .collect();
    assert_eq!(*heard.borrow(), expected);
}

#[test]
fn no_more_items_are_taken_than_there_are_tickets_for() {
    let (_, local) = common::local();
    let (reader, heard) = reader(&local, true);
    let taken = Arc::<AtomicUsize>::default();
    let stream = numbers(&taken, 10);
    let attach = move |cx: &mut Context<'_, Read>| {
        cx.attach_with(NonZero::new(3).unwrap(), stream, Read::Streamed)
    };
    reader
        .send(Read::Attach(Box::new(attach), Next::Continue))
        .ok()
        .unwrap();
    let mut expected = 3;
    for back in [0, 1, 2, 3] {
        reader.send(Read::GiveBack(back)).ok().unwrap();
        settle(&local);
        expected += back;
        assert_eq!(taken.load(Ordering::Relaxed), expected);
        assert_eq!(heard.borrow().len(), expected);
    }
    reader.send(Read::GiveBack(3)).ok().unwrap();
    settle(&local);
    assert_eq!(heard.borrow().last().unwrap(), "end");
}

#[test]
fn an_attachment_ends_with_its_turn_its_actor_or_when_it_is_detached() {
    for (next, end) in [
        (Next::Undo, None),
        (Next::Continue, Some(true)),
        (Next::Continue, Some(false)),
    ] {
        let (_, local) = common::local();
        let (reader, heard) = reader(&local, false);
        let guests = Arc::<AtomicUsize>::default();
        let guest = Guest::new(&guests);
        let stream = stream::once(async { 1 }).chain(stream::once(async move {
            let _guest = guest;
            pending::<u32>().await
        }));
        let attach = move |cx: &mut Context<'_, Read>| cx.attach(stream, Read::Streamed);
        reader
            .send(Read::Attach(Box::new(attach), next))
            .ok()
            .unwrap();
        settle(&local);
        match end {
            None => assert!(heard.borrow().is_empty()),
            Some(detach) => {
                assert_eq!(*heard.borrow(), ["1"]);
                assert_eq!(guests.load(Ordering::Relaxed), 1);
                if detach {
                    reader.send(Read::Detach).ok().unwrap();
                } else {
                    reader.stop();
                }
            }
        }
        settle(&local);
        assert_eq!(guests.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_stream_that_panics_says_so_once() {
    silence_panics();
    let (_, local) = common::local();
    let (reader, heard) = reader(&local, false);
    let polls = Cell::new(0);
    let stream = stream::poll_fn(move |_| {
        polls.set(polls.get() + 1);
        if polls.get() == 20 {
            fail();
        }
        Poll::Ready(Some(polls.get()))
    });
    let attach = move |cx: &mut Context<'_, Read>| cx.attach(stream, Read::Streamed);
    reader
        .send(Read::Attach(Box::new(attach), Next::Continue))
        .ok()
        .unwrap();
    settle(&local);
    let heard = heard.borrow();
    assert_eq!(heard.last().unwrap(), "failed");
    assert_eq!(heard.iter().filter(|line| *line == "failed").count(), 1);
    // The items of the poll that failed have vanished with it.
    assert!(heard.len() <= 20, "{heard:?}");
}
