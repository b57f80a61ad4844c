//! Services that combine the answers of several services in a fixed order.
//!
//! ```text
//!                 +-- Left --> [ left ] ---+
//!   question -> fork                       join -> (left, right)
//!                 +-- Right -> [ right ] --+
//! ```

use std::sync::Arc;

use garrick_sched::{Address, Reply};

use super::passage::passage;
use super::service::{Answer, Request, Service, ask_for};
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;
use crate::quiet::Several;
use crate::system::handle::Handle;

/// A message to a [`join`]: the answer from one of the two sides.
#[derive(Debug)]
pub enum Side<A, B> {
    /// The answer from the left side, or an error if there is no answer.
    Left(Answer<A>),
    /// The answer from the right side, or an error if there is no answer.
    Right(Answer<B>),
}

/// Creates an actor that waits for a [`Side::Left`] and a [`Side::Right`] message, in any order,
/// and sends both answers to `reply`.
///
/// If one side reports that it has no answer, `reply` is dropped immediately, and the answer of the
/// other side is ignored. If a side answers twice before the other side has answered, the second
/// answer replaces the first one.
///
/// # Examples
/// ```
/// use garrick_actor::{Actor, Context, Local, Reply, behaviors::{Side, join}};
///
/// struct Both;
///
/// impl Actor for Both {
///     type Msg = Reply<(u32, &'static str)>;
///     type Outcome = ();
///
///     fn receive(&mut self, reply: Self::Msg, cx: &mut Context<'_, Self::Msg>) {
///         let join = cx.spawn(join(reply));
///         let _ = cx.send(&join, Side::Right(Ok("one")));
///         let _ = cx.send(&join, Side::Left(Ok(1)));
///     }
/// }
///
/// let local = Local::new()?;
/// let both = local.spawn(Both).ask(|reply| reply);
/// local.run();
/// assert_eq!(both.wait(), Ok((1, "one")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn join<A, B>(reply: Reply<(A, B)>) -> impl Actor<Msg = Side<A, B>> + Send
where
    A: Send + 'static,
    B: Send + 'static,
{
    Join {
        left: None,
        right: None,
        reply: Some(reply),
    }
}

struct Join<A: 'static, B: 'static> {
    left: Option<A>,
    right: Option<B>,
    /// Reply to the asker. `None` once the answer has been sent, or once one side has no answer.
    reply: Option<Reply<(A, B)>>,
}

impl<A: Send + 'static, B: Send + 'static> Actor for Join<A, B> {
    type Msg = Side<A, B>;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, side: Side<A, B>, _: &mut Context<'_, Self::Msg>) {
        match side {
            Side::Left(Ok(left)) => self.left = Some(left),
            Side::Right(Ok(right)) => self.right = Some(right),
            Side::Left(Err(_)) | Side::Right(Err(_)) => self.reply = None,
        }
        if self.left.is_some()
            && self.right.is_some()
            && let Some(reply) = self.reply.take()
            && let Some(both) = self.left.take().zip(self.right.take())
        {
            reply.send(both);
        }
    }
}

/// Creates a service that asks `left` and `right` concurrently and returns both answers. The
/// answers may have different types. Use [`par`] for any number of services with the same answer
/// type.
///
/// The returned service is a [door](crate::behaviors#doors-and-actors). For each question, a
/// [`join`] is created on the system `on`. Each question also costs a clone of the question and
/// four sends. If one of the services does not answer, the asker gets no answer.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behaviors};
///
/// let local = Local::new()?;
/// let one = behaviors::constant(1).contramap(|((), reply)| reply);
/// let name = behaviors::constant("one").contramap(|((), reply)| reply);
/// let both = behaviors::fork(&local.handle(), one, name);
/// let asked = both.ask(|reply| ((), reply));
/// local.run();
/// assert_eq!(asked.wait(), Ok((1, "one")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fork<Q, A, B>(on: &Handle, left: Service<Q, A>, right: Service<Q, B>) -> Service<Q, (A, B)>
where
    Q: Clone + Send + 'static,
    A: Send + 'static,
    B: Send + 'static,
{
    let on = on.clone();
    passage(move |(question, reply): Request<Q, (A, B)>| {
        // If the system has ended, the reply is dropped with the actor.
        if let Ok(join) = on.spawn(join(reply)) {
            // A refused request is dropped, and the join gets `NoReply::Dropped`.
            let to_left = Reply::to_task(join.clone(), Side::Left);
            let _ = left.send((question.clone(), to_left));
            let to_right = Reply::to_task(join, Side::Right);
            let _ = right.send((question, to_right));
        }
        Ok(())
    })
}

