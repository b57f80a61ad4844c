//! The header of a cell: its words, and what its kind of task can do.

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

/// Room for one message inside an entry of a run queue, or for the address of an envelope with one that is too large for it.
pub(crate) type Slot = MaybeUninit<[u64; 3]>;

/// Lets a task go on after a turn that panicked, if it can: gets the home worker, untyped, and what the panic
/// said, and is true if the task goes on.
pub(crate) type Recover = unsafe fn(CellPtr, NonNull<()>, &str) -> bool;

/// Hands a message on to a task, as [`DoorTable::pass`]; gets the worker whose turn it is, untyped because it belongs to a layer above.
pub(crate) type Relay = unsafe fn(CellPtr, NonNull<()>, *mut ()) -> bool;

/// How a door is passed, one static table per type.
pub(crate) struct DoorTable {
    /// Passes the message that the pointer leads to, which is moved out; false if it was put back.
    pub(crate) pass: unsafe fn(CellPtr, *mut ()) -> bool,
    /// Does the same in a turn, for a door that only hands messages on.
    pub(crate) relay: Option<Relay>,
    /// Passes the unread messages of one envelope, and says how many were refused.
    pub(crate) pass_unread: unsafe fn(CellPtr, *mut Envelope) -> u64,
    /// Asks what stands behind it to stop.
    pub(crate) stop: unsafe fn(CellPtr),
    /// Whether what stands behind it has stopped.
    pub(crate) is_stopped: unsafe fn(CellPtr) -> bool,
    /// Has a notice given when what stands behind it has ended. The notice is passed untyped because it belongs to a layer
    /// above.
    pub(crate) watch: unsafe fn(CellPtr, NonNull<()>),
    /// What its addresses are compared by.
    pub(crate) identity: unsafe fn(CellPtr) -> usize,
}

/// What a cell's kind of task can do, one static table per type.
pub(crate) struct Table {
    /// Runs one activation: the message with which the cell was scheduled, which is moved out, unless the
    /// pointer is null; then the mailbox. The home worker is passed untyped because it lives in a layer above.
    pub(crate) run: unsafe fn(CellPtr, NonNull<()>, *const Slot),
    /// For a task that can survive a turn that panicked.
    pub(crate) recover: Option<Recover>,
    /// Drops the task in place. In the table of a task that is gone: drops what it has left in the block.
    pub(crate) drop_task: unsafe fn(CellPtr),
    /// Drops the unread messages of one envelope, and says how many of them were letters.
    pub(crate) drop_unread: unsafe fn(*mut Envelope) -> u64,
    /// Moves the newest messages of an envelope to one of their own; the pool is passed untyped as well.
    pub(crate) split_newest: unsafe fn(NonNull<()>, *mut Envelope, u32) -> *mut Envelope,
    /// Moves the message in a slot to an envelope; the pool is passed untyped.
    pub(crate) wrap_slot: unsafe fn(NonNull<()>, *const Slot) -> *mut Envelope,
    /// Drops the message in a slot, and says whether it was a letter; the pool is passed untyped.
    pub(crate) drop_slot: unsafe fn(NonNull<()>, *const Slot) -> bool,
    /// Whether the task may go to another thread.
    pub(crate) moves: bool,
    /// True if an activation asks first whether it may block.
    pub(crate) blocks: bool,
    /// True if the first activation begins with a start.
    pub(crate) starts: bool,
    /// True if the mailbox has room for so many messages only. So for the dead task as well: senders ask as long as there is the block.
    pub(crate) bounded: bool,
    /// For a door.
    pub(crate) door: Option<&'static DoorTable>,
    /// The table of the same block when somebody wants to know of its end; none if this is it.
    pub(crate) watched: Option<&'static Table>,
    /// The table of the same block with its task gone.
    pub(crate) dead: Option<&'static Table>,
    /// Size of the whole block, in bytes.
    pub(crate) block_bytes: usize,
    /// The task's type.
    pub(crate) name: fn() -> &'static str,
    /// The type of the messages, for [`Header::check_messages`].
    #[cfg(all(debug_assertions, not(garrick_loom)))]
    pub(crate) message: fn() -> TypeId,
}

impl Table {
    /// The task's name, which is foreign code to ask for.
    pub(crate) fn name_of(&self) -> &'static str {
        quiet::call(self.name).unwrap_or("a task whose name panics")
    }
}

