//! Several services as one, whose answers come together in a stated order.
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

/// A message to a [`join`].
#[derive(Debug)]
pub enum Side<A, B> {
    /// The result of the first question.
    Left(Answer<A>),
    /// The result of the second question.
    Right(Answer<B>),
}

/// Waits for one answer of each side, in any order, and gives both to `reply`.
///
/// If one side has no answer, there is no answer, at once. The other side's answer is then ignored.
/// If a side answers again while the other is awaited, the new answer replaces the old.
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
    /// Reply to the asker. `None` once it is answered or one side has failed.
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

/// Creates a service that asks both services at the same time, and answers with both answers. They
/// may have answers of different types. For many services of one type see [`par`].
///
/// A door. Each question creates a [`join`] `on` a system. It costs that actor, a clone of the
/// question and four messages. There is no answer if one of the services gives none.
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

/// Creates a service that asks all `services` at the same time. It answers with their answers in
/// the order in which the services are stated, whichever comes first.
///
/// A door. Each question creates an actor `on` a system that gathers the answers, and one actor for
/// each service that labels its answer. It costs those, a clone of the question and three messages
/// for each service. There is no answer, at once, if one of the services gives none. The answer of
/// no services is empty.
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

/// Labels the answer of one service with its place. Not a door, because an answer from an undone
/// turn must be taken back here.
struct Place<R> {
    place: usize,
    gather: Address<(usize, Answer<R>)>,
}

impl<R: Send + 'static> Actor for Place<R> {
    type Msg = Answer<R>;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, answer: Answer<R>, cx: &mut Context<'_, Answer<R>>) -> Next {
        cx.relay(&self.gather, (self.place, answer))
    }
}

/// Puts the answers of one question in their places.
struct Gather<R: 'static> {
    answers: Several<Vec<Option<R>>>,
    /// Number of missing answers.
    left: usize,
    /// Reply to the asker. `None` once one of the services has failed.
    reply: Option<Reply<Vec<R>>>,
}

impl<R: Send + 'static> Actor for Gather<R> {
    type Msg = (usize, Answer<R>);
    type Outcome = Next;
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

/// Creates a service that asks `services` one after the other, each when the one before has
/// answered. It answers with their answers in this order.
///
/// A door. Each question creates an actor `on` a system that goes through the services. It costs
/// that actor, a clone of the question and two messages for each service. If one of the services
/// gives no answer, there is none, and the services behind it are not asked. The answer of no
/// services is empty.
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

/// Goes through the services for one question. Only the pending reply can reach it.
struct Steps<Q, R: 'static> {
    services: Arc<[Service<Q, R>]>,
    question: Q,
    /// Answers of the services that have answered.
    answers: Several<Vec<R>>,
    /// Reply to the asker. `None` once it is answered or a service has failed.
    reply: Option<Reply<Vec<R>>>,
}

impl<Q, R> Actor for Steps<Q, R>
where
    Q: Clone + Send + 'static,
    R: Send + 'static,
{
    type Msg = Answer<R>;
    type Outcome = Next;
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

/// Creates a service that asks `first`, asks `second` with that answer, and answers with the answer
/// of `second`.
///
/// A door. Each question creates an actor `on` a system, which lasts until `first` has answered. It
/// costs that actor, and one message more than asking one after the other, because `second` answers
/// the asker directly. There is no answer if one of the two gives none.
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

/// Takes one answer of the first service to the second.
struct Joint<B, C: 'static> {
    second: Service<B, C>,
    /// Reply to the asker. `None` once it has been handed on.
    reply: Option<Reply<C>>,
}

impl<B: Send + 'static, C: Send + 'static> Actor for Joint<B, C> {
    type Msg = Answer<B>;
    type Outcome = ();
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