/// Creates a service that asks all of `services` concurrently and returns their answers in the
/// order of `services`.
///
/// The returned service is a [door](crate::behaviors#doors-and-actors). For each question, an actor
/// that collects the answers is created on the system `on`. For each service, another actor is
/// created, which adds the index of the service to the answer. Each question also costs a clone of
/// the question and three sends for each service. If one of the services drops its reply without an
/// answer, the asker's reply is dropped immediately. If `services` is empty, the answer is an empty
/// list.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behaviors};
///
/// let local = Local::new()?;
/// let services = (0..3).map(|n| behaviors::constant(n).contramap(|((), reply)| reply));
/// let all = behaviors::par(&local.handle(), services.collect());
/// let asked = all.ask(|reply| ((), reply));
/// local.run();
/// assert_eq!(asked.wait(), Ok(vec![0, 1, 2]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn par<Q, R>(on: &Handle, services: Vec<Service<Q, R>>) -> Service<Q, Vec<R>>
where
    Q: Clone + Send + 'static,
    R: Send + 'static,
{
    let on = on.clone();
    passage(move |(question, reply): Request<Q, Vec<R>>| {
        if services.is_empty() {
            reply.send(Vec::new());
            return Ok(());
        }
        let gather = Gather {
            answers: services.iter().map(|_| None).collect::<Vec<_>>().into(),
            left: services.len(),
            reply: Some(reply),
        };
        // If the system has ended, the reply is dropped with the actor.
        if let Ok(gather) = on.spawn(gather) {
            for (place, service) in services.iter().enumerate() {
                let gather = gather.clone();
                if let Ok(place) = on.spawn(Place { place, gather }) {
                    ask_for(service, question.clone(), &place);
                }
            }
        }
        Ok(())
    })
}

/// An actor that adds the index of a service to the answer of the service. A door (a function that
/// the senders call) could not replace this actor: if the turn in which the service answers is
/// undone, only an actor receives `NoReply::Dropped`.
struct Place<R> {
    place: usize,
    gather: Address<(usize, Answer<R>)>,
}

impl<R: Send + 'static> Actor for Place<R> {
    type Msg = Answer<R>;
    type Outcome = Next;
    const INTERNAL: bool = true;
    const STARTS: bool = false;

    fn receive(&mut self, answer: Answer<R>, cx: &mut Context<'_, Answer<R>>) -> Next {
        cx.relay(&self.gather, (self.place, answer))
    }
}

/// An actor that collects the answers to one question, and stores them in the order of the
/// services.
struct Gather<R: 'static> {
    answers: Several<Vec<Option<R>>>,
    /// Number of answers that have not arrived yet.
    left: usize,
    /// Reply to the asker. `None` once the answer has been sent, or once one of the services has no
    /// answer.
    reply: Option<Reply<Vec<R>>>,
}

impl<R: Send + 'static> Actor for Gather<R> {
    type Msg = (usize, Answer<R>);
    type Outcome = Next;
    const INTERNAL: bool = true;
    const STARTS: bool = false;

    fn receive(&mut self, (place, answer): Self::Msg, _: &mut Context<'_, Self::Msg>) -> Next {
        let Ok(answer) = answer else {
            self.reply = None;
            return Next::Continue;
        };
        self.answers[place] = Some(answer);
        self.left -= 1;
        if self.left == 0
            && let Some(reply) = self.reply.take()
        {
            reply.send(self.answers.drain(..).flatten().collect());
        }
        Next::Continue
    }
}

/// Creates a service that asks `services` one after another and returns their answers in the same
/// order. Each service is asked after the previous one has answered.
///
/// The returned service is a [door](crate::behaviors#doors-and-actors). For each question, an actor
/// that asks the services is created on the system `on`. Each question also costs a clone of the
/// question and two sends for each service. If one of the services drops its reply without an
/// answer, the asker's reply is dropped, and the remaining services are not asked. If `services` is
/// empty, the answer is an empty list.
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behaviors};
///
/// let local = Local::new()?;
/// let services = (0..3).map(|n| behaviors::constant(n).contramap(|((), reply)| reply));
/// let in_turn = behaviors::seq(&local.handle(), services.collect());
/// let asked = in_turn.ask(|reply| ((), reply));
/// local.run();
/// assert_eq!(asked.wait(), Ok(vec![0, 1, 2]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn seq<Q, R>(on: &Handle, services: Vec<Service<Q, R>>) -> Service<Q, Vec<R>>
where
    Q: Clone + Send + 'static,
    R: Send + 'static,
{
    let services: Arc<[_]> = services.into();
    let on = on.clone();
    passage(move |(question, reply): Request<Q, Vec<R>>| {
        let Some(first) = services.first() else {
            reply.send(Vec::new());
            return Ok(());
        };
        let steps = Steps {
            question: question.clone(),
            answers: Vec::with_capacity(services.len()).into(),
            services: services.clone(),
            reply: Some(reply),
        };
        // If the system has ended, the reply is dropped with the actor.
        if let Ok(steps) = on.spawn(steps) {
            ask_for(first, question, &steps);
        }
        Ok(())
    })
}