/// One cell's header; the task follows it in the same block.
#[repr(C)]
pub(crate) struct Header {
    /// What runs here. Owner writes; whoever sends to the cell or drops messages for it reads. Not modelled, because it orders nothing.
    table: unmodelled::AtomicPtr<Table>,
    /// See [`State`]. Owner writes; everyone reads `home`.
    pub(super) state: AtomicU64,
    /// The shared mailbox and the token, see `inbox`. Everyone writes.
    pub(super) inbox: AtomicPtr<Envelope>,
    /// References counted by the owner. Owner writes and reads.
    pub(super) local_refs: UnsafeCell<i32>,
    /// References counted by everyone else, see `refs`. Everyone writes.
    pub(super) shared_refs: AtomicU32,
    /// Lets models see who uses the cell, and that nobody does once it is freed.
    #[cfg(garrick_loom)]
    pub(super) alive: UnsafeCell<bool>,
}

impl Header {
    /// A newborn cell of `home`, with one reference, counted by the owner.
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

    /// A door, with one reference.
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

    /// Writes the header into a block whose state word is an atomic at all times: a worker that ends looks at
    /// all blocks for those that are its own.
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

    /// Does the same where atomics are loom's, which a block has none of before.
    ///
    /// # Safety
    /// As above.
    #[cfg(garrick_loom)]
    pub(crate) unsafe fn place(self, block: NonNull<Self>) {
        super::homes::note(CellPtr(block), self.home());
        // SAFETY: by contract.
        unsafe { block.write(self) };
    }

    /// What can be done with the task and its messages.
    #[inline]
    pub(crate) fn table(&self) -> &'static Table {
        // Relaxed: a table is a constant, and both that a cell has are right for its messages.
        // SAFETY: made from a `&'static Table`.
        unsafe { &*self.table.load(Relaxed) }
    }

    /// Whether the mailbox is bounded. It is for good, or never.
    #[inline]
    pub(crate) fn is_bounded(&self) -> bool {
        self.table().bounded
    }

    /// Owner only: replaces the table.
    pub(crate) fn set_table(&self, table: &'static Table) {
        self.table.store(ptr::from_ref(table).cast_mut(), Relaxed);
    }

    /// Who owns the cell, as far as this thread can see.
    #[inline]
    pub(crate) fn home(&self) -> Home {
        self.state().home()
    }

    /// Does what `home` does for a block that need not be a cell, or may be freed meanwhile.
    ///
    /// # Safety
    /// It is a block of the pool for cells, whose state word is an atomic at all times, and its memory stays.
    #[inline]
    pub(crate) unsafe fn home_of_block(block: NonNull<Self>) -> Home {
        // SAFETY: by contract.
        State::of_bits(unsafe { (*block.as_ptr()).state.load(Relaxed) }).home()
    }

    /// Panics in debug builds if the cell is not at `home`, whose worker the caller is. Not in models, where each load is one
    /// more place at which threads may be switched.
    #[inline(always)]
    pub(crate) fn check_home(&self, home: Home) {
        debug_assert!(
            cfg!(garrick_loom) || self.home() == home,
            "only its owner does that to a cell"
        );
    }

    /// Panics in debug builds if what the cell receives is not of type `M`. Not in models, for the same reason.
    #[inline(always)]
    pub(crate) fn check_messages<M: 'static>(&self) {
        #[cfg(all(debug_assertions, not(garrick_loom)))]
        assert!(
            (self.table().message)() == TypeId::of::<M>(),
            "a cell for messages of another type"
        );
    }

    /// Panics in debug builds if the cell's block is not `bytes` large. Not in models, for the same reason.
    #[inline(always)]
    pub(crate) fn check_block(&self, bytes: usize) {
        debug_assert!(
            cfg!(garrick_loom) || self.table().block_bytes == bytes,
            "a cell with a task of another size"
        );
    }

    /// Owner only: the last envelope of the local mailbox, whose `next` is the first; null if empty.
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
        // SAFETY: both are owned: `envelope` by contract, `tail` because it is in the local mailbox.
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

/// A pointer to a cell that is alive: every holder of one has a reference, or the cell is scheduled,
/// or the holder has its token.
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
