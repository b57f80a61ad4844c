//! Doors: addresses that have a function behind them instead of a task. Each sender runs the
//! function itself.
//!
//! Doors correspond to the parallel-safe behaviors of the Lisp TActors (SAFE-BEH). A receiver
//! without mutable state needs neither a mailbox nor turns of its own. The worker or thread that
//! sends a message to a door handles the message immediately. Several messages may be handled at
//! the same time. If the sender is in a turn, the messages that the door sends are part of that
//! turn: they are staged with the turn's other messages, and undone with them.
//!
//! A door is a cell that is an orphan from the beginning (`cell/README.md`, step 7). It belongs to
//! no worker, and all its references are counted by one shared counter. The thread that drops the
//! last reference drops the door. The inbox of a door has a special value, which differs from IDLE.
//! So sends to other cells need no check for doors.

use std::any::{Any, type_name};
use std::mem::{ManuallyDrop, size_of};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::cell::{CellPtr, DoorTable, Envelope, Header, Table, TaskId};
use crate::letters::LetterReason;
use crate::parcel;
use crate::quiet;
use crate::runtime::address::{Address, SendError};
use crate::runtime::block::{Block, class_of, is_boxed, task_of};
use crate::runtime::count_dead_letters;
use crate::runtime::current;
use crate::runtime::look::Look;
use crate::runtime::pass::{Lifted, pass};
use crate::runtime::room::{Place, Room};
use crate::runtime::several::Several;
use crate::runtime::tables::nothing_to_drop;
use crate::runtime::task::{Flow, Task};
use crate::runtime::turn::Turn;
use crate::runtime::watch::Notice;
use crate::runtime::worker::Worker;

/// The ability of a relaying door ([`Door::relay`]) to send messages as a part of the sender's
/// turn. Other operations of a turn are not available, because a message can also come from a
/// timer, between two turns.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "no user gets one")]
pub struct Relay<'t> {
    worker: &'t Worker,
}

impl Relay<'_> {
    /// Sends a message like [`Turn::send`](crate::Turn::send).
    ///
    /// # Errors
    /// Returns the message if the receiving task is known to have stopped, or if the message is not
    /// accepted for another reason ([`SendError`]).
    #[inline]
    pub fn send<N: 'static>(&self, to: &Address<N>, message: N) -> Result<(), SendError<N>> {
        self.worker.send(to, message)
    }

    /// Sends a message like [`Relay::send`], if this turn has already sent to the task and there is
    /// room behind the earlier message. Takes a few nanoseconds.
    ///
    /// # Errors
    /// Returns the message otherwise.
    #[inline(always)]
    pub fn send_behind<N: 'static>(&self, to: &Address<N>, message: N) -> Result<(), N> {
        self.worker.send_behind(to, message)
    }
}

