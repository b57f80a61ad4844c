//! The header of a cell: its words, and the table of functions for its kind of task.

#[cfg(all(debug_assertions, not(garrick_loom)))]
use std::any::TypeId;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::{self, NonNull};

use garrick_core::prim::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};
use garrick_core::prim::{UnsafeCell, unmodelled};

use super::envelope::Envelope;
use super::inbox::{DOOR, idle_of};
use super::refs::ORPHAN;
use super::state::{Home, State};
use crate::quiet;

/// Room for one message inside an entry of a run queue, or for the address of an envelope with a
/// larger message.
pub(crate) type Slot = MaybeUninit<[u64; 3]>;

/// Recovers a task after a turn that panicked. Gets the home worker, untyped, and the panic
/// message. Returns true if the task continues.
pub(crate) type Recover = unsafe fn(CellPtr, NonNull<()>, &str) -> bool;

/// Forwards a message to a task, like [`DoorTable::pass`]. Gets the worker of the current turn,
/// untyped because it belongs to a layer above.
pub(crate) type Relay = unsafe fn(CellPtr, NonNull<()>, *mut ()) -> bool;

/// The functions of a door, one static table per type.
pub(crate) struct DoorTable {
    /// Passes the message at the pointer, which is moved out. Returns false if it was put back.
    pub(crate) pass: unsafe fn(CellPtr, *mut ()) -> bool,
    /// Passes a message in a turn, for a door that only forwards messages.
    pub(crate) relay: Option<Relay>,
    /// Passes the unread messages of one envelope. Returns the number of refused messages.
    pub(crate) pass_unread: unsafe fn(CellPtr, *mut Envelope) -> u64,
    /// Asks the receiver behind the door to stop.
    pub(crate) stop: unsafe fn(CellPtr),
    /// Returns true if the receiver behind the door has stopped.
    pub(crate) is_stopped: unsafe fn(CellPtr) -> bool,
    /// Registers a notice for the end of the receiver behind the door. The notice is passed untyped
    /// because it belongs to a layer above.
    pub(crate) watch: unsafe fn(CellPtr, NonNull<()>),
    /// Finds the door's bound, and stores it in the place at the pointer. Both are passed untyped
    /// because they belong to a layer above.
    pub(crate) gauged: unsafe fn(CellPtr, NonNull<()>),
    /// Returns the identity by which its addresses are compared.
    pub(crate) identity: unsafe fn(CellPtr) -> usize,
}

/// The functions of a cell's kind of task, one static table per type.
pub(crate) struct Table {
    /// Runs one activation: first the message with which the cell was scheduled, which is moved
    /// out, unless the pointer is null; then the mailbox. The home worker is passed untyped because
    /// it lives in a layer above.
    pub(crate) run: unsafe fn(CellPtr, NonNull<()>, *const Slot),
    /// Recovers a task after a turn that panicked; `None` for a task that cannot.
    pub(crate) recover: Option<Recover>,
    /// Drops the task in place. In the table of a task that is gone: drops what it has left in the
    /// block.
    pub(crate) drop_task: unsafe fn(CellPtr),
    /// Drops the unread messages of one envelope. Returns the number of letters among them.
    pub(crate) drop_unread: unsafe fn(*mut Envelope) -> u64,
    /// Moves the newest messages of an envelope to a separate one. The pool is passed untyped as
    /// well.
    pub(crate) split_newest: unsafe fn(NonNull<()>, *mut Envelope, u32) -> *mut Envelope,
    /// Moves the message in a slot to an envelope. The pool is passed untyped.
    pub(crate) wrap_slot: unsafe fn(NonNull<()>, *const Slot) -> *mut Envelope,
    /// Drops the message in a slot. Returns true if it was a letter. The pool is passed untyped.
    pub(crate) drop_slot: unsafe fn(NonNull<()>, *const Slot) -> bool,
    /// True if the task may move to another thread.
    pub(crate) moves: bool,
    /// True if an activation asks first whether it may block.
    pub(crate) blocks: bool,
    /// True if the first activation begins with a start.
    pub(crate) starts: bool,
    /// True if the mailbox is bounded. True for the dead task as well: senders ask as long as the
    /// block exists.
    pub(crate) bounded: bool,
    /// The functions of a door, if the cell is one.
    pub(crate) door: Option<&'static DoorTable>,
    /// The table of the same block while the task is watched; `None` in that table itself.
    pub(crate) watched: Option<&'static Table>,
    /// The table of the same block with its task gone.
    pub(crate) dead: Option<&'static Table>,
    /// Size of the whole block, in bytes.
    pub(crate) block_bytes: usize,
    /// Returns the name of the task's type.
    pub(crate) name: fn() -> &'static str,
    /// Type of the messages, for [`Header::check_messages`].
    #[cfg(all(debug_assertions, not(garrick_loom)))]
    pub(crate) message: fn() -> TypeId,
}