/// An actor that answers a single question by asking the services one after another. Only the
/// pending reply of a service keeps this actor alive.
struct Steps<Q, R: 'static> {
    services: Arc<[Service<Q, R>]>,
    question: Q,
    /// Answers received so far.
    answers: Several<Vec<R>>,
    /// Reply to the asker. `None` once the answer has been sent, or once a service has no answer.
    reply: Option<Reply<Vec<R>>>,
}

impl<Q, R> Actor for Steps<Q, R>
where
    Q: Clone + Send + 'static,
    R: Send + 'static,
{
    type Msg = Answer<R>;
    type Outcome = Next;
    const INTERNAL: bool = true;
    const STARTS: bool = false;

    fn receive(&mut self, answer: Answer<R>, cx: &mut Context<'_, Answer<R>>) -> Next {
        let Ok(answer) = answer else {
            self.reply = None;
            return Next::Continue;
        };
        self.answers.push(answer);
        if let Some(next) = self.services.get(self.answers.len()) {
            ask_for(next, self.question.clone(), &cx.address());
        } else if let Some(reply) = self.reply.take() {
            reply.send(std::mem::take(&mut *self.answers));
        }
        Next::Continue
    }
}

/// Creates a service that asks `first`, sends the answer of `first` as a question to `second`, and
/// returns the answer of `second`.
///
/// The returned service is a [door](crate::behaviors#doors-and-actors). For each question, the
/// system `on` runs an additional actor until `first` has answered. `second` answers the asker
/// directly. So a question costs as many sends as two separate questions to `first` and `second`.
/// If one of the services does not answer, the asker gets no answer.
///
/// # Examples
/// ```
/// use garrick_actor::{Actor, Context, Local, behaviors::{self, Request}};
///
/// struct Double;
///
/// impl Actor for Double {
///     type Msg = Request<u32, u32>;
///     type Outcome = ();
///
///     fn receive(&mut self, (n, reply): Self::Msg, _: &mut Context<'_, Self::Msg>) {
///         reply.send(2 * n);
///     }
/// }
///
/// let local = Local::new()?;
/// let double = local.spawn(Double);
/// let four_times = behaviors::pipe(&local.handle(), double.clone(), double);
/// let asked = four_times.ask(|reply| (5, reply));
/// local.run();
/// assert_eq!(asked.wait(), Ok(20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pipe<A, B, C>(on: &Handle, first: Service<A, B>, second: Service<B, C>) -> Service<A, C>
where
    A: Send + 'static,
    B: Send + 'static,
    C: Send + 'static,
{
    let on = on.clone();
    passage(move |(question, reply): Request<A, C>| {
        let joint = Joint {
            second: second.clone(),
            reply: Some(reply),
        };
        // If the system has ended, the reply is dropped with the actor.
        if let Ok(joint) = on.spawn(joint) {
            ask_for(&first, question, &joint);
        }
        Ok(())
    })
}

/// An actor that sends one answer of the first service to the second service.
struct Joint<B, C: 'static> {
    second: Service<B, C>,
    /// Reply to the asker. `None` once the second service has been asked, or once the first one has
    /// no answer.
    reply: Option<Reply<C>>,
}

impl<B: Send + 'static, C: Send + 'static> Actor for Joint<B, C> {
    type Msg = Answer<B>;
    type Outcome = ();
    const INTERNAL: bool = true;
    const STARTS: bool = false;

    fn receive(&mut self, answer: Answer<B>, cx: &mut Context<'_, Answer<B>>) {
        if let Some(reply) = self.reply.take()
            && let Ok(answer) = answer
        {
            // A refused request is dropped, and the asker gets `NoReply::Dropped`.
            let _ = cx.send(&self.second, (answer, reply));
        }
    }
}
