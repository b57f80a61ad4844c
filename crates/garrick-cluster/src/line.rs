//! The trait `Line`, through which doors (addresses that lead to functions) and carriers (contexts
//! of messages between nodes) use a session with another node, and the data that they pass to the
//! link of this session.

use std::any::Any;
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex};

use garrick_actor::door::Notice;
use garrick_actor::{Ended, NoReply, Watch};
use garrick_sched::TaskId;
use garrick_wire::{Limits, MessageId, Wire, WireError};

use crate::frame::{Body, Owned, Ref, Slot};
use crate::lock::lock;
use crate::marks::Marks;
use crate::name::NodeName;
use crate::named::Named;
use crate::options::Bounds;

/// Number of bytes that are counted for each item of a batch (such as a message or an answer) in
/// addition to its content, its addresses, and the name of its receiver. An item needs at most this
/// number of other bytes in a frame.
const ITEM_BYTES: usize = 64;

/// Number of bytes of a batch that are collected before they are counted as waiting. Counting many
/// bytes at once is cheaper.
const COUNTED_BYTES: usize = 16 << 10;

/// The interface of a session with another node, for the functions that encode and send messages.
pub(crate) trait Line: Send + Sync {
    /// Returns the sequence number of the session. No two sessions with the same node have the same
    /// number.
    fn number(&self) -> u64;

    /// Returns the name of the other node.
    fn peer(&self) -> &NodeName;

    /// Returns a pointer to the state of this node. The pointer is only compared.
    fn node(&self) -> *const ();

    /// Returns the hash of the name of the cluster. This number identifies the cluster.
    fn cluster(&self) -> u64;

    /// Returns the state of this node. [`Node::of`](crate::node::Node) converts this state into a
    /// `Node`. Returns `None` if the node has ended.
    fn home(&self) -> Option<Arc<dyn Any + Send + Sync>>;

    /// Returns true if the session is over: nothing is sent any longer.
    fn is_over(&self) -> bool;

    /// Returns the maximum amounts of data and of questions in this session.
    fn bounds(&self) -> &Bounds;

    /// Returns true if a message can be sent now: the session is not over, and not too many bytes
    /// are waiting.
    fn may_send(&self) -> bool;

    /// Returns true if an answer can be sent now. The limit for the number of waiting bytes is
    /// higher for answers than for messages.
    fn may_answer(&self) -> bool;

    /// Returns the sequence number of the other node's session. Addresses of an earlier session are
    /// no longer valid.
    fn peer_session(&self) -> u64;

    /// Returns true if the mailbox of a receiver on the other node is known to be full.
    fn is_full(&self, target: &Owned) -> bool;

    /// Ends the session.
    fn end(&self);

    /// Adds bytes to the number of bytes that wait for the transport.
    fn waits(&self, bytes: usize);

    /// Subtracts `bytes` from the number of waiting bytes, because these bytes were accepted by the
    /// transport or dropped.
    fn sent(&self, bytes: usize);

    /// Sends a batch to the link. If the caller is in a turn, the link receives the batch when the
    /// turn commits. Returns false if the link has ended.
    fn give(&self, given: Given) -> bool;

    /// Adds one to the number of holders of an address that the other node has exported. `slot` is
    /// the place of the address in the table of the other node. Returns the identity that the
    /// address has on this node.
    fn hold(&self, slot: Slot) -> TaskId;

    /// Adds one to the number of holders of an address that the other node has exported. `slot` is
    /// the place of the address in the table of the other node. The address must already have a
    /// holder.
    fn keep(&self, slot: Slot);

    /// Subtracts one from the number of holders of an address that the other node has exported.
    /// `slot` is the place of the address in the table of the other node.
    fn let_go(&self, slot: Slot);

    /// Returns the place of an address in the table of the other node. Returns `None` if the other
    /// node has not exported the address.
    fn home_of(&self, id: TaskId) -> Option<Slot>;

    /// Returns the address that this node has exported to the other node at the place `slot` of its
    /// table. Returns `None` if there is none.
    fn exported(&self, slot: Slot) -> Option<Arc<dyn Exported>>;

    /// Counts a message that cannot be encoded.
    fn count_refused(&self, error: &Unencodable);
}