impl Table {
    /// Returns the task's name, which calls foreign code.
    pub(crate) fn name_of(&self) -> &'static str {
        quiet::call(self.name).unwrap_or("a task whose name panics")
    }
}

/// The header of one cell. The task follows it in the same block.
#[repr(C)]
pub(crate) struct Header {
    /// Table of the task. Owner writes; threads that send to the cell or drop messages for it read.
    /// Not modelled, because it orders nothing.
    table: unmodelled::AtomicPtr<Table>,
    /// The [`State`] word. Owner writes; everyone reads `home`.
    pub(super) state: AtomicU64,
    /// The shared mailbox and the token, see `inbox`. Everyone writes.
    pub(super) inbox: AtomicPtr<Envelope>,
    /// References counted by the owner. Owner writes and reads.
    pub(super) local_refs: UnsafeCell<i32>,
    /// References counted by everyone else, see `refs`. Everyone writes.
    pub(super) shared_refs: AtomicU32,
    /// Shows models who uses the cell, and that nobody does once it is freed.
    #[cfg(garrick_loom)]
    pub(super) alive: UnsafeCell<bool>,
}

impl Header {
    /// Creates a newborn cell of `home`, with one reference, counted by the owner.
    pub(crate) fn newborn(table: &'static Table, home: Home) -> Self {
        Self {
            table: unmodelled::AtomicPtr::new(ptr::from_ref(table).cast_mut()),
            state: AtomicU64::new(State::newborn(home).bits()),
            inbox: AtomicPtr::new(idle_of(table.bounded)),
            local_refs: UnsafeCell::new(1),
            shared_refs: AtomicU32::new(0),
            #[cfg(garrick_loom)]
            alive: UnsafeCell::new(true),
        }
    }

    /// Creates a door, with one reference.
    pub(crate) fn door(table: &'static Table) -> Self {
        Self {
            table: unmodelled::AtomicPtr::new(ptr::from_ref(table).cast_mut()),
            state: AtomicU64::new(State::NONE.bits()),
            inbox: AtomicPtr::new(DOOR),
            local_refs: UnsafeCell::new(0),
            shared_refs: AtomicU32::new(ORPHAN | 1),
            #[cfg(garrick_loom)]
            alive: UnsafeCell::new(true),
        }
    }

    /// Writes the header into a block whose state word is an atomic at all times: a worker that
    /// ends searches all blocks for its own cells.
    ///
    /// # Safety
    /// The block is the caller's, large enough and aligned.
    #[cfg(not(garrick_loom))]
    #[inline]
    pub(crate) unsafe fn place(self, block: NonNull<Self>) {
        let Self {
            table,
            state,
            inbox,
            local_refs,
            shared_refs,
        } = self;
        let at = block.as_ptr();
        // SAFETY: by contract. The state word comes last, and atomically.
        unsafe {
            debug_assert_eq!(
                (*at).state.load(Relaxed),
                0,
                "a block without a cell is nobody's"
            );
            (&raw mut (*at).table).write(table);
            (&raw mut (*at).inbox).write(inbox);
            (&raw mut (*at).local_refs).write(local_refs);
            (&raw mut (*at).shared_refs).write(shared_refs);
            (*at).state.store(state.into_inner(), Relaxed);
        }
    }

    /// Writes the header into a block in a model, where atomics are loom's. The block has no
    /// atomics before.
    ///
    /// # Safety
    /// The block is the caller's, large enough and aligned.
    #[cfg(garrick_loom)]
    pub(crate) unsafe fn place(self, block: NonNull<Self>) {
        super::homes::note(CellPtr(block), self.home());
        // SAFETY: by contract.
        unsafe { block.write(self) };
    }

