//! The first answer of several services.

use garrick_sched::Reply;

use super::passage::passage;
use super::service::{Answer, Request, Service, ask_for};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::system::handle::Handle;

/// Creates a service that asks all `services`, and answers with the first answer.
///
/// A door. Each question creates an actor `on` a system, which lasts until its last answer is in.
/// It costs that actor, a clone of the question and two messages for each service. Later answers
/// are dropped. Their services are not notified.
///
/// There is no answer if none of the services gives one. That includes services that have stopped,
/// and an empty list.
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

/// The receiver of all answers of one race. When the last service has given up, it is unreachable,
/// and the reply is dropped with it.
struct Finish<R: 'static> {
    /// Reply to the asker. `None` once there is a winner.
    reply: Option<Reply<R>>,
}

impl<R: Send + 'static> Actor for Finish<R> {
    type Msg = Answer<R>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, answer: Answer<R>, _: &mut Context<'_, Answer<R>>) {
        if let Ok(answer) = answer
            && let Some(reply) = self.reply.take()
        {
            reply.send(answer);
        }
    }
}