/// A receiver without a task: each sender calls [`Door::pass`] itself. A door has no mailbox. It
/// also has no mutable state, because several threads may call it at the same time.
///
/// # Examples
/// ```
/// use std::sync::mpsc;
/// use garrick_sched::{Address, Door, SendError, door};
///
/// struct Length(mpsc::Sender<usize>);
///
/// impl Door for Length {
///     type Message = String;
///
///     fn pass(&self, word: String, _: &Address<String>) -> Result<(), SendError<String>> {
///         self.0.send(word.len()).map_err(|_| SendError(word))
///     }
/// }
///
/// let (lengths, heard) = mpsc::channel();
/// let address = door(Length(lengths));
/// address.send("four".into()).unwrap();
/// assert_eq!(heard.recv(), Ok(4));
/// ```
pub trait Door: Send + Sync + Sized + 'static {
    /// The type of the messages. This type must be `Send`, because a message can be handled on a
    /// different thread than its sender's. So this example does not compile:
    ///
    /// ```compile_fail,E0277
    /// use std::rc::Rc;
    /// use garrick_sched::{Address, Door, SendError};
    ///
    /// struct Shelf;
    /// impl Door for Shelf {
    ///     type Message = Rc<u32>;
    ///     fn pass(&self, _: Rc<u32>, _: &Address<Rc<u32>>) -> Result<(), SendError<Rc<u32>>> {
    ///         Ok(())
    ///     }
    /// }
    /// ```
    type Message: Send + 'static;

    /// Handles one message. `here` is the address of the door itself.
    ///
    /// If this method panics, the panic is caught and the message is lost. If the sender is in a
    /// turn, the panic is reported, and the message is counted as a dead letter. The panic does not
    /// revoke messages that the door has already sent.
    ///
    /// # Errors
    /// Returns the message if the door refuses it. The sender then gets the message back.
    fn pass(
        &self,
        message: Self::Message,
        here: &Address<Self::Message>,
    ) -> Result<(), SendError<Self::Message>>;

    /// True for a door that only forwards messages to one task. If the sender of a message to this
    /// door is in a turn, [`Door::relay`] is called instead of [`Door::pass`].
    #[doc(hidden)]
    const RELAYS: bool = false;

    /// Handles a message like [`Door::pass`], as a part of the sender's turn. An implementation
    /// must not panic, and it must not run user code.
    ///
    /// # Errors
    /// Returns the message if the door refuses it, as in [`Door::pass`].
    #[doc(hidden)]
    fn relay(
        &self,
        message: Self::Message,
        relay: &Relay<'_>,
    ) -> Result<(), SendError<Self::Message>> {
        let _ = relay;
        Err(SendError(message))
    }

    /// Handles a message like [`Door::relay`], if this takes little time. Called before
    /// [`Door::relay`]. By default, handles no message.
    ///
    /// # Errors
    /// Returns the message if [`Door::relay`] must handle it.
    #[doc(hidden)]
    #[inline]
    fn relay_behind(&self, message: Self::Message, relay: &Relay<'_>) -> Result<(), Self::Message> {
        let _ = relay;
        Err(message)
    }

    /// Implements [`Address::stop`]: requests that the receiver behind the door stop. Does nothing
    /// by default.
    fn stop(&self) {}

    /// Implements [`Address::is_stopped`]: returns true if the receiver behind the door has
    /// stopped. Returns false by default.
    ///
    /// Implement this method if addresses of the door may subscribe to something. A publisher keeps
    /// a subscriber that refuses messages until the subscriber has stopped.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Implements [`Address::watch`]: stores `notice`, and calls [`Notice::tell`] when the receiver
    /// behind the door has ended. By default, drops `notice`, so the watcher is never notified.
    ///
    /// A door in front of another address calls [`Address::forward_watch`] of that address. Then
    /// the receiver drops the notice if the watch is cancelled. A door that stores notices itself
    /// should drop the notices for which [`Notice::is_cancelled`] returns true.
    fn watch(&self, notice: Notice) {
        drop(notice);
    }

    /// Returns the id of the task that this door represents, if there is one. Returns `None` by
    /// default, which means that the door represents only itself.
    ///
    /// All doors that represent the same task have equal addresses: the [`Address::id`] of each is
    /// the id of this task. A door that represents a task must keep the task alive, so that no
    /// other task gets the same id.
    fn stands_for(&self) -> Option<TaskId> {
        None
    }

    /// Implements [`Address::origin`]: returns the value from which the door was made, for code
    /// that knows the type of this value. Returns `None` by default.
    #[doc(hidden)]
    fn origin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }

    /// Returns the bounded mailbox, or the bounded mailboxes, behind the door. Returns `None` by
    /// default.
    #[doc(hidden)]
    fn gauged(&self) -> Option<&dyn Gauged<Self::Message>> {
        None
    }

    /// Implements [`Address::look`]: requests the state of the task behind the door. By default,
    /// the result is that there is no task behind the door.
    #[doc(hidden)]
    fn look(&self) -> Option<Look> {
        None
    }

    /// Returns the name that reports use for doors of this type. By default, this is the name of
    /// the type.
    fn name() -> &'static str {
        type_name::<Self>()
    }
}

/// Access to the bounded mailbox behind a door, for senders that know only the address of the door.
/// [`Door::gauged`] returns this access. Methods such as [`Address::capacity`] and
/// [`Address::place`] call the methods of this trait.
#[doc(hidden)]
pub trait Gauged<M> {
    /// Returns the [`Room`] of the mailbox, in which senders wait for places. Returns `None`, which
    /// is the default, if a new message always finds a place, or if there are several mailboxes.
    fn room(&self) -> Option<&Arc<Room>> {
        None
    }

    /// Tells the receiver that a sender is waiting for a place in its mailbox. Does nothing by
    /// default.
    fn nudge(&self) {}

    /// Returns true if only the calling thread runs the receiver, so that this thread must not wait
    /// for a place. Returns false by default.
    fn waits_for_itself(&self) -> bool {
        false
    }

