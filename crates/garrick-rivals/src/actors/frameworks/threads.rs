//! Threads with channels of the crate crossbeam, instead of an actor library. Such a thread ends
//! when the last sender of its channel is dropped. A question contains a channel for one answer.
//!
//! In the other frameworks, the driver is a future that returns `Pending` while it waits. Here, the
//! calls in the driver block their thread instead. The driver returns `Pending` only while it waits
//! for the end of the run.

use std::future::{Future, ready};
use std::thread;

use crossbeam_channel::{Receiver, Sender};
use futures_util::FutureExt;
use garrick_measure::Result;

use crate::actors::framework::{Framework, Role, run_on_tokio};

/// A [`Framework`] made of plain threads, which takes the place of a library.
#[derive(Debug)]
pub(crate) struct Threads;

/// Stack size of a thread, in bytes. No thread here needs the default of 2 MiB.
const STACK_BYTES: usize = 64 << 10;

fn start(body: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    thread.spawn(body).expect("the system can start a thread");
}

fn serve<R: Role<Threads>>(mut role: R, mailbox: &Receiver<R::Message>) {
    for message in mailbox {
        role.receive(message)
            .now_or_never()
            .expect("the future waits only by blocking");
    }
}

/// A question: a number `n`, and the sender for the answer, which is `n + 1`.
#[derive(Debug)]
pub(crate) struct Question(u64, Sender<u64>);

impl Framework for Threads {
    const NAME: &'static str = "threads";
    const HAS_BOUNDED: bool = true;

    type Address<R: Role<Self>> = Sender<R::Message>;
    type Answerer = Sender<Question>;

    fn run<T: Send + 'static>(
        _: usize,
        driver: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        run_on_tokio(1, driver)
    }

    fn spawn<R: Role<Self>>(
        role: R,
        bound: Option<usize>,
    ) -> impl Future<Output = Self::Address<R>> + Send {
        let (sender, mailbox) =
            bound.map_or_else(crossbeam_channel::unbounded, crossbeam_channel::bounded);
        start(move || serve(role, &mailbox));
        ready(sender)
    }

    fn tell<R: Role<Self>>(
        to: &Self::Address<R>,
        message: R::Message,
    ) -> impl Future<Output = ()> + Send {
        assert!(to.send(message).is_ok(), "the thread receives");
        ready(())
    }

    async fn answerer() -> Self::Answerer {
        let (sender, mailbox) = crossbeam_channel::unbounded::<Question>();
        start(move || {
            for Question(number, answer) in mailbox {
                // The asking thread waits for the answer.
                let _ = answer.send(number + 1);
            }
        });
        sender
    }

    async fn ask(answerer: &Self::Answerer, number: u64) -> u64 {
        let (answer, answered) = crossbeam_channel::bounded(1);
        answerer
            .send(Question(number, answer))
            .expect("the thread is running");
        answered.recv().expect("the thread has answered")
    }

    fn go<T: Future<Output = ()> + Send + 'static>(tasks: Vec<T>) {
        for task in tasks {
            start(move || {
                task.now_or_never()
                    .expect("the future waits only by blocking");
            });
        }
    }

    fn pause() -> impl Future<Output = ()> + Send {
        ready(())
    }
}
