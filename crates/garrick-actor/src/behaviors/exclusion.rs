//! Mutual exclusion: one question at a time.

use std::collections::VecDeque;

use garrick_sched::Reply;

use super::front::Front;
use super::service::{Answer, Request, Service};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::quiet::Several;

/// Creates a service that lets one question at a time through to `service`. The others wait in the
/// order of their arrival. Use it for a resource that must not be used twice at once, even if it
/// answers long after the turn in which it was asked.
///
/// The serializer asks `service` with its own reply, and passes the answer on. The number of
/// waiting questions has no bound. An asker with a time limit asks through a
/// [`timeout`](super::timeout()).
///
/// It costs three more messages for each question.
///
/// # When something fails
/// - A question that the service drops, for example by a panic, has no answer. The next question is
///   let through.
/// - When the service has stopped, all waiting questions have no answer, and the serializer stops.
/// - A service that keeps a reply forever blocks all waiting questions. Put a
///   [`timeout`](super::timeout()) behind the serializer. The service may then still be at work
///   when the next question comes.
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

/// A message to the serializer itself.
enum Entry<Q, R: 'static> {
    Asked(Request<Q, R>),
    /// The result of the question that was let through.
    Done(Answer<R>),
}

struct Serializer<Q, R: 'static> {
    service: Service<Q, R>,
    /// Reply to the asker of the question that was let through, if there is one.
    customer: Option<Reply<R>>,
    /// Waiting questions. Empty while no question is let through.
    waiting: Several<VecDeque<Request<Q, R>>>,
}

impl<Q, R> Serializer<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    /// Passes a question to the service. If the service has stopped, all askers get
    /// `NoReply::Dropped`.
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