/// Reason why a message cannot be encoded.
pub(crate) enum Unencodable {
    Wire(WireError),
    /// The message, together with the addresses in it, is too large.
    Addressed {
        bytes: usize,
        max: usize,
    },
}

impl fmt::Display for Unencodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire(error) => error.fmt(f),
            Self::Addressed { bytes, max } => write!(
                f,
                "with its addresses and the names of its entities and services, the message has \
                 {bytes} bytes: at most {max} bytes are allowed"
            ),
        }
    }
}

/// Returns a pointer that identifies a line (the interface of a session). The pointer is only
/// compared.
pub(crate) fn address_of(line: &Arc<dyn Line>) -> *const () {
    Arc::as_ptr(line).cast()
}

/// Reason why a message was not delivered.
pub(crate) enum Undelivered {
    /// The bytes are not a valid message of the expected type.
    Wire(WireError),
    /// The receiver has stopped, or the address is a door (it leads to a function instead of an
    /// actor) that refuses the message.
    Refused,
    /// The mailbox of the receiver is full.
    Full(Box<dyn Held>),
}

/// A message, of any type, that waits for room in a mailbox.
pub(crate) trait Held: Send {
    /// Tries again to send the message.
    ///
    /// # Errors
    /// Returns the message if the mailbox is still full.
    fn retry(self: Box<Self>) -> Result<(), Box<dyn Held>>;
}

/// Identity of an address, and the type of its messages.
pub(crate) type Key = (TaskId, MessageId);

/// An address, of any type, that other nodes may use.
pub(crate) trait Exported: Send + Sync {
    fn task(&self) -> TaskId;

    /// Returns the type of the messages that this address accepts.
    fn message(&self) -> MessageId;

    /// Decodes a message, and sends it. If `waits` is true, earlier messages already wait for room,
    /// so the mailbox is treated as full.
    fn deliver(
        &self,
        content: &[u8],
        carrier: &mut Carrier,
        waits: bool,
    ) -> Result<(), Undelivered>;

    fn stop(&self);

    fn watch(&self, notice: Box<dyn FnOnce(Ended) + Send>) -> Watch;

    /// Returns the [`Address`](garrick_actor::Address) whose type this trait hides.
    fn address(&self) -> &dyn Any;
}

/// A question to another node: the reply, of any type, that was sent with the question.
pub(crate) trait Question: Send {
    /// Decodes the answer, and sends it to the asker. Returns false if the bytes are not an answer.
    fn answer(self: Box<Self>, content: &[u8], carrier: &mut Carrier) -> bool;

    fn refuse(self: Box<Self>, why: NoReply);
}

/// The context of messages between nodes. Addresses and replies implement
/// [`Wire<Carrier>`](garrick_wire::Wire). So a message that contains one of them needs the
/// attribute `#[wire(context = Carrier)]`. Messages without addresses and replies do not need this
/// attribute.
pub struct Carrier {
    line: Arc<dyn Line>,
    /// Limits for the size, the nesting and the memory of a message to the other node.
    limits: Limits,
    side: Side,
}

enum Side {
    Packing(Packed),
    Unpacking(Unpacking),
}

/// The addresses and replies of a message that is being encoded.
#[derive(Default)]
pub(crate) struct Packed {
    pub(crate) addresses: Vec<Passed>,
    pub(crate) questions: Vec<Box<dyn Question>>,
}

/// An address in a message that is being encoded.
pub(crate) enum Passed {
    Exported {
        exported: Arc<dyn Exported>,
        /// The key of the address. The sender asks the address for it, because code of the program
        /// may run then, which must not run in the turn of a link.
        key: Key,
        /// Place of the address in the table of the receiving node. `None` if the receiving node
        /// has not exported the address.
        home: Option<Slot>,
    },
    Named(Named),
}

/// An owned [`Ref`] (an address in a message), with its own copies of the names.
#[derive(Clone)]
pub(crate) enum OwnRef {
    Senders(Slot),
    Receivers(Slot),
    Named(Named),
}

