//! Services: addresses that receive questions together with their replies.

use garrick_sched::{Address, NoReply, Reply};

/// A question together with the [`Reply`] for its answer.
///
/// If the question has at most 8 bytes, the request has at most 24 bytes. Messages of at most 24
/// bytes are sent fastest.
pub type Request<Q, R> = (Q, Reply<R>);

/// An address that receives [`Request`]s, which are questions together with their replies.
pub type Service<Q, R> = Address<Request<Q, R>>;

/// The answer to a question, or an error if there is no answer.
pub(super) type Answer<R> = Result<R, NoReply>;

/// Sends a question to `service`. The answer is sent to `to`. If the service has stopped, `to`
/// receives `NoReply::Dropped`.
pub(super) fn ask_for<Q, R>(service: &Service<Q, R>, question: Q, to: &Address<Answer<R>>)
where
    Q: 'static,
    R: Send + 'static,
{
    let reply = Reply::to_task(to.clone(), |answer| answer);
    // A refused request is dropped, and its reply then answers `NoReply::Dropped`.
    let _ = service.send((question, reply));
}
