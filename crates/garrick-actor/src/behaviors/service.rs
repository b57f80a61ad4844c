//! Services: addresses that take a question and the right to answer it.

use garrick_sched::{Address, NoReply, Reply};

/// A question with the right to answer it.
///
/// With a question of 8 bytes it has 24 bytes, which are sent fastest.
pub type Request<Q, R> = (Q, Reply<R>);

/// An address that takes questions.
pub type Service<Q, R> = Address<Request<Q, R>>;

/// The result of a question.
pub(super) type Answer<R> = Result<R, NoReply>;

/// Sends `service` a question to be answered to `to`. If the service has stopped, `to` gets
/// `NoReply::Dropped`.
pub(super) fn ask_for<Q, R>(service: &Service<Q, R>, question: Q, to: &Address<Answer<R>>)
where
    Q: 'static,
    R: Send + 'static,
{
    let reply = Reply::to_task(to.clone(), |answer| answer);
    // A refused request is dropped, and its reply then answers `NoReply::Dropped`.
    let _ = service.send((question, reply));
}
