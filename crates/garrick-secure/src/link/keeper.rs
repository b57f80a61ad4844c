//! The keeper is the actor that opens a connection, and closes it exactly once.

use std::mem;
use std::sync::Arc;

use garrick_actor::{
    Actor, Address, Context, Ended, Internal, InternalFunction, Next, Reply, Watch,
};
use garrick_sched::Room;

use super::buffer::{Buffer, Got, Msg as BufferMsg};
use super::reader::{Known, ask_for_length, reader};
use super::scribe;
use super::source::{self, Fill};
use super::transport::{Sink, Transport};
use crate::error::Error;
use crate::event::{Event, Listener};
use crate::frame::Sealer;
use crate::greeting::Session;
use crate::key::{PreSharedKey, Role};
use crate::options::Options;
use crate::writer::{Write, Writer};

/// A message to the keeper, the actor that opens and closes a connection.
pub(super) enum Msg {
    Begin(Box<(Transport, PreSharedKey, Role)>),
    /// The peer has proven that it has the key.
    Opened(Box<(Session, Sink)>),
    /// The program will send no more payloads.
    Finish,
    /// All payloads and the last frame have been written.
    Said,
    /// The peer has announced that it will send no more payloads.
    Heard,
    /// An actor of the connection has reported this error, for example because a check has failed
    /// or a time limit has passed.
    Failed(Error),
    /// An actor of the connection has stopped. Contains the name of the actor, and the reason.
    Ended(&'static str, Ended),
    /// The listener has stopped.
    Deserted,
    /// Request to close the connection.
    Close,
}

/// The actor that opens and closes a connection.
pub(super) struct Keeper {
    listener: Listener,
    options: Options,
    source: Option<Address<Fill>>,
    open: Option<Open>,
    /// The watch on the listener, which notifies the keeper when the listener stops. `None` before
    /// the connection begins, and after it has ended.
    watch: Option<Watch>,
}

/// The actors of an open connection.
struct Open {
    buffer: Address<BufferMsg>,
    reader: Address<Got>,
    scribe: Address<Write>,
    has_said: bool,
    has_heard: bool,
}

impl Keeper {
    pub(super) fn new(options: Options, listener: Listener) -> Self {
        Self {
            listener,
            options,
            source: None,
            open: None,
            watch: None,
        }
    }

    fn begin(&mut self, begin: (Transport, PreSharedKey, Role), cx: &Context<'_, Msg>) {
        let (transport, key, role) = begin;
        let start = source::Start {
            transport,
            key,
            role,
            options: self.options.clone(),
            keeper: cx.address(),
        };
        let source = cx.spawn(InternalFunction(move |mailbox| source::run(mailbox, start)));
        let _ = cx.watch(&source, |ended| Msg::Ended("source", ended));
        self.source = Some(source);
        let keeper = cx.address();
        self.watch = Some(self.listener.watch(move |_| {
            // If the connection is closed, this message is not needed.
            let _ = keeper.send(Msg::Deserted);
        }));
    }

    fn opened(&mut self, session: Session, sink: Sink, cx: &Context<'_, Msg>) {
        let Some(source) = self.source.clone() else {
            return;
        };
        let Session { sealer, opener } = session;
        let buffer = Buffer::new(self.options.clone(), source, cx.address());
        let buffer = cx.spawn(Internal(buffer));
        let known = Known {
            keys: opener.keys,
            body_bytes_max: opener.body_bytes_max,
            buffer: buffer.clone(),
            listener: self.listener.clone(),
            keeper: cx.address(),
        };
        let reader = cx.spawn(Internal(reader(Arc::new(known))));
        let scribe = self.spawn_scribe(sealer, sink, cx);
        let _ = cx.watch(&buffer, |ended| Msg::Ended("buffer", ended));
        let _ = cx.watch(&reader, |ended| Msg::Ended("reader", ended));
        let _ = cx.watch(&scribe, |ended| Msg::Ended("scribe", ended));
        ask_for_length(&buffer, reader.clone());
        self.open = Some(Open {
            buffer,
            reader,
            scribe,
            has_said: false,
            has_heard: false,
        });
    }

    /// Spawns the scribe, the actor that writes, and passes a [`Writer`] to the listener.
    fn spawn_scribe(&self, sealer: Sealer, sink: Sink, cx: &Context<'_, Msg>) -> Address<Write> {
        let room = Room::new(self.options.queue);
        let start = scribe::Start {
            sink,
            sealer,
            room: room.clone(),
            options: self.options.clone(),
            keeper: cx.address(),
        };
        let scribe = cx.spawn(InternalFunction(move |mailbox| scribe::run(mailbox, start)));
        let open = Reply::to_task(cx.address(), |_| Msg::Finish);
        let payload_bytes_max = self.options.payload_bytes_max;
        let writer = Writer::new(scribe.clone(), room, payload_bytes_max, open);
        // If the listener has stopped, the watch reports it.
        let _ = self.listener.tell(Event::Opened(writer));
        scribe
    }

    /// Handles a message. Returns the outcome of the connection if the connection is over.
    fn handle(&mut self, msg: Msg, cx: &Context<'_, Msg>) -> Option<Result<(), Error>> {
        match msg {
            Msg::Begin(begin) => self.begin(*begin, cx),
            Msg::Opened(opened) => self.opened(opened.0, opened.1, cx),
            Msg::Failed(error) => return Some(Err(error)),
            Msg::Ended(actor, Ended::Failed(_)) => return Some(Err(Error::Panicked { actor })),
            Msg::Ended(..) => {}
            Msg::Deserted => return Some(Err(Error::Deserted)),
            Msg::Close => return Some(Err(Error::Closed)),
            Msg::Finish => {
                if let Some(open) = &self.open {
                    let _ = cx.send(&open.scribe, Write::Finish);
                }
            }
            Msg::Said => {
                let open = self.open.as_mut()?;
                open.has_said = true;
                return open.has_heard.then_some(Ok(()));
            }
            Msg::Heard => {
                let open = self.open.as_mut()?;
                open.has_heard = true;
                let has_said = open.has_said;
                let _ = self.listener.tell(Event::Finished);
                return has_said.then_some(Ok(()));
            }
        }
        None
    }

    /// Stops all actors of the connection.
    fn end(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.cancel();
        }
        if let Some(source) = self.source.take() {
            source.stop();
        }
        if let Some(open) = mem::take(&mut self.open) {
            open.buffer.stop();
            open.reader.stop();
            open.scribe.stop();
        }
    }
}

impl Actor for Keeper {
    type Msg = Msg;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
        let Some(outcome) = self.handle(msg, cx) else {
            return Next::Continue;
        };
        self.end();
        // If the send fails, the listener has stopped and needs no event.
        let _ = self.listener.tell(Event::Closed(outcome));
        Next::Stop
    }
}
