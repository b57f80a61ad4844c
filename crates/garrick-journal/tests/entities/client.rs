//! Clients of entities, which report their calls.

use std::ops::Range;

use garrick_actor::{Actor, Address, Context};
use garrick_core::random::mix;

use crate::object::{Object, Request, key_of};

/// Upper limit of the numbers of a client's calls.
const CALLS_MAX: u64 = 1_000_000;

/// Maximum number of calls by which a client tries to read all entities at the end.
const TRIES_MAX: u32 = 20;

/// A message to a [`Crowd`], an actor that plays several clients.
pub(crate) enum Heard<O: Object> {
    /// The entities have started.
    Started(Vec<Address<Request<O>>>),
    /// A call of a client has ended. Contains the index of the client, and the number of the call.
    Got(usize, u32, Option<O::Ret>),
}

/// Something that happens to a client.
pub(crate) enum News<O: Object> {
    Called(O::Op),
    Returned(O::Ret),
    /// The call ends without an answer, and may have taken effect.
    Refused,
}

/// The receiver of the reports of clients.
pub(crate) trait Sink<O: Object>: Send + 'static {
    /// Reports what has happened to the client with this number.
    fn tell(&self, client: u64, news: News<O>, cx: &Context<'_, Heard<O>>);

    /// Reports that a client has read all entities after its calls.
    fn finish(&self, cx: &Context<'_, Heard<O>>) {
        let _ = cx;
    }
}

/// An actor that plays some clients. Their calls to an entity may be handled in one turn.
pub(crate) struct Crowd<O: Object, S> {
    clients: Vec<Client<O>>,
    entities: Vec<Address<Request<O>>>,
    /// Number of calls of each client. After these calls, a client reads all entities, and reads
    /// them again each time they have started again.
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
    /// Number of entities that the client has read after its calls, and number of calls that it has
    /// made for this. Both are counted since the last start of the entities.
    looks: usize,
    tries: u32,
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
            looks: 0,
            tries: 0,
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
        let Some(op) = client.next(self.calls, self.entities.len()) else {
            return;
        };
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
        let looks = client.calls > self.calls && matches!(news, News::Returned(_));
        self.sink.tell(client.number, news, cx);
        if looks {
            client.looks += 1;
            if client.looks == self.entities.len() {
                self.sink.finish(cx);
            }
        }
    }
}

impl<O: Object> Client<O> {
    /// Returns the operation of the next call, on one of the first `entities` entities. The first
    /// `calls` operations are random.
    fn next(&mut self, calls: u32, entities: usize) -> Option<O::Op> {
        let op = if entities > 0 && self.calls < calls {
            self.chance = mix(self.chance);
            let key = self.chance as usize % entities;
            let new = CALLS_MAX * self.number + u64::from(self.calls) + 1;
            O::operation(key, self.chance >> 8, new, &self.view)
        } else if self.looks < entities && self.tries < TRIES_MAX {
            self.tries += 1;
            O::look(self.looks)
        } else {
            return None;
        };
        self.calls += 1;
        self.op = Some(op.clone());
        Some(op)
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
                    (self.clients[index].looks, self.clients[index].tries) = (0, 0);
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
