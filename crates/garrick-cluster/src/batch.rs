//! Batches. A batch contains everything that one turn sends to one node. The messages of a batch
//! arrive as a whole or not at all. Answers and orders for which the frame of the messages has no
//! room are sent in other frames.
//!
//! The address of an actor on another node leads to a function, which adds each message to the
//! batch of the current turn. The first message of a turn sends the batch to the link (the actor
//! that exchanges frames with the other node). The link gets the batch when the turn commits. If
//! the turn is undone, the batch is dropped.

use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::{Arc, Mutex};

use garrick_actor::door::Notice;
use garrick_actor::{Ended, NoReply, SendError};
use garrick_sched::{Nanos, TurnMark, turn_mark};
use garrick_wire::MessageId;

use crate::frame::{NewBody, Owned, put_another, put_message};
use crate::line::{
    Batch, Carrier, Contents, EncodedBody, Given, Item, Line, Travels, Unencodable, address_of,
};
use crate::lock::lock;
use crate::name::NodeName;

/// A batch to which the later messages of the current turn are added.
struct Open {
    turn: TurnMark,
    /// Pointer to the line (the interface of a session). This pointer and `node`, the pointer to
    /// the node, are only compared. Both stay valid as long as the batch holds the line.
    line: *const (),
    node: *const (),
    peer: NodeName,
    batch: Arc<Mutex<Batch>>,
}