    /// Sends a message that occupies `place`, which was taken from [`Gauged::room`]. By default,
    /// there are no such places.
    ///
    /// # Errors
    /// Returns the message if the receiver has stopped.
    fn send_in(&self, message: M, place: Place) -> Result<(), SendError<M>> {
        drop(place);
        Err(SendError(message))
    }

    /// Returns the maximum number of waiting messages. Returns `None`, which is the default, if
    /// there are several mailboxes.
    fn capacity(&self) -> Option<usize> {
        None
    }

    /// Returns the number of waiting messages. Returns `None`, which is the default, if there are
    /// several mailboxes.
    fn waiting(&self) -> Option<usize> {
        None
    }

    /// Returns the number of messages that were dropped because the mailbox was full. Returns 0 by
    /// default.
    fn dropped(&self) -> u64 {
        0
    }

    /// Counts a message as dropped, because it was refused and cannot be returned to its sender.
    /// If there are several mailboxes, `message` determines those that count it, and may be taken.
    /// By default, [`Gauged::room`] counts the message.
    fn count_refused(&self, message: &mut Option<M>) {
        let _ = message;
        if let Some(room) = self.room() {
            room.count_dropped();
        }
    }

    /// Returns access to the mailboxes if the door leads to several receivers. Returns `None` by
    /// default.
    fn several(&self) -> Option<&dyn Several<M>> {
        None
    }
}

/// A box for a door that is too large for a memory block of the pool, or that needs a larger
/// alignment.
struct Boxed<D>(Box<D>);

impl<D: Door> Door for Boxed<D> {
    type Message = D::Message;

    fn pass(
        &self,
        message: D::Message,
        here: &Address<D::Message>,
    ) -> Result<(), SendError<D::Message>> {
        self.0.pass(message, here)
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }

    fn watch(&self, notice: Notice) {
        self.0.watch(notice);
    }

    fn stands_for(&self) -> Option<TaskId> {
        self.0.stands_for()
    }

    fn origin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.0.origin()
    }

    fn gauged(&self) -> Option<&dyn Gauged<D::Message>> {
        self.0.gauged()
    }

    fn look(&self) -> Option<Look> {
        self.0.look()
    }

    fn name() -> &'static str {
        D::name()
    }
}

/// Returns an address that passes each message to `door`. The door does not stop as long as it has
/// an address, and is dropped together with its last address.
pub fn door<D: Door>(door: D) -> Address<D::Message> {
    if const { is_boxed::<D>() } {
        return place(Boxed(Box::new(door)));
    }
    place(door)
}

fn place<D: Door>(door: D) -> Address<D::Message> {
    current::with_pool(|pool| {
        let block = pool.take_cell(class_of::<D>()).cast::<Block<D>>();
        // SAFETY: the block is ours, of this class, and aligned to 8, which is enough for a door
        // that is not boxed. The cell has one reference, which is the address's.
        unsafe {
            (&raw mut (*block.as_ptr()).task).write(door);
            Header::door(&Tables::<D>::DOOR).place(block.cast());
            Address::from_counted(CellPtr(block.cast()))
        }
    })
}

/// Type whose associated constants are the function tables of the door type `D`.
struct Tables<D>(D);

impl<D: Door> Tables<D> {
    const PASS: DoorTable = DoorTable {
        pass: pass_one::<D>,
        relay: if D::RELAYS {
            Some(relay_one::<D>)
        } else {
            None
        },
        defer: defer_one::<D>,
        pass_unread: pass_unread::<D>,
        stop: stop::<D>,
        is_stopped: is_stopped::<D>,
        watch: watch::<D>,
        gauged: gauged::<D>,
        look: look::<D>,
        origin: origin::<D>,
        identity: identity::<D>,
    };

    const DOOR: Table = Table {
        drop_task: drop_door::<D>,
        door: Some(&Self::PASS),
        block_bytes: size_of::<Block<D>>(),
        name: D::name,
        ..Table::of_messages::<D::Message>(nothing_to_drop)
    };
}

/// Drops the door in a cell.
///
/// # Safety
/// The cell is a door of type `D`, and the door is not used again.
unsafe fn drop_door<D>(cell: CellPtr) {
    // SAFETY: by contract.
    unsafe { task_of::<D>(cell).drop_in_place() };
}

