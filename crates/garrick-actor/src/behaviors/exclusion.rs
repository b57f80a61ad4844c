//! A serializer, which passes questions to a service one after another.

use std::collections::VecDeque;

use garrick_sched::Reply;

use super::front::Front;
use super::service::{Answer, Request, Service};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::quiet::Several;

/// Creates a service that passes questions to `service` one after another. Each question waits
/// until all earlier ones have been answered or dropped.
///
/// Use a serializer for a resource that must not be used concurrently. If the actor of the resource
/// answers each question in the turn in which it receives the question, no serializer is needed.
///
/// The serializer sends each question to `service` with a new reply, and passes the answer to the
/// asker. The number of waiting questions is unbounded. An asker that needs a time limit should ask
/// through a [`timeout`](super::timeout()).
///
/// Each question costs three additional sends.
///
/// # When something fails
/// - If the service drops a question, for example because it panics, the asker gets no answer. The
///   serializer then passes the next question to the service.
/// - If the service has stopped, the serializer stops too, and the waiting questions get no answer.
/// - If the service neither answers a question nor drops its reply, all waiting questions wait
///   forever. To prevent this, wrap the service in a [`timeout`](super::timeout()) first. However,
///   the service may then receive the next question while it is still working on the previous one.
///
/// # Examples
/// ```
/// use garrick_actor::{Actor, Context, Local, behaviors::{self, Request}};
///
/// struct Printer;
///
/// impl Actor for Printer {
///     type Msg = Request<&'static str, usize>;
///     type Outcome = ();
///
///     fn receive(&mut self, (page, reply): Self::Msg, _: &mut Context<'_, Self::Msg>) {
///         reply.send(page.len());
///     }
/// }
///
/// let local = Local::new()?;
/// let printer = local.spawn(Printer);
/// let queue = local.spawn(behaviors::serializer(printer));
/// let (one, other) = (queue.ask(|reply| ("one", reply)), queue.ask(|reply| ("other", reply)));
/// local.run();
/// assert_eq!((one.wait(), other.wait()), (Ok(3), Ok(5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn serializer<Q, R>(service: Service<Q, R>) -> impl Actor<Msg = Request<Q, R>> + Send
where
    Q: Send + 'static,
    R: Send + 'static,
{
    let serializer = Serializer {
        service,
        customer: None,
        waiting: Several::default(),
    };
    Front::new(serializer, Entry::Asked)
}

/// A message to the core, which is the actor that does the work of the serializer.
enum Entry<Q, R: 'static> {
    Asked(Request<Q, R>),
    /// The result of the current question.
    Done(Answer<R>),
}

struct Serializer<Q, R: 'static> {
    service: Service<Q, R>,
    /// Reply to the asker of the current question. `None` if there is no current question.
    customer: Option<Reply<R>>,
    /// Waiting questions. Empty if there is no current question.
    waiting: Several<VecDeque<Request<Q, R>>>,
}

impl<Q, R> Serializer<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    /// Passes a question to the service. If the service has stopped, stops this actor, so that all
    /// askers get `NoReply::Dropped`.
    fn let_through(
        &mut self,
        (question, customer): Request<Q, R>,
        cx: &Context<'_, Entry<Q, R>>,
    ) -> Next {
        if self.service.is_stopped() {
            return Next::Stop;
        }
        self.customer = Some(customer);
        cx.ask(&self.service, |reply| (question, reply), Entry::Done);
        Next::Continue
    }

    fn pass_on(&mut self, answer: Answer<R>) {
        if let Some(customer) = self.customer.take()
            && let Ok(answer) = answer
        {
            customer.send(answer);
        }
    }
}

impl<Q, R> Actor for Serializer<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    type Msg = Entry<Q, R>;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, entry: Entry<Q, R>, cx: &mut Context<'_, Self::Msg>) -> Next {
        match entry {
            Entry::Asked(request) if self.customer.is_some() => self.waiting.push_back(request),
            Entry::Asked(request) => return self.let_through(request, cx),
            Entry::Done(answer) => {
                self.pass_on(answer);
                if let Some(request) = self.waiting.pop_front() {
                    return self.let_through(request, cx);
                }
            }
        }
        Next::Continue
    }
}