/// The addresses and replies of a message that is being decoded.
#[derive(Default)]
struct Unpacking {
    refs: Vec<OwnRef>,
    /// Indices of the addresses that were decoded.
    decoded_refs: Marks,
    /// Number of the question that the first reply in the message answers.
    first: u64,
    questions: u32,
    /// Indices of the questions whose replies were decoded.
    decoded: Marks,
}

/// Implemented by all types whose values can be sent to other nodes, as messages or answers.
/// `#[derive(Wire)]` is enough.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not travel to other nodes",
    label = "does not implement `Wire<Carrier>`",
    note = "write `#[derive(Wire)]` above the type",
    note = "if it has an `Address` or a `Reply`, add `#[wire(context = garrick::cluster::Carrier)]`",
    note = "an actor whose message does not travel can be offered by `address.contramap(..)`, with a message that does"
)]
pub trait Travels: Wire<Carrier> + Send + 'static {}

impl<M: Wire<Carrier> + Send + 'static> Travels for M {}

impl Carrier {
    /// Creates a carrier (the context of the encoding) for messages to the other node of a session.
    pub(crate) fn packing(line: &Arc<dyn Line>) -> Self {
        Self {
            line: Arc::clone(line),
            limits: line.bounds().limits(),
            side: Side::Packing(Packed::default()),
        }
    }

    /// Creates a carrier (the context of the decoding) for messages from the other node of a
    /// session.
    pub(crate) fn unpacking(line: &Arc<dyn Line>) -> Self {
        Self {
            line: Arc::clone(line),
            limits: line.bounds().limits(),
            side: Side::Unpacking(Unpacking::default()),
        }
    }

    /// Sets the addresses and replies of the next message to decode.
    pub(crate) fn load(&mut self, body: &Body<'_>) {
        if let Side::Unpacking(unpacking) = &mut self.side {
            unpacking.refs.clear();
            unpacking.refs.extend(body.refs().map(OwnRef::of));
            unpacking.decoded_refs.clear();
            (unpacking.first, unpacking.questions) = (body.first, body.replies);
            unpacking.decoded.clear();
        }
    }

    /// Takes the addresses and replies out of the carrier, which can then be used again.
    pub(crate) fn take_packed(&mut self) -> Packed {
        match &mut self.side {
            Side::Packing(packed) => std::mem::take(packed),
            Side::Unpacking(_) => Packed::default(),
        }
    }

    /// Checks the total size of a message: `content` bytes plus the addresses in the message.
    pub(crate) fn check_addresses(&self, content: usize) -> Result<(), Unencodable> {
        let Side::Packing(packed) = &self.side else {
            return Ok(());
        };
        let (addresses, max) = (packed.bytes(), self.line.bounds().message);
        match content + addresses {
            bytes if addresses > 0 && bytes > max => Err(Unencodable::Addressed { bytes, max }),
            _ => Ok(()),
        }
    }

    /// Returns the line (the interface of the session), and the lists to which the encoder adds the
    /// addresses and replies of the message. Returns `None` if this carrier is for decoding
    /// messages from the other node.
    pub(crate) fn packs(&mut self) -> Option<(&Arc<dyn Line>, &mut Packed)> {
        match &mut self.side {
            Side::Packing(packed) => Some((&self.line, packed)),
            Side::Unpacking(_) => None,
        }
    }

    /// Returns the line (the interface of the session), and an address in the message that is being
    /// decoded. `index` is the position of the address among all addresses in the message. Returns
    /// `None` if there is no address at this position, or if it was decoded before: the encoder
    /// gives each address its own position, and so a small message cannot create many addresses.
    pub(crate) fn unpacks_address(&mut self, index: u64) -> Option<(&Arc<dyn Line>, OwnRef)> {
        let Side::Unpacking(unpacking) = &mut self.side else {
            return None;
        };
        let index = usize::try_from(index).ok()?;
        let found = unpacking.refs.get(index)?;
        let is_first = unpacking.decoded_refs.add(index);
        is_first.then(|| (&self.line, found.clone()))
    }

