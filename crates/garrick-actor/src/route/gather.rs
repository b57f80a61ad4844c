//! A policy that asks all routees and returns the first answer.

use std::fmt;

use garrick_sched::{NoReply, Reply};

use super::policy::Policy;
use super::routees::Routees;
use super::router::RouterMsg;
use crate::model::actor::Actor;
use crate::model::context::Context;

/// A policy that asks all routees and sends the first answer to the asker. If all routees drop
/// their replies without answering, the asker gets [`NoReply::Dropped`].
///
/// For each question, the router spawns an actor that receives the answers. This actor exists until
/// every routee has answered or dropped its reply. Answers after the first one are dropped. The
/// policy has no time limit, but the asker can set one.
///
/// # Examples
/// ```
/// use garrick_actor::route::{FirstCompleted, Router};
/// use garrick_actor::{Actor, Context, Reply, System};
///
/// struct Find {
///     word: String,
///     reply: Reply<u32>,
/// }
///
/// /// Knows the page of one word.
/// struct Index(&'static str, u32);
///
/// impl Actor for Index {
///     type Msg = Find;
///     type Outcome = ();
///
///     fn receive(&mut self, find: Find, _: &mut Context<'_, Find>) {
///         if find.word == self.0 {
///             find.reply.send(self.1);
///         }
///     }
/// }
///
/// let system = System::new()?;
/// // Takes a message apart, and creates it again with a new reply.
/// let policy = FirstCompleted::new(|Find { word, reply }: Find| {
///     (reply, move |reply| Find { word: word.clone(), reply })
/// });
/// let router = Router::spawn(&system.handle(), policy)?;
/// router.add(&system.spawn(Index("actor", 7))?)?;
/// router.add(&system.spawn(Index("router", 99))?)?;
///
/// let find = |word: &str| {
///     let word = word.to_owned();
///     router.ask(|reply| Find { word, reply }).wait()
/// };
/// assert_eq!(find("router"), Ok(99));
/// assert!(find("carburettor").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FirstCompleted<S> {
    split: S,
}

impl<S> FirstCompleted<S> {
    /// Creates a policy that asks all routees. `split` takes a message apart: it returns the reply
    /// that the message contained, and a function. This function takes another reply, and creates
    /// the same message with that reply.
    pub fn new<M, R: 'static, F>(split: S) -> Self
    where
        S: FnMut(M) -> (Reply<R>, F),
        F: FnMut(Reply<R>) -> M,
    {
        Self { split }
    }
}

impl<M, R, F, S> Policy<M> for FirstCompleted<S>
where
    M: 'static,
    R: Send + 'static,
    S: FnMut(M) -> (Reply<R>, F) + Send + 'static,
    F: FnMut(Reply<R>) -> M,
{
    fn route(
        &mut self,
        msg: M,
        routees: &mut Routees<M>,
        cx: &Context<'_, RouterMsg<M>>,
    ) -> Result<(), M> {
        routees.remove_stopped();
        if routees.is_empty() {
            return Err(msg);
        }
        let (reply, mut make) = (self.split)(msg);
        // When the last routee has answered or dropped its reply, the gatherer is unreachable and
        // is dropped. If the asker's reply has not been used, it is dropped with the gatherer.
        let gatherer = cx.spawn(Gatherer(Some(reply)));
        let mut make = || make(Reply::to_task(gatherer.clone(), Answer));
        match routees.send_to_all(&mut make) {
            // The asker's reply is in the gatherer. It is dropped after the router has dropped this
            // message, which contains the last reply to the gatherer.
            0 => Err(make()),
            _ => Ok(()),
        }
    }
}

struct Gatherer<R: 'static>(Option<Reply<R>>);

struct Answer<R>(Result<R, NoReply>);

impl<R: 'static> Actor for Gatherer<R> {
    type Msg = Answer<R>;
    type Outcome = ();
    const INTERNAL: bool = true;
    const STARTS: bool = false;

    fn receive(&mut self, Answer(answer): Answer<R>, _: &mut Context<'_, Answer<R>>) {
        if let Ok(answer) = answer
            && let Some(reply) = self.0.take()
        {
            reply.send(answer);
        }
    }
}

impl<S> fmt::Debug for FirstCompleted<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstCompleted").finish_non_exhaustive()
    }
}
