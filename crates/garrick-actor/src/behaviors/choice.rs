//! The first of several.

use garrick_sched::Reply;

use super::service::{Answer, Request, Service, ask_for};
use super::stateless::stateless;
use crate::actor::{Actor, Next};
use crate::context::Context;

/// A service that asks all `services`, and answers with what answers first. The seed's `race`.
///
/// Stateless; each question makes an actor that lasts until its last answer is in. Costs that actor, a clone of
/// the question and two messages for each service. Those that come later have worked for nothing: they are not
/// told.
///
/// There is no answer if none of the services gives one, which includes those that have stopped, and a race
/// between none.
///
/// # Examples
/// ```
/// use garrick_actor::{Contramap, Local, behaviors};
///
/// let local = Local::new()?;
/// let service = |name| {
///     let constant = local.spawn(behaviors::constant(name));
///     local.spawn(constant.contramap(|((), reply)| reply))
/// };
/// let race = local.spawn(behaviors::race(vec![service("tortoise"), service("hare")]));
/// let asked = race.ask(|reply| ((), reply));
/// local.run();
/// println!("{} wins", asked.wait()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn race<Q, R>(services: Vec<Service<Q, R>>) -> impl Actor<Msg = Request<Q, R>> + Send
where
    Q: Clone + Send + 'static,
    R: Send + 'static,
{
    stateless(move |(question, reply): Request<Q, R>, cx| {
        let finish = cx.spawn(Finish { reply: Some(reply) });
        for service in &services {
            ask_for(cx, service, question.clone(), &finish);
        }
        Next::Continue
    })
}

/// Where all runners of one race come in. When the last of them has given up nobody can reach it, and the reply
/// is dropped with it.
struct Finish<R: 'static> {
    /// None once there is a winner.
    reply: Option<Reply<R>>,
}

impl<R: Send + 'static> Actor for Finish<R> {
    type Msg = Answer<R>;

    fn receive(&mut self, answer: Answer<R>, _: &mut Context<'_, Answer<R>>) -> Next {
        if let Ok(answer) = answer
            && let Some(reply) = self.reply.take()
        {
            reply.send(answer);
        }
        Next::Continue
    }
}