    /// Returns the line (the interface of the session), and the number of a question in the message
    /// that is being decoded. `index` is the position of the question among all questions in the
    /// message. Returns `None` if there is no question at this position, or if its reply was
    /// decoded before.
    pub(crate) fn unpacks_question(&mut self, index: u64) -> Option<(&Arc<dyn Line>, u64)> {
        let Side::Unpacking(unpacking) = &mut self.side else {
            return None;
        };
        if index >= unpacking.questions.into() || !unpacking.decoded.add(index as usize) {
            return None;
        }
        Some((&self.line, unpacking.first + index))
    }

    /// Returns the numbers of the questions whose replies were not decoded.
    pub(crate) fn undecoded(&self) -> Vec<u64> {
        let Side::Unpacking(unpacking) = &self.side else {
            return Vec::new();
        };
        let missing = unpacking.decoded.missing(unpacking.questions as usize);
        missing
            .map(|index| unpacking.first + index as u64)
            .collect()
    }

    pub(crate) fn line(&self) -> &Arc<dyn Line> {
        &self.line
    }

    /// Returns the limits for the size, the nesting and the memory of a message to the other node.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }
}

impl OwnRef {
    fn of(found: Ref<'_>) -> Self {
        match found {
            Ref::Senders(slot) => Self::Senders(slot),
            Ref::Receivers(slot) => Self::Receivers(slot),
            Ref::Entity { kind, key } => Self::Named(Named::Entity {
                kind: kind.into(),
                key: key.into(),
            }),
            Ref::Service { node, name } => Self::Named(Named::Service {
                node: node.into(),
                name: name.into(),
            }),
        }
    }
}

impl OwnRef {
    /// Returns the address in the form in which a frame contains it.
    pub(crate) fn borrow(&self) -> Ref<'_> {
        match self {
            Self::Senders(slot) => Ref::Senders(*slot),
            Self::Receivers(slot) => Ref::Receivers(*slot),
            Self::Named(named) => ref_of(named),
        }
    }
}

/// Returns the name of an address in the form in which a frame contains it.
fn ref_of(named: &Named) -> Ref<'_> {
    match named {
        Named::Entity { kind, key } => Ref::Entity { kind, key },
        Named::Service { node, name } => Ref::Service { node, name },
    }
}

impl Passed {
    /// Returns the maximum number of bytes that the address has in a frame.
    fn bytes(&self) -> usize {
        match self {
            Self::Exported { .. } => Ref::SLOT_BYTES,
            Self::Named(named) => ref_of(named).bytes(),
        }
    }
}

impl Packed {
    /// Returns the maximum number of bytes that the addresses have in a frame, in addition to the
    /// content of the message.
    pub(crate) fn bytes(&self) -> usize {
        self.addresses.iter().map(Passed::bytes).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.questions.is_empty()
    }
}

impl fmt::Debug for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carrier").finish_non_exhaustive()
    }
}

/// A part of a batch that cannot be stored as encoded bytes only.
pub(crate) enum Item {
    /// A message that contains addresses or replies.
    Tell {
        target: Owned,
        of: MessageId,
        body: EncodedBody,
    },
    Answer {
        question: u64,
        body: EncodedBody,
    },
    Refusal {
        question: u64,
        why: NoReply,
    },
    Watch {
        target: Owned,
        notice: Notice,
    },
    Stop {
        target: Owned,
    },
}

/// An encoded message or answer.
pub(crate) struct EncodedBody {
    pub(crate) content: Vec<u8>,
    /// Addresses and replies in the message.
    pub(crate) packed: Packed,
}

impl Item {
    /// Returns the receiver of the item, if it has one.
    pub(crate) fn target(&self) -> Option<&Owned> {
        match self {
            Self::Tell { target, .. } | Self::Watch { target, .. } | Self::Stop { target } => {
                Some(target)
            }
            Self::Answer { .. } | Self::Refusal { .. } => None,
        }
    }

    /// Returns true if the item is a message. Answers are not messages.
    pub(crate) fn is_message(&self) -> bool {
        matches!(self, Self::Tell { .. })
    }

    /// Returns the maximum number of bytes that the item has in a frame.
    pub(crate) fn bytes(&self) -> usize {
        let target = match self.target() {
            Some(Owned::Service(name)) => name.len(),
            Some(Owned::Slot(_)) | None => 0,
        };
        let body = match self {
            Self::Tell { body, .. } | Self::Answer { body, .. } => {
                body.content.len() + body.packed.bytes()
            }
            Self::Refusal { .. } | Self::Watch { .. } | Self::Stop { .. } => 0,
        };
        ITEM_BYTES + target + body
    }
}