/// Passes a message to a door. Returns false if the door refuses the message.
///
/// # Safety
/// The cell is a door of type `D`. `message` points to a message for the door. The call moves the
/// message out, and moves it back if the door refuses it.
unsafe fn pass_one<D: Door>(cell: CellPtr, message: *mut ()) -> bool {
    let place = message.cast::<D::Message>();
    // SAFETY: by contract; the caller's reference keeps the door alive.
    let (door, message) = unsafe { (task_of::<D>(cell).as_ref(), place.read()) };
    // SAFETY: by contract; the reference is the caller's, so it is not dropped.
    let here = ManuallyDrop::new(unsafe { Address::<D::Message>::from_counted(cell) });
    match quiet::call(|| door.pass(message, &here)) {
        Ok(Ok(())) => true,
        Ok(Err(SendError(message))) => {
            // SAFETY: the place was moved out of.
            unsafe { place.write(message) };
            false
        }
        Err(panic) => {
            if let Some(worker) = current::worker() {
                worker.count_dead_letters(cell.table().name, LetterReason::Discarded, 1);
                worker.report(cell, &panic);
            }
            true
        }
    }
}

/// Passes a message to a forwarding door ([`Door::relay`]) during a turn. Returns false if the door
/// refuses the message.
///
/// # Safety
/// The requirements of [`pass_one`] apply. In addition, `worker` points to the [`Worker`] that runs
/// the current turn.
unsafe fn relay_one<D: Door>(cell: CellPtr, worker: NonNull<()>, message: *mut ()) -> bool {
    let place = message.cast::<D::Message>();
    // SAFETY: by contract; the caller's reference keeps the door alive.
    let (door, behind, relay) = unsafe {
        let worker = worker.cast::<Worker>().as_ref();
        (task_of::<D>(cell).as_ref(), place.read(), Relay { worker })
    };
    match door.relay_behind(behind, &relay) {
        Ok(()) => true,
        Err(behind) => {
            // SAFETY: the place was moved out of. The rest is the contract.
            unsafe {
                place.write(behind);
                relay_other::<D>(cell, worker, message)
            }
        }
    }
}

/// Passes a message to a forwarding door that could not handle it at once
/// ([`Door::relay_behind`]). Returns false if the door refuses the message. A function of its own,
/// so that the usual case saves no registers.
///
/// # Safety
/// The requirements of [`relay_one`] apply.
#[inline(never)]
unsafe fn relay_other<D: Door>(cell: CellPtr, worker: NonNull<()>, message: *mut ()) -> bool {
    let place = message.cast::<D::Message>();
    // SAFETY: by contract; the caller's reference keeps the door alive.
    let (door, message, worker) = unsafe {
        (
            task_of::<D>(cell).as_ref(),
            place.read(),
            worker.cast::<Worker>().as_ref(),
        )
    };
    match door.relay(message, &Relay { worker }) {
        Ok(()) => true,
        Err(SendError(message)) => {
            // SAFETY: the place was moved out of.
            unsafe { place.write(message) };
            false
        }
    }
}

/// Passes a message to a door in a separate turn, by spawning a task for it.
///
/// # Safety
/// The cell is a door of type `D`. The call takes over a reference to the door. `worker` points to
/// the [`Worker`] that runs the current turn. `message` points to a message for the door, which is
/// moved out.
unsafe fn defer_one<D: Door>(cell: CellPtr, worker: NonNull<()>, message: *mut ()) {
    // SAFETY: by contract.
    let (worker, message, to) = unsafe {
        (
            worker.cast::<Worker>().as_ref(),
            message.cast::<D::Message>().read(),
            Address::<D::Message>::from_counted(cell),
        )
    };
    // It may move: a door's messages are `Send`, and so are its addresses.
    let courier = worker.spawn_as(Courier(to), true);
    worker.send_in_line(&courier, message);
}

/// Passes the unread messages of an envelope to a door. Returns the number of refused messages.
///
/// # Safety
/// The cell is a door of type `D`. The caller owns the envelope, which has messages for this door.
unsafe fn pass_unread<D: Door>(cell: CellPtr, envelope: *mut Envelope) -> u64 {
    let mut refused = 0;
    // SAFETY: by contract.
    while let Some(message) = unsafe { parcel::get::<D::Message>(envelope) } {
        // SAFETY: the caller holds a reference.
        if let Err(SendError(message)) = unsafe { pass(cell, message) } {
            quiet::drop(message);
            refused += 1;
        }
    }
    refused
}

/// Calls [`Door::stop`] of the door in a cell.
///
/// # Safety
/// The cell is a door of type `D`, and the caller has a reference to it.
unsafe fn stop<D: Door>(cell: CellPtr) {
    // SAFETY: by contract.
    unsafe { task_of::<D>(cell).as_ref() }.stop();
}

