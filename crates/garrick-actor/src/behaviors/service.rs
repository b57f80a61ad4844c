//! Services: what takes a question and the right to answer it.

use garrick_sched::{Address, NoReply, Reply};

/// A question with the right to answer it: in the seed's terms, a message whose first part is the customer.
///
/// With a question of 8 bytes it is 24 bytes, which travel fastest.
pub type Request<Q, R> = (Q, Reply<R>);

/// An address that takes questions.
pub type Service<Q, R> = Address<Request<Q, R>>;

/// How a question ends.
pub(super) type Answer<R> = Result<R, NoReply>;

/// Sends `service` a question to be answered to `to`. If the service has stopped, that hears so.
pub(super) fn ask_for<Q, R>(service: &Service<Q, R>, question: Q, to: &Address<Answer<R>>)
where
    Q: 'static,
    R: Send + 'static,
{
    let reply = Reply::to_task(to.clone(), |answer| answer);
    // A request that comes back is dropped, and its reply answers that nobody does.
    let _ = service.send((question, reply));
}
