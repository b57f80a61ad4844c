//! A race: a service that asks several services and returns the first answer.

use garrick_sched::Reply;

use super::passage::passage;
use super::service::{Answer, Request, Service, ask_for};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::system::handle::Handle;

/// Creates a service that asks all of `services` and returns the first answer.
///
/// The returned service is a [door](crate::behaviors#doors-and-actors). For each question, the
/// system `on` runs an additional actor until every service has answered or can no longer answer.
/// Each question also costs a clone of the question and two sends for each service. Answers after
/// the first one are dropped. The other services are not notified that their answers are no longer
/// needed.
///
/// If no service answers, the asker gets no answer. For example, all services may have stopped, or
/// `services` may be empty.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behaviors};
///
/// let local = Local::new()?;
/// let service = |name| behaviors::constant(name).contramap(|((), reply)| reply);
/// let runners = vec![service("tortoise"), service("hare")];
/// let race = behaviors::race(&local.handle(), runners);
/// let asked = race.ask(|reply| ((), reply));
/// local.run();
/// println!("{} wins", asked.wait()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn race<Q, R>(on: &Handle, services: Vec<Service<Q, R>>) -> Service<Q, R>
where
    Q: Clone + Send + 'static,
    R: Send + 'static,
{
    let on = on.clone();
    passage(move |(question, reply): Request<Q, R>| {
        // If the system has ended, the reply is dropped with the actor.
        if let Ok(finish) = on.spawn(Finish { reply: Some(reply) }) {
            for service in &services {
                ask_for(service, question.clone(), &finish);
            }
        }
        Ok(())
    })
}

/// The receiver of all answers to one question. When no service can answer any more, no address
/// leads to this actor. The actor is then dropped together with its reply.
struct Finish<R: 'static> {
    /// Reply to the asker. `None` after the first answer.
    reply: Option<Reply<R>>,
}

impl<R: Send + 'static> Actor for Finish<R> {
    type Msg = Answer<R>;
    type Outcome = ();
    const INTERNAL: bool = true;
    const STARTS: bool = false;

    fn receive(&mut self, answer: Answer<R>, _: &mut Context<'_, Answer<R>>) {
        if let Ok(answer) = answer
            && let Some(reply) = self.reply.take()
        {
            reply.send(answer);
        }
    }
}