/// Calls [`Door::is_stopped`] of the door in a cell.
///
/// # Safety
/// The requirements of [`stop`] apply.
unsafe fn is_stopped<D: Door>(cell: CellPtr) -> bool {
    // SAFETY: by contract.
    unsafe { task_of::<D>(cell).as_ref() }.is_stopped()
}

/// Calls [`Door::watch`] of the door in a cell.
///
/// # Safety
/// The requirements of [`stop`] apply. In addition, `notice` points to a boxed [`Notice`], which
/// this call takes over.
unsafe fn watch<D: Door>(cell: CellPtr, notice: NonNull<()>) {
    // SAFETY: by contract; the caller gives the box away.
    unsafe {
        let notice = *Box::from_raw(notice.cast::<Notice>().as_ptr());
        task_of::<D>(cell).as_ref().watch(notice);
    }
}

/// Calls [`Door::gauged`] of the door in a cell, and stores the result in `found`.
///
/// # Safety
/// The requirements of [`stop`] apply. In addition, `found` points to an `Option<NonNull<dyn
/// Gauged<D::Message>>>`.
unsafe fn gauged<D: Door>(cell: CellPtr, found: NonNull<()>) {
    // SAFETY: by contract.
    unsafe {
        let door = task_of::<D>(cell).as_ref();
        found.cast().write(door.gauged().map(NonNull::from));
    }
}

/// Calls [`Door::look`] of the door in a cell, and stores the result in `found`.
///
/// # Safety
/// The requirements of [`stop`] apply. In addition, `found` points to an `Option<Look>`.
unsafe fn look<D: Door>(cell: CellPtr, found: NonNull<()>) {
    // SAFETY: by contract. The old value is dropped.
    unsafe { *found.cast::<Option<Look>>().as_mut() = task_of::<D>(cell).as_ref().look() };
}

/// Calls [`Door::origin`] of the door in a cell, and stores the result in `found`.
///
/// # Safety
/// The requirements of [`stop`] apply. In addition, `found` points to an `Option<Arc<dyn Any + Send
/// + Sync>>`.
unsafe fn origin<D: Door>(cell: CellPtr, found: NonNull<()>) {
    // SAFETY: by contract. The old value is dropped.
    unsafe {
        let door = task_of::<D>(cell).as_ref();
        *found.cast::<Option<Arc<dyn Any + Send + Sync>>>().as_mut() = door.origin();
    }
}

/// Gives access to the bounded mailbox behind a door, if there is one. The access is valid until
/// the door is dropped.
///
/// # Safety
/// The cell is a door for messages `M`. The caller has a reference to it while the result is used.
pub(crate) unsafe fn gauged_of<'a, M: 'static>(cell: CellPtr) -> Option<&'a dyn Gauged<M>> {
    cell.check_messages::<M>();
    let table = cell.table().door?;
    let mut found: Option<NonNull<dyn Gauged<M>>> = None;
    // SAFETY: by contract; the bound is part of the door, or kept by it.
    unsafe {
        (table.gauged)(cell, NonNull::from(&mut found).cast());
        found.map(|gauged| gauged.as_ref())
    }
}

/// Returns the identity of the task that a door represents, or of the door itself.
///
/// # Safety
/// The requirements of [`stop`] apply.
unsafe fn identity<D: Door>(cell: CellPtr) -> usize {
    // SAFETY: by contract.
    let door = unsafe { task_of::<D>(cell).as_ref() };
    door.stands_for().unwrap_or(cell.id()).get()
}

/// A task that passes a message to a door in a separate turn. The task itself gets the message as
/// an ordinary message. So the message is undone together with the turn that sent it, and becomes a
/// dead letter if the sponsor stops first.
struct Courier<M>(Address<M>);

impl<M: 'static> Task for Courier<M> {
    type Message = M;

    fn receive(&mut self, message: M, _: &Turn<'_, M>) -> Flow {
        // This turn may run on a stack with as many doors as made the message wait.
        let _lifted = Lifted::new();
        if let Err(SendError(message)) = self.0.send(message) {
            let reason = if self.0.is_stopped() {
                LetterReason::Stopped
            } else {
                LetterReason::Full
            };
            count_dead_letters(type_name::<M>, reason, 1);
            quiet::drop(message);
        }
        Flow::Continue
    }

    const INTERNAL: bool = true;
}
