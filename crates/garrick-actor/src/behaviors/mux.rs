//! A multiplexer, which sends the questions of many askers through one address.
//!
//! ```text
//!   askers == (Q, Reply<R>) ==> [ mux ] -- (number, Q) --> wire
//!          <== R ==============         <-- (number, R) --
//! ```

use std::collections::BTreeMap;

use garrick_sched::{Address, Reply, SendError};

use super::service::Request;
use crate::model::actor::Actor;
use crate::model::context::Context;
use crate::model::next::Next;

/// A message to a [`mux`].
#[derive(Debug)]
pub enum Mux<Q, R: 'static> {
    /// A question from an asker.
    Ask(Request<Q, R>),
    /// The answer to the question with this number. The actor that receives the numbered questions
    /// sends this message.
    Answer((u64, R)),
    /// The question with this number will not be answered. The actor that receives the numbered
    /// questions sends this message.
    Refuse(u64),
    /// Stops the mux (this actor). Pending questions get no answer. The mux sends this message to
    /// itself when the actor that receives the numbered questions has stopped.
    Close,
}

/// Creates a service that sends the questions of all askers to one address, the `wire`.
///
/// On the wire, a number replaces the reply of each question. The answer to the question has the
/// same number. The mux passes each answer to the asker of the question. The answers may arrive in
/// any order.
///
/// Askers use an address that [`contramap`] creates with [`Mux::Ask`]. The actor behind the wire,
/// which receives the numbered questions, sends answers to an address that [`contramap`] creates
/// with [`Mux::Answer`].
///
/// Each question costs two additional sends and an entry in a map. An answer to a question that is
/// not pending is a dead letter. The mux watches the actor behind the wire and stays alive until
/// that actor stops. Then the mux stops too, and the pending questions get no answer. If the actor
/// behind the wire never answers a question, the question stays pending forever. Use a
/// [`timeout`](super::timeout()) to prevent this. If the actor behind the wire has a bounded
/// mailbox that is full, the question becomes a dead letter, and its reply is dropped.
///
/// # Examples
/// ```
/// use garrick_actor::behaviors::{self, Mux};
/// use garrick_actor::{Local, behavior};
///
/// let local = Local::new()?;
/// let (to, sent) = std::sync::mpsc::channel();
/// let wire = local.spawn(behavior(move |numbered: (u64, &str), _| {
///     to.send(numbered).unwrap();
/// }));
/// let mux = local.spawn(behaviors::mux(wire));
/// let service = mux.contramap(Mux::Ask);
/// let one = service.ask(|reply| ("one", reply));
/// let three = service.ask(|reply| ("three", reply));
/// local.run();
///
/// // The answers come back in reverse order.
/// let questions: Vec<_> = sent.try_iter().collect();
/// for (number, word) in questions.into_iter().rev() {
///     mux.send(Mux::Answer((number, word.len())))?;
/// }
/// local.run();
/// assert_eq!((one.wait(), three.wait()), (Ok(3), Ok(5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`contramap`]: garrick_sched::Address::contramap
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
    /// Sequence number of the next question.
    next: u64,
    /// Replies of the pending questions, sorted by the number of the question. When the mux is
    /// dropped, the replies are dropped in this order.
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
        match cx.send(&self.wire, (number, question)) {
            Ok(()) => {
                self.open.insert(number, reply);
                Next::Continue
            }
            // If the mailbox behind the wire is full, only this question gets no answer.
            Err(SendError(numbered)) => match cx.skip(&self.wire, numbered) {
                Ok(()) => Next::Continue,
                Err(_) => Next::Stop,
            },
        }
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
        // Never cancelled: the mux is of no use without the wire, so the notice is always needed.
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