    /// Returns the functions for the task and its messages.
    #[inline]
    pub(crate) fn table(&self) -> &'static Table {
        // Relaxed: a table is a constant, and both that a cell has are right for its messages.
        // SAFETY: made from a `&'static Table`.
        unsafe { &*self.table.load(Relaxed) }
    }

    /// Returns true if the mailbox is bounded. The answer never changes.
    #[inline]
    pub(crate) fn is_bounded(&self) -> bool {
        self.table().bounded
    }

    /// Owner only: replaces the table.
    pub(crate) fn set_table(&self, table: &'static Table) {
        self.table.store(ptr::from_ref(table).cast_mut(), Relaxed);
    }

    /// Returns the owner of the cell, as far as this thread can see.
    #[inline]
    pub(crate) fn home(&self) -> Home {
        self.state().home()
    }

    /// Returns the home of a block that need not be a cell, or may be freed meanwhile.
    ///
    /// # Safety
    /// It is a block of the pool for cells, whose state word is an atomic at all times, and its
    /// memory stays.
    #[inline]
    pub(crate) unsafe fn home_of_block(block: NonNull<Self>) -> Home {
        // SAFETY: by contract.
        State::of_bits(unsafe { (*block.as_ptr()).state.load(Relaxed) }).home()
    }

    /// Panics in debug builds if the cell is not at `home`, whose worker the caller is. Not checked
    /// in models, where each load is one more point at which threads may be switched.
    #[inline(always)]
    pub(crate) fn check_home(&self, home: Home) {
        debug_assert!(
            cfg!(garrick_loom) || self.home() == home,
            "only its owner does that to a cell"
        );
    }

    /// Panics in debug builds if the cell does not receive messages of type `M`. Not checked in
    /// models, where each load is one more point at which threads may be switched.
    #[inline(always)]
    pub(crate) fn check_messages<M: 'static>(&self) {
        #[cfg(all(debug_assertions, not(garrick_loom)))]
        assert!(
            (self.table().message)() == TypeId::of::<M>(),
            "a cell for messages of another type"
        );
    }

    /// Panics in debug builds if the cell's block is not `bytes` large. Not checked in models,
    /// where each load is one more point at which threads may be switched.
    #[inline(always)]
    pub(crate) fn check_block(&self, bytes: usize) {
        debug_assert!(
            cfg!(garrick_loom) || self.table().block_bytes == bytes,
            "a cell with a task of another size"
        );
    }

    /// Owner only: returns the last envelope of the local mailbox, whose `next` is the first; null
    /// if empty.
    #[inline]
    pub(crate) fn mailbox_tail(&self) -> *mut Envelope {
        self.state().tail()
    }

    /// Owner only: appends one envelope to the local mailbox.
    ///
    /// # Safety
    /// The envelope is ours alone, and alive until it is taken out again.
    #[inline]
    pub(crate) unsafe fn append(&self, envelope: *mut Envelope) {
        let tail = self.mailbox_tail();
        debug_assert_ne!(tail, envelope, "an envelope is appended once");
        // SAFETY: both are owned: `envelope` by contract, `tail` because it is in the local
        // mailbox.
        unsafe {
            if tail.is_null() {
                (*envelope).set_next(envelope);
            } else {
                (*envelope).set_next((*tail).next());
                (*tail).set_next(envelope);
            }
        }
        self.set_mailbox_tail(envelope);
    }

    /// Owner only: takes the oldest envelope out of the local mailbox; null if there is none.
    pub(crate) fn take_oldest(&self) -> *mut Envelope {
        let tail = self.mailbox_tail();
        if tail.is_null() {
            return tail;
        }
        // SAFETY: envelopes in the local mailbox are alive and ours.
        unsafe {
            let oldest = (*tail).next();
            if oldest == tail {
                self.set_mailbox_tail(ptr::null_mut());
            } else {
                (*tail).set_next((*oldest).next());
            }
            oldest
        }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header")
            .field("state", &self.state())
            .field("inbox", &self.inbox.load(Relaxed))
            .field("shared_refs", &self.shared_refs.load(Relaxed))
            .finish_non_exhaustive()
    }
}

/// A pointer to a cell that is alive: every owner of such a pointer has a reference, or the cell is
/// scheduled, or the owner has its token.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub(crate) struct CellPtr(pub(crate) NonNull<Header>);

impl Deref for CellPtr {
    type Target = Header;

    #[inline]
    fn deref(&self) -> &Header {
        // SAFETY: the cell is alive by the type's rule, and `Header` is only ever shared.
        let header = unsafe { self.0.as_ref() };
        #[cfg(garrick_loom)]
        header.check_alive();
        header
    }
}
