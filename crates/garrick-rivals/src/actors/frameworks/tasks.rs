//! Tokio tasks with channels instead of an actor library. Tokio's tutorial and many programs write
//! actors in this way. Such a task ends when the last sender of its channel is dropped. A question
//! contains a oneshot channel for the answer.

use tokio::sync::{mpsc, oneshot};

use crate::actors::framework::{Framework, Role, Way};

/// A [`Framework`] made of plain tasks, which takes the place of a library.
#[derive(Debug)]
pub(crate) struct Tasks;

/// The sender of a task's channel.
#[derive(Debug)]
pub(crate) enum Sender<M> {
    /// Sender of a bounded channel. A send may have to wait.
    Bounded(mpsc::Sender<M>),
    /// Sender of an unbounded channel, which always has room.
    Unbounded(mpsc::UnboundedSender<M>),
}

impl<M> Clone for Sender<M> {
    fn clone(&self) -> Self {
        match self {
            Self::Bounded(sender) => Self::Bounded(sender.clone()),
            Self::Unbounded(sender) => Self::Unbounded(sender.clone()),
        }
    }
}

async fn serve_bounded<R: Role<Tasks>>(mut role: R, mut mailbox: mpsc::Receiver<R::Message>) {
    while let Some(message) = mailbox.recv().await {
        role.receive(message).await;
    }
}

async fn serve<R: Role<Tasks>>(mut role: R, mut mailbox: mpsc::UnboundedReceiver<R::Message>) {
    while let Some(message) = mailbox.recv().await {
        role.receive(message).await;
    }
}

/// A question: a number `n`, and the sender for the answer, which is `n + 1`.
#[derive(Debug)]
pub(crate) struct Question(u64, oneshot::Sender<u64>);

impl Framework for Tasks {
    const NAME: &'static str = "tokio";
    const HAS_BOUNDED: bool = true;
    const WAYS: &'static [Way] = &[Way::Async];

    type Address<R: Role<Self>> = Sender<R::Message>;
    type Answerer = mpsc::UnboundedSender<Question>;

    async fn spawn<R: Role<Self>>(role: R, bound: Option<usize>) -> Self::Address<R> {
        if let Some(bound) = bound {
            let (sender, mailbox) = mpsc::channel(bound);
            tokio::spawn(serve_bounded(role, mailbox));
            return Sender::Bounded(sender);
        }
        let (sender, mailbox) = mpsc::unbounded_channel();
        tokio::spawn(serve(role, mailbox));
        Sender::Unbounded(sender)
    }

    async fn tell<R: Role<Self>>(to: &Self::Address<R>, message: R::Message) {
        let sent = match to {
            Sender::Bounded(sender) => sender.send(message).await.is_ok(),
            Sender::Unbounded(sender) => sender.send(message).is_ok(),
        };
        assert!(sent, "the task receives");
    }

    async fn answerer() -> Self::Answerer {
        let (sender, mut mailbox) = mpsc::unbounded_channel::<Question>();
        tokio::spawn(async move {
            while let Some(Question(number, answer)) = mailbox.recv().await {
                // The asking task waits for the answer.
                let _ = answer.send(number + 1);
            }
        });
        sender
    }

    async fn ask(answerer: &Self::Answerer, number: u64) -> u64 {
        let (answer, answered) = oneshot::channel();
        answerer
            .send(Question(number, answer))
            .expect("the task is running");
        answered.await.expect("the task has answered")
    }
}