thread_local! {
    static OPEN: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Finds the batch of the turn `turn` by the condition `is_it`, and calls `f` with the batch.
/// Returns `None` if the turn has no such batch, or if nothing can be added to the batch any more.
/// `f` must not call code of the program.
fn with_open<R>(
    turn: TurnMark,
    is_it: impl Fn(&Open) -> bool,
    f: impl FnOnce(&mut Batch) -> R,
) -> Option<R> {
    let call = |open: &RefCell<Vec<Open>>| {
        let open = open.borrow();
        let found = open.iter().find(|open| open.turn == turn && is_it(open))?;
        let mut batch = lock(&found.batch);
        // A batch that was taken may have been that of another line at the same address.
        batch.line.is_some().then(|| f(&mut batch))
    };
    OPEN.try_with(call).ok().flatten()
}

/// Access to a node: to its current sessions with other nodes, and to parts of its state.
pub(crate) trait Lines: Send + Sync {
    /// Returns a pointer to the state of the node. The pointer is only compared.
    fn node(&self) -> *const ();

    /// Returns the number that identifies the cluster.
    fn cluster(&self) -> u64;

    /// Returns the line (the interface) of the current session with a node. Returns `None` if there
    /// is no session.
    fn line(&self, node: &NodeName) -> Option<Arc<dyn Line>>;

    /// Returns the time at which the latest frame from another node arrived. Returns `None` if no
    /// frame has arrived.
    fn heard(&self, node: &NodeName) -> Option<Nanos>;

    /// Returns true if some messages to other nodes were not passed to the transport yet.
    fn waits(&self) -> bool;

    /// Returns true if this node has left the cluster.
    fn has_left(&self) -> bool;
}

/// A way to reach another node.
#[derive(Clone, Copy)]
pub(crate) enum Route<'a> {
    /// Another node, which is reached only in this one session.
    Line(&'a Arc<dyn Line>),
    /// Another node, which is reached in the session that is current when a message is sent.
    Node(&'a dyn Lines, &'a NodeName),
}

impl Route<'_> {
    fn is_of(self, open: &Open) -> bool {
        match self {
            Self::Line(line) => open.line == address_of(line),
            Self::Node(lines, name) => open.node == lines.node() && open.peer == *name,
        }
    }

    fn line(self) -> Option<Arc<dyn Line>> {
        match self {
            Self::Line(line) => Some(Arc::clone(line)),
            Self::Node(lines, name) => lines.line(name),
        }
    }

    /// Returns a carrier (the context of the encoding) for a message to the receiver `to`. Returns
    /// `None` if nothing can be sent to this receiver now.
    fn carrier(self, turn: Option<TurnMark>, to: &Owned) -> Option<Box<Carrier>> {
        // `None` if the session has ended. Another one may have begun.
        let of_open = |batch: &mut Batch| {
            let line = batch.line.as_ref().filter(|line| !line.is_over())?;
            if !may_send(line, to) || batch.contents.told >= batch.bytes_max {
                return Some(None);
            }
            let used = batch.carrier.take();
            Some(Some(
                used.unwrap_or_else(|| Box::new(Carrier::packing(line))),
            ))
        };
        let open = turn.and_then(|turn| with_open(turn, |open| self.is_of(open), of_open));
        if let Some(carrier) = open.flatten() {
            return carrier;
        }
        let line = self.line()?;
        may_send(&line, to).then(|| Box::new(Carrier::packing(&line)))
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Returns the message if the session has ended, too many bytes are waiting, the batch of the
    /// turn is full, or the mailbox of the receiver is known to be full. A message that cannot be
    /// encoded is lost, and is counted.
    pub(crate) fn tell<M: Travels>(self, target: &Owned, message: M) -> Result<(), SendError<M>> {
        let turn = turn_mark();
        let Some(mut carrier) = self.carrier(turn, target) else {
            return Err(SendError(message));
        };
        let of = <M as garrick_wire::Wire<Carrier>>::ID;
        with_scratch(|content| {
            if let Err(error) = encode(message, content, &mut carrier) {
                return carrier.line().count_refused(&error);
            }
            let packed = carrier.take_packed();
            if packed.is_empty() {
                return put_plain(carrier, turn, target, of, content);
            }
            let body = EncodedBody {
                content: content.clone(),
                packed,
            };
            let target = target.clone();
            put(carrier.line(), Item::Tell { target, of, body });
        });
        Ok(())
    }
}

/// Returns true if a message can be sent to the receiver `to` now, in the session `line`.
fn may_send(line: &Arc<dyn Line>, to: &Owned) -> bool {
    line.may_send() && !line.is_full(to)
}

/// Encodes a value. If encoding fails, refuses all questions whose replies are in the value.
pub(crate) fn encode<T: Travels>(
    value: T,
    content: &mut Vec<u8>,
    carrier: &mut Carrier,
) -> Result<(), Unencodable> {
    let limits = carrier.limits();
    let encoded = limits.encode_with(value, content, carrier);
    let encoded = encoded.map_err(Unencodable::Wire);
    let encoded = encoded.and_then(|()| carrier.check_addresses(content.len()));
    if encoded.is_err() {
        for question in carrier.take_packed().questions {
            question.refuse(NoReply::Refused);
        }
    }
    encoded
}

/// Calls `f` with an empty buffer, which this thread reuses.
pub(crate) fn with_scratch<R>(f: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    let mut scratch = SCRATCH.try_with(Cell::take).unwrap_or_default();
    scratch.clear();
    let result = f(&mut scratch);
    let _ = SCRATCH.try_with(|cell| cell.set(scratch));
    result
}

/// Adds a message to the batch of the current turn. The message contains no addresses and no
/// replies. If the turn already has a batch, this batch keeps the carrier (the context of the
/// encoding) for the next message.
fn put_plain(
    carrier: Box<Carrier>,
    turn: Option<TurnMark>,
    target: &Owned,
    of: MessageId,
    content: &[u8],
) {
    let add = |batch: &mut Batch| {
        let contents = &mut batch.contents;
        let before = contents.entries.len();
        let last = contents.last.as_ref();
        if last.is_some_and(|(last, type_of)| last.is_same(target) && *type_of == of) {
            put_another(content, &mut contents.entries);
        } else {
            let body = NewBody {
                content,
                ..NewBody::default()
            };
            put_message(target.target(), of, &body, &mut contents.entries);
            contents.last = Some((target.clone(), of));
        }
        contents.count += 1;
        let bytes = contents.entries.len() - before;
        contents.told += bytes;
        batch.count(bytes);
        batch.keep(target);
    };
    let line = address_of(carrier.line());
    let mut carrier = Some(carrier);
    let add_to_open = |batch: &mut Batch| {
        add(batch);
        batch.carrier = carrier.take();
    };
    if let Some(turn) = turn {
        with_open(turn, |open| open.line == line, add_to_open);
    }
    if let Some(carrier) = carrier {
        begin(carrier.line(), turn, add);
    }
}

/// Adds a message, an answer or another item to the batch of the current turn. Outside of a turn,
/// the item gets its own batch.
pub(crate) fn put(line: &Arc<dyn Line>, item: Item) {
    let mut item = Some(item);
    let mut add = |batch: &mut Batch| {
        if let Some(item) = item.take() {
            let bytes = item.bytes();
            if let Some(target) = item.target() {
                batch.keep(target);
            }
            let contents = &mut batch.contents;
            contents.told += if item.is_message() { bytes } else { 0 };
            let before = (contents.entries.len(), contents.count);
            contents.items.push((before.0, before.1, item));
            contents.last = None;
            batch.count(bytes);
        }
    };
    let at = address_of(line);
    let turn = turn_mark();
    let added = turn.and_then(|turn| with_open(turn, |open| open.line == at, &mut add));
    if added.is_none() {
        begin(line, turn, add);
    }
}

/// Begins a batch, calls `add` to add the first part, and sends the batch to the link.
fn begin(line: &Arc<dyn Line>, turn: Option<TurnMark>, add: impl FnOnce(&mut Batch)) {
    let mut batch = Batch {
        line: Some(Arc::clone(line)),
        contents: Contents::default(),
        carrier: None,
        bytes_max: line.bounds().turn,
    };
    add(&mut batch);
    // What comes from outside of a turn can be more than the link handles.
    line.waits(mem::take(&mut batch.contents.uncounted));
    let batch = Arc::new(Mutex::new(batch));
    let given = Given {
        batch: Arc::clone(&batch),
    };
    if !line.give(given) {
        return line.end();
    }
    if let Some(turn) = turn {
        let open = Open {
            turn,
            line: address_of(line),
            node: line.node(),
            peer: line.peer().clone(),
            batch,
        };
        let _ = OPEN.try_with(|all| {
            let mut all = all.borrow_mut();
            all.retain(|open| open.turn == turn);
            all.push(open);
        });
    }
}

/// Answers a question from the other node.
pub(crate) fn answer<R: Travels>(line: &Arc<dyn Line>, question: u64, answer: Result<R, NoReply>) {
    if line.is_over() {
        return;
    }
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => return put(line, Item::Refusal { question, why }),
    };
    if !line.may_answer() {
        let why = NoReply::Refused;
        return put(line, Item::Refusal { question, why });
    }
    let (mut carrier, mut content) = (Carrier::packing(line), Vec::new());
    let item = match encode(answer, &mut content, &mut carrier) {
        Ok(()) => {
            let packed = carrier.take_packed();
            let body = EncodedBody { content, packed };
            Item::Answer { question, body }
        }
        Err(error) => {
            line.count_refused(&error);
            let why = NoReply::Refused;
            Item::Refusal { question, why }
        }
    };
    put(line, item);
}

/// Asks the other node to stop one of its actors.
pub(crate) fn stop(line: &Arc<dyn Line>, target: Owned) {
    if !line.is_over() {
        put(line, Item::Stop { target });
    }
}

/// Asks the other node to report the end of one of its actors.
pub(crate) fn watch(line: &Arc<dyn Line>, target: Owned, notice: Notice) {
    if line.is_over() {
        return notice.tell(Ended::NodeLost(line.peer().shared()));
    }
    put(line, Item::Watch { target, notice });
}