/// The content of a batch.
#[derive(Default)]
pub(crate) struct Contents {
    /// Encoded entries of frames. Each entry is a message that contains no addresses and no
    /// replies.
    pub(crate) entries: Vec<u8>,
    /// Number of entries in `entries`.
    pub(crate) count: u32,
    /// The parts that are not in `entries`. For each part: the length in bytes of the entries
    /// before the part, the number of these entries, and the part itself.
    pub(crate) items: Vec<(usize, u32, Item)>,
    /// Number of bytes in the batch, including those in `uncounted`.
    pub(crate) bytes: usize,
    /// Number of bytes of the messages in the batch.
    pub(crate) told: usize,
    /// Number of bytes in the batch that are not counted as waiting for the transport yet.
    pub(crate) uncounted: usize,
    /// Addresses to which the batch sends, as places in the table of the other node. The addresses
    /// are held until the batch is in a frame.
    pub(crate) slots: Vec<Slot>,
    /// Receiver and message type of the last entry of the batch. `None` if the last entry is not a
    /// message.
    pub(crate) last: Option<(Owned, MessageId)>,
}

pub(crate) struct Batch {
    /// The line (the interface of the session) to which the batch belongs. `None` if the link has
    /// received the batch, or if the batch was dropped: then nothing can be added.
    pub(crate) line: Option<Arc<dyn Line>>,
    pub(crate) contents: Contents,
    /// A carrier (the context of the encoding) that is kept for the next message. `None` if no
    /// carrier is kept. It is in a `Box`, because it moves out and back for each message.
    pub(crate) carrier: Option<Box<Carrier>>,
    /// Number of bytes of messages at which the batch is full, so that no more messages are added.
    pub(crate) bytes_max: usize,
}

impl Batch {
    /// Keeps the receiver's address alive until the batch is sent, so that the address is not
    /// released too early.
    pub(crate) fn keep(&mut self, target: &Owned) {
        let (Owned::Slot(slot), Some(line)) = (target, &self.line) else {
            return;
        };
        if self.contents.slots.last() != Some(slot) {
            line.keep(*slot);
            self.contents.slots.push(*slot);
        }
    }

    /// Counts bytes that were added to the batch.
    pub(crate) fn count(&mut self, bytes: usize) {
        let contents = &mut self.contents;
        contents.bytes += bytes;
        contents.uncounted += bytes;
        if contents.uncounted >= COUNTED_BYTES
            && let Some(line) = &self.line
        {
            line.waits(mem::take(&mut contents.uncounted));
        }
    }
}

/// A batch of messages that is passed to the link.
pub(crate) struct Given {
    pub(crate) batch: Arc<Mutex<Batch>>,
}

impl Given {
    /// Takes and returns the content. Returns `None` after the first call.
    pub(crate) fn take(&self) -> Option<(Arc<dyn Line>, Contents)> {
        let (line, mut contents, carrier) = {
            let mut batch = lock(&self.batch);
            let line = batch.line.take()?;
            (line, mem::take(&mut batch.contents), batch.carrier.take())
        };
        drop(carrier);
        line.waits(mem::take(&mut contents.uncounted));
        Some((line, contents))
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        if let Some((line, contents)) = self.take() {
            line.sent(contents.bytes);
            contents.let_go(&*line);
        }
    }
}

impl Contents {
    /// Returns the number of messages, answers and refusals in the batch.
    pub(crate) fn messages(&self) -> u64 {
        let is_message = |item: &Item| !matches!(item, Item::Watch { .. } | Item::Stop { .. });
        let items = self.items.iter().filter(|(_, _, item)| is_message(item));
        u64::from(self.count) + items.count() as u64
    }

    /// Releases the addresses that the batch has held because it sends to them.
    pub(crate) fn let_go(&self, line: &dyn Line) {
        self.slots.iter().for_each(|slot| line.let_go(*slot));
    }
}
