//! Clients of entities, which tell of their calls.

use std::ops::Range;

use garrick_actor::{Actor, Address, Context};
use garrick_core::random::mix;

use crate::object::{Object, Request, key_of};

/// The numbers of a client's calls are smaller.
const CALLS_MAX: u64 = 1_000_000;

/// A message to a crowd.
pub(crate) enum Heard<O: Object> {
    /// The entities have started.
    Started(Vec<Address<Request<O>>>),
    /// A call of a client has ended. The numbers are those of the client and of its call.
    Got(usize, u32, Option<O::Ret>),
}

/// Something that happens to a client.
pub(crate) enum News<O: Object> {
    Called(O::Op),
    Returned(O::Ret),
    /// The call ends without an answer, and may have taken effect.
    Refused,
}

/// A place to which clients tell their news.
pub(crate) trait Sink<O: Object>: Send + 'static {
    /// Tells the news of the client with this number.
    fn tell(&self, client: u64, news: News<O>, cx: &Context<'_, Heard<O>>);
}

/// An actor that plays some clients. Their calls to an entity may be handled in one turn.
pub(crate) struct Crowd<O: Object, S> {
    clients: Vec<Client<O>>,
    entities: Vec<Address<Request<O>>>,
    /// Number of calls of each client.
    calls: u32,
    sink: S,
}

/// A client that makes one call at a time. A call without an answer is given up when the entities
/// have started again, or when the answer is refused.
struct Client<O: Object> {
    number: u64,
    chance: u64,
    /// Number of the last call.
    calls: u32,
    /// The last call, if it has not ended.
    op: Option<O::Op>,
    /// The entities as this client knows them.
    view: O::State,
}

impl<O: Object, S: Sink<O>> Crowd<O, S> {
    pub(crate) fn new(numbers: Range<u64>, seed: u64, calls: u32, sink: S) -> Self {
        let client = |number| Client {
            number,
            chance: mix(seed ^ number),
            calls: 0,
            op: None,
            view: O::default().init(),
        };
        Self {
            clients: numbers.map(client).collect(),
            entities: Vec::new(),
            calls,
            sink,
        }
    }

    /// Makes the next call of a client.
    fn call(&mut self, index: usize, cx: &mut Context<'_, Heard<O>>) {
        let client = &mut self.clients[index];
        if client.calls == self.calls || self.entities.is_empty() {
            return;
        }
        let op = client.next(self.entities.len());
        let entity = &self.entities[key_of::<O>(&op)];
        self.sink.tell(client.number, News::Called(op.clone()), cx);
        let call = client.calls;
        cx.ask(
            entity,
            move |reply| Request { op, reply },
            move |got| Heard::Got(index, call, got.ok()),
        );
    }

    /// Ends the last call of a client.
    fn end(&mut self, index: usize, ret: Option<O::Ret>, cx: &Context<'_, Heard<O>>) {
        let client = &mut self.clients[index];
        let op = client.op.take().expect("a call ends once");
        let news = match ret {
            Some(ret) => {
                O::default().apply(&mut client.view, &op);
                O::see(&mut client.view, key_of::<O>(&op), &ret);
                News::Returned(ret)
            }
            None => News::Refused,
        };
        self.sink.tell(client.number, news, cx);
    }
}

impl<O: Object> Client<O> {
    /// Returns the operation of the next call, to one of the first entities.
    fn next(&mut self, entities: usize) -> O::Op {
        self.calls += 1;
        self.chance = mix(self.chance);
        let key = self.chance as usize % entities;
        let new = CALLS_MAX * self.number + u64::from(self.calls);
        let op = O::operation(key, self.chance >> 8, new, &self.view);
        self.op = Some(op.clone());
        op
    }
}

impl<O: Object, S: Sink<O>> Actor for Crowd<O, S> {
    type Msg = Heard<O>;
    type Outcome = ();

    fn receive(&mut self, heard: Heard<O>, cx: &mut Context<'_, Heard<O>>) {
        match heard {
            Heard::Started(entities) => {
                self.entities = entities;
                for index in 0..self.clients.len() {
                    self.call(index, cx);
                }
            }
            Heard::Got(index, call, ret) if call == self.clients[index].calls => {
                self.end(index, ret, cx);
                self.call(index, cx);
            }
            // The answer to a call that was given up.
            Heard::Got(..) => {}
        }
    }
}
