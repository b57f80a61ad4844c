//! Asks between actors.

use std::any::type_name;
use std::marker::PhantomData;

use garrick_sched::{Address, Flow, NoReply, Reply, Task, Turn};

use crate::model::context::Context;

impl<M: 'static> Context<'_, M> {
    /// Asks another actor. `msg` creates the question from a [`Reply`]. This actor receives the
    /// answer as a message, which `convert` creates.
    ///
    /// The answer is [`NoReply::Dropped`] if the other actor has stopped, if it fails or drops the
    /// [`Reply`] before it answers, or if the current turn is undone.
    ///
    /// If `convert` captures no values (for example, because it is a variant of an enum), it is
    /// called in the turn of the other actor. The ask then costs two ordinary sends. If `convert`
    /// captures values, it is called in a small helper actor, which costs an additional spawn and
    /// an additional send. The captured values must be `Copy`. Use [`Context::ask_once`] to capture
    /// other values.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Address, Context, Local, NoReply, Reply};
    ///
    /// struct Double;
    ///
    /// impl Actor for Double {
    ///     type Msg = (u32, Reply<u32>);
    ///     type Outcome = ();
    ///
    ///     fn receive(&mut self, (n, reply): (u32, Reply<u32>), _: &mut Context<'_, Self::Msg>) {
    ///         reply.send(2 * n);
    ///     }
    /// }
    ///
    /// struct Asker(Address<(u32, Reply<u32>)>);
    ///
    /// enum Msg {
    ///     Begin,
    ///     Doubled(Result<u32, NoReply>),
    /// }
    ///
    /// impl Actor for Asker {
    ///     type Msg = Msg;
    ///     type Outcome = ();
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) {
    ///         match msg {
    ///             Msg::Begin => cx.ask(&self.0, |reply| (21, reply), Msg::Doubled),
    ///             Msg::Doubled(answer) => assert_eq!(answer, Ok(42)),
    ///         }
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let double = local.spawn(Double);
    /// local.spawn(Asker(double)).send(Msg::Begin).unwrap();
    /// local.run();
    /// assert_eq!(local.handle().failures(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn ask<N, R, F>(&self, to: &Address<N>, msg: impl FnOnce(Reply<R>) -> N, convert: F)
    where
        M: Send,
        N: 'static,
        R: Send + 'static,
        F: Conversion<R, M>,
    {
        let reply = if size_of::<F>() == 0 {
            Reply::to_task_if_empty(self.address(), convert)
        } else {
            reply_through(self.turn(), self.address(), convert)
        };
        // A question that cannot be sent is dropped, and its reply then answers `NoReply::Dropped`.
        let _ = self.send(to, msg(reply));
    }

    /// Asks another actor, like [`Context::ask`], but `convert` can capture any values.
    ///
    /// For example, an actor may need the answer before it can answer a question that another actor
    /// has asked it. Then `convert` can capture the [`Reply`] of that question. A helper actor
    /// calls `convert`, which costs an additional spawn and an additional send.
    ///
    /// # Examples
    /// An actor that answers a question with the help of another actor:
    /// ```
    /// use garrick_actor::{Actor, Address, Context, Local, NoReply, Reply, behavior};
    ///
    /// struct Twice(Address<Reply<u32>>);
    ///
    /// enum Msg {
    ///     Get(Reply<u32>),
    ///     Got(Reply<u32>, Result<u32, NoReply>),
    /// }
    ///
    /// impl Actor for Twice {
    ///     type Msg = Msg;
    ///     type Outcome = Result<(), NoReply>;
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Self::Outcome {
    ///         match msg {
    ///             Msg::Get(reply) => {
    ///                 cx.ask_once(
    ///                     &self.0,
    ///                     |reply| reply,
    ///                     move |answer| Msg::Got(reply, answer),
    ///                 );
    ///             }
    ///             Msg::Got(reply, answer) => reply.send(2 * answer?),
    ///         }
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let local = Local::new()?;
    /// let once = local.spawn(behavior(|reply: Reply<u32>, _| reply.send(21)));
    /// let twice = local.spawn(Twice(once));
    /// assert_eq!(local.block_on(twice.ask(Msg::Get)), Ok(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ask_once<N, R, F>(&self, to: &Address<N>, msg: impl FnOnce(Reply<R>) -> N, convert: F)
    where
        M: Send,
        N: 'static,
        R: Send + 'static,
        F: FnOnce(Result<R, NoReply>) -> M + Send + 'static,
    {
        let reply = reply_through(self.turn(), self.address(), convert);
        // As in `ask`.
        let _ = self.send(to, msg(reply));
    }
}

/// A function that converts an answer `R` into a message `M`, for [`Context::ask`]. A closure
/// implements this trait if all captured values are `Copy`, `Send` and `'static`.
#[diagnostic::on_unimplemented(
    message = "the function that converts the answer must be `Copy`",
    label = "captures a value that is not `Copy`, or is not a function that takes the answer",
    note = "use `ask_once`, whose conversion may capture any values"
)]
pub trait Conversion<R, M>: FnOnce(Result<R, NoReply>) -> M + Copy + Send + 'static {}

impl<R, M, F> Conversion<R, M> for F where F: FnOnce(Result<R, NoReply>) -> M + Copy + Send + 'static
{}

/// Returns a reply handle for one question. A helper actor converts the answer with `convert` and
/// sends the resulting message to `to`.
#[inline(never)]
pub(super) fn reply_through<T, M, R, F>(turn: &Turn<'_, T>, to: Address<M>, convert: F) -> Reply<R>
where
    T: 'static,
    M: Send + 'static,
    R: Send + 'static,
    F: FnOnce(Result<R, NoReply>) -> M + Send + 'static,
{
    let converter = turn.spawn(Converter {
        convert: Some((to, convert)),
        answer: PhantomData,
    });
    Reply::to_task(converter, Answer)
}

/// The answer to a question, or an error if there is no answer.
struct Answer<R>(Result<R, NoReply>);

/// Helper actor that converts an answer and sends it to the asker.
struct Converter<M: 'static, R, F> {
    /// Address of the asker, and the function that converts the answer. `None` once the answer has
    /// arrived.
    convert: Option<(Address<M>, F)>,
    answer: PhantomData<fn(R)>,
}

impl<M, R, F> Task for Converter<M, R, F>
where
    M: Send + 'static,
    R: Send + 'static,
    F: FnOnce(Result<R, NoReply>) -> M + 'static,
{
    type Message = Answer<R>;
    const INTERNAL: bool = true;

    fn receive(&mut self, Answer(answer): Answer<R>, _: &Turn<'_, Answer<R>>) -> Flow {
        if let Some((asker, convert)) = self.convert.take() {
            // The asker may have stopped. In this case, it does not need the answer.
            let _ = asker.send_promised(convert(answer));
        }
        Flow::Stop
    }

    fn name() -> &'static str {
        type_name::<F>()
    }
}
