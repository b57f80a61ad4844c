//! Many questions on one wire.
//!
//! ```text
//!   askers == (Q, Reply<R>) ==> [ mux ] -- (number, Q) --> wire
//!          <== R ==============         <-- (number, R) --
//! ```

use std::collections::BTreeMap;

use garrick_sched::{Address, Reply};

use super::service::Request;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;

/// What a [`mux`] gets.
#[derive(Debug)]
pub enum Mux<Q, R: 'static> {
    /// A question, from those that ask.
    Ask(Request<Q, R>),
    /// The answer to the question with this number, from the wire.
    Answer((u64, R)),
    /// There is no answer to the question with this number, says the wire.
    Refuse(u64),
    /// The wire is at an end: there is no answer to any open question, and the mux stops. It sends this to itself
    /// when the actor behind the wire has ended.
    Close,
}

/// Makes a service of a `wire` that knows nothing of replies: numbers the questions, and gives each answer to
/// whoever asked the question of that number, in whatever order answers come.
///
/// Those that ask are given an [`adapter`](super::adapter()) with [`Mux::Ask`], the other end of the wire one with
/// [`Mux::Answer`].
///
/// Costs two messages and a place in a map for each question. An answer to a question that is not open is a
/// dead letter. When the wire has ended, all open questions have no answer, and the mux stops; it watches the wire,
/// and lives as long. A question that the wire forgets stays open: ask through a [`timeout`](super::timeout()).
///
/// # Examples
/// ```
/// use garrick_actor::{Local, behaviors::{self, Mux}};
///
/// let local = Local::new()?;
/// let (to, sent) = std::sync::mpsc::channel();
/// let wire = local.spawn_behavior(move |numbered: (u64, &str), _| {
///     to.send(numbered).unwrap();
/// });
/// let mux = local.spawn(behaviors::mux(wire));
/// let service = behaviors::adapter(mux.clone(), Mux::Ask);
/// let one = service.ask(|reply| ("one", reply));
/// let three = service.ask(|reply| ("three", reply));
/// local.run();
///
/// // The answers come back in another order.
/// let questions: Vec<_> = sent.try_iter().collect();
/// for (number, word) in questions.into_iter().rev() {
///     mux.send(Mux::Answer((number, word.len())))?;
/// }
/// local.run();
/// assert_eq!((one.wait(), three.wait()), (Ok(3), Ok(5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mux<Q, R>(wire: Address<(u64, Q)>) -> impl Actor<Msg = Mux<Q, R>> + Send
where
    Q: Send + 'static,
    R: Send + 'static,
{
    Multiplexer {
        wire,
        next: 0,
        open: BTreeMap::new(),
    }
}

struct Multiplexer<Q, R: 'static> {
    wire: Address<(u64, Q)>,
    /// The number of the next question.
    next: u64,
    /// Askers by the number of their question, in that order, in which the end of the mux refuses all of them.
    open: BTreeMap<u64, Reply<R>>,
}

impl<Q, R> Multiplexer<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    fn ask(&mut self, (question, reply): Request<Q, R>, cx: &Context<'_, Mux<Q, R>>) -> Next {
        let number = self.next;
        self.next += 1;
        if cx.send(&self.wire, (number, question)).is_err() {
            return Next::Stop;
        }
        self.open.insert(number, reply);
        Next::Continue
    }

    fn answer(&mut self, (number, answer): (u64, R), cx: &Context<'_, Mux<Q, R>>) {
        match self.open.remove(&number) {
            Some(reply) => reply.send(answer),
            None => cx.dead_letter(answer),
        }
    }
}

impl<Q, R> Actor for Multiplexer<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    type Msg = Mux<Q, R>;
    type Outcome = Next;

    fn started(&mut self, cx: &mut Context<'_, Self::Msg>) -> Next {
        // Never cancelled: the mux is of no use without the wire, nor the notice in vain.
        let _watch = cx.turn().watch(&self.wire, |_| Mux::Close);
        Next::Continue
    }

    fn receive(&mut self, msg: Mux<Q, R>, cx: &mut Context<'_, Self::Msg>) -> Next {
        match msg {
            Mux::Ask(request) => return self.ask(request, cx),
            Mux::Answer(answer) => self.answer(answer, cx),
            Mux::Refuse(number) => drop(self.open.remove(&number)),
            Mux::Close => return Next::Stop,
        }
        Next::Continue
    }
}
