//! The header of a cell (the memory block of a task), and the table of functions for each kind of
//! task.

#[cfg(any(feature = "sim", all(debug_assertions, not(garrick_loom))))]
use std::any::TypeId;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::{self, NonNull};

use garrick_core::prim::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};
use garrick_core::prim::{UnsafeCell, unmodelled};

use super::envelope::Envelope;
use super::inbox::{DOOR, idle_of};
use super::refs::ORPHAN;
use super::state::{Home, State};
use crate::names::name_at;
use crate::quiet;

/// The space for one message in an entry of a run queue. A larger message is in an envelope, whose
/// address is stored here.
pub(crate) type Slot = MaybeUninit<[u64; 3]>;

/// Function that recovers a task after a turn that panicked. The arguments are the cell, the worker
/// that owns the cell (as an untyped pointer), and the panic message. Returns true if the task
/// continues.
pub(crate) type Recover = unsafe fn(CellPtr, NonNull<()>, &str) -> bool;

/// Function by which a door (a function behind an address) forwards a message to a task during a
/// turn. The message and the result are passed as in [`DoorTable::pass`]. The second argument
/// points to the worker of the current turn. The pointer is untyped because the type of the worker
/// belongs to a layer above.
pub(crate) type Relay = unsafe fn(CellPtr, NonNull<()>, *mut ()) -> bool;

/// Functions of a door: a cell whose address leads to a function instead of a task. There is one
/// static table per type of door.
pub(crate) struct DoorTable {
    /// Moves the message out of the memory behind the pointer, and passes it to the door (the
    /// function behind an address). If the door refuses the message, moves the message back and
    /// returns false.
    pub(crate) pass: unsafe fn(CellPtr, *mut ()) -> bool,
    /// Passes a message during a turn, for a door (a function behind an address) that only forwards
    /// messages. `None` for all other doors.
    pub(crate) relay: Option<Relay>,
    /// Passes a message to the door (a function behind an address) in a separate turn. The third
    /// argument points to the message, which is moved out. The second argument is the worker of the
    /// current turn. Takes over a reference to the door.
    pub(crate) defer: unsafe fn(CellPtr, NonNull<()>, *mut ()),
    /// Passes the unread messages of one envelope to the door (the function behind an address).
    /// Returns the number of refused messages.
    pub(crate) pass_unread: unsafe fn(CellPtr, *mut Envelope) -> u64,
    /// Requests that the receiver behind the door (a function behind an address) stop.
    pub(crate) stop: unsafe fn(CellPtr),
    /// Returns true if the receiver behind the door (a function behind an address) has stopped.
    pub(crate) is_stopped: unsafe fn(CellPtr) -> bool,
    /// Registers a function to call when the receiver behind the door (a function behind an
    /// address) has ended. The pointer to the registered function is untyped because its type
    /// belongs to a layer above.
    pub(crate) watch: unsafe fn(CellPtr, NonNull<()>),
    /// Finds the interface of the bounded mailbox behind the door (a function behind an address),
    /// and writes it through the given pointer. The pointer is untyped because its type belongs to
    /// a layer above.
    pub(crate) gauged: unsafe fn(CellPtr, NonNull<()>),
    /// Requests the state of the task behind the door (a function behind an address), and writes
    /// the result through the given pointer. The pointer is untyped because its type belongs to a
    /// layer above.
    pub(crate) look: unsafe fn(CellPtr, NonNull<()>),
    /// Finds the value from which the door (a function behind an address) was made, and writes it
    /// through the given pointer. The pointer is untyped because its type belongs to a layer above.
    pub(crate) origin: unsafe fn(CellPtr, NonNull<()>),
    /// Returns the number by which addresses of the door (a function behind an address) are
    /// compared.
    pub(crate) identity: unsafe fn(CellPtr) -> usize,
}

/// Functions of one type of task. There is one static table per type.
pub(crate) struct Table {
    /// Runs one activation. If the slot pointer is not null, first moves the message out of this
    /// slot of the run queue and handles it. Then handles the mailbox. The second argument is the
    /// worker that owns the cell. The pointer is untyped because its type belongs to a layer above.
    pub(crate) run: unsafe fn(CellPtr, NonNull<()>, *const Slot),
    /// Recovers a task after a turn that panicked. `None` for a task that cannot recover.
    pub(crate) recover: Option<Recover>,
    /// Drops the task in place. In the table of a task that was already dropped, this function
    /// drops the rest of the block's contents.
    pub(crate) drop_task: unsafe fn(CellPtr),
    /// Drops the unread messages of one envelope. Returns the number of these messages that count
    /// as dead letters.
    pub(crate) drop_unread: unsafe fn(*mut Envelope) -> u64,
    /// Moves the newest messages of an envelope to a separate envelope. The first argument is the
    /// memory pool, as an untyped pointer. The last argument is the number of messages.
    pub(crate) split_newest: unsafe fn(NonNull<()>, *mut Envelope, u32) -> *mut Envelope,
    /// Moves the message in a slot of a run queue to an envelope. The first argument is the memory
    /// pool, as an untyped pointer.
    pub(crate) wrap_slot: unsafe fn(NonNull<()>, *const Slot) -> *mut Envelope,
    /// Drops the message in a slot of a run queue. Returns true if the message counts as a dead
    /// letter. The first argument is the memory pool, as an untyped pointer.
    pub(crate) drop_slot: unsafe fn(NonNull<()>, *const Slot) -> bool,
    /// True if the task may move to another thread.
    pub(crate) moves: bool,
    /// True if the task usually blocks its thread. Before each activation, the worker then checks
    /// whether the task is allowed to block now.
    pub(crate) blocks: bool,
    /// True if a turn of the task may end before the runtime decides whether the turn commits.
    pub(crate) commits_later: bool,
    /// True if the panics of turns are passed to the reporter of the sponsor (the group of
    /// workers). False if the task itself reports them.
    pub(crate) reports: bool,
    /// True if the task belongs to a library and not to the program.
    pub(crate) internal: bool,
    /// True if the first activation begins with a call of the task's start function.
    pub(crate) starts: bool,
    /// True if the mailbox is bounded. The table [`dead`](Self::dead), which replaces this table,
    /// has the same value, because senders read the field until the block is freed.
    pub(crate) bounded: bool,
    /// Functions of the door (a function behind an address). `None` if the cell is not a door.
    pub(crate) door: Option<&'static DoorTable>,
    /// Table that replaces this table when a watcher is added to the task. `None` in the table of a
    /// watched task.
    pub(crate) watched: Option<&'static Table>,
    /// Table that replaces this table after the task was dropped. `None` in the table of a dropped
    /// task.
    pub(crate) dead: Option<&'static Table>,
    /// Size of the whole block, in bytes.
    pub(crate) block_bytes: usize,
    /// Returns the name of the task's type.
    pub(crate) name: fn() -> &'static str,
    /// Returns the label of the task, which distinguishes it from other tasks of its type.
    pub(crate) label: unsafe fn(CellPtr) -> Option<String>,
    /// Names of the kinds of messages. Empty if the messages have no kinds.
    pub(crate) messages: &'static [&'static str],
    /// Returns the index of the kind of the message in a slot of a run queue. Does not move the
    /// message out.
    pub(crate) kind_in_slot: unsafe fn(*const Slot) -> usize,
    /// Returns the index of the kind of the oldest message in an envelope. Does not move the
    /// message out.
    #[cfg(feature = "sim")]
    pub(crate) kind_in_envelope: unsafe fn(*mut Envelope) -> usize,
    /// Returns the name of the messages' type.
    #[cfg(feature = "sim")]
    pub(crate) message_name: fn() -> &'static str,
    /// The type of the task's messages. Used by [`Header::check_messages`], and for copies of
    /// messages in simulations.
    #[cfg(any(feature = "sim", all(debug_assertions, not(garrick_loom))))]
    pub(crate) message: fn() -> TypeId,
}

impl Table {
    /// Returns true if this table and `other` belong to the same kind of task.
    pub(crate) fn is_of_kind(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || std::ptr::fn_addr_eq(self.name, other.name)
    }

    /// Returns the name of the task's type. Calls foreign code: the function that returns the name.
    /// If this function panics, returns a substitute.
    pub(crate) fn name_of(&self) -> &'static str {
        quiet::call(self.name).unwrap_or("a task whose name panics")
    }
}

/// The header of a cell. The task comes after the header, in the same block.
#[repr(C)]
pub(crate) struct Header {
    /// Table of the task's functions. Written by the worker that owns the cell, read by threads
    /// that send messages to the cell or drop messages for it. Loom models do not check this field,
    /// because no other access to memory is ordered by it.
    table: unmodelled::AtomicPtr<Table>,
    /// The [`State`] word. Written by the worker that owns the cell. Any thread may read the part
    /// `home` of the word, which identifies this worker.
    pub(super) state: AtomicU64,
    /// The shared mailbox, which also shows if a thread has the token: the right to notify the
    /// owner (`inbox.rs`). Written by any thread.
    pub(super) inbox: AtomicPtr<Envelope>,
    /// The part of the reference count that belongs to the owner. Only the worker that owns the
    /// cell accesses this part. The number of references is the sum of this field and
    /// `shared_refs`.
    pub(super) local_refs: UnsafeCell<i32>,
    /// The part of the reference count that any thread may change (`refs.rs`). Also contains the
    /// mark ORPHAN if the cell has no owner.
    pub(super) shared_refs: AtomicU32,
    /// Lets loom models check the accesses to the cell, and detect an access after the cell was
    /// freed.
    #[cfg(garrick_loom)]
    pub(super) alive: UnsafeCell<bool>,
}

impl Header {
    /// Creates a cell that has not run yet, for the worker `home`. The cell begins with one
    /// reference, in the local count.
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

    /// Creates the header of a door (a function behind an address), with one reference.
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

    /// Writes the header into a block. The state word of the block is always accessed as an atomic,
    /// because a worker that shuts down searches all blocks for its cells.
    ///
    /// # Safety
    /// The caller owns the block, which must be large enough and aligned.
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

    /// Writes the header into a block. This variant is for loom models. The header contains atomics
    /// of loom, and the block contains no atomics before the call.
    ///
    /// # Safety
    /// The caller owns the block, which must be large enough and aligned.
    #[cfg(garrick_loom)]
    pub(crate) unsafe fn place(self, block: NonNull<Self>) {
        super::homes::note(CellPtr(block), self.home());
        // SAFETY: by contract.
        unsafe { block.write(self) };
    }

    /// Returns the table with the functions for the task and its messages.
    #[inline]
    pub(crate) fn table(&self) -> &'static Table {
        // Relaxed: a table is a constant, and all tables of a cell are right for its messages.
        // SAFETY: made from a `&'static Table`.
        unsafe { &*self.table.load(Relaxed) }
    }

    /// Returns true if the mailbox is bounded. This never changes.
    #[inline]
    pub(crate) fn is_bounded(&self) -> bool {
        self.table().bounded
    }

    /// Replaces the table of the task's functions. Called only by the worker that owns the cell.
    pub(crate) fn set_table(&self, table: &'static Table) {
        self.table.store(ptr::from_ref(table).cast_mut(), Relaxed);
    }

    /// Returns true if the task is watched. Called only by the worker that owns the cell.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.table().watched.is_none()
    }

    /// Replaces the table with the variant for a watched task. Called only by the worker that owns
    /// the cell.
    pub(crate) fn mark_watched(&self) {
        if let Some(watched) = self.table().watched {
            self.set_table(watched);
        }
    }

    /// Returns the home (the owner) of the cell. If the caller is not the owner, the value may be
    /// outdated.
    #[inline]
    pub(crate) fn home(&self) -> Home {
        self.state().home()
    }

    /// Returns the home (the owner) of a block. The block may be free, or may be freed during the
    /// call.
    ///
    /// # Safety
    /// The block belongs to the pool for cells. Its state word is always accessed as an atomic, and
    /// its memory is never unmapped.
    #[inline]
    pub(crate) unsafe fn home_of_block(block: NonNull<Self>) -> Home {
        // SAFETY: by contract.
        State::of_bits(unsafe { (*block.as_ptr()).state.load(Relaxed) }).home()
    }

    /// Panics in debug builds if the cell does not belong to the worker `home`, which is the
    /// calling worker. Does nothing in loom models, in which each load adds a point at which loom
    /// may switch threads.
    #[inline(always)]
    pub(crate) fn check_home(&self, home: Home) {
        debug_assert!(
            cfg!(garrick_loom) || self.home() == home,
            "only its owner does that to a cell"
        );
    }

    /// Panics in debug builds if the cell does not receive messages of type `M`. Does nothing in
    /// loom models, in which each load adds a point at which loom may switch threads.
    #[inline(always)]
    pub(crate) fn check_messages<M: 'static>(&self) {
        #[cfg(all(debug_assertions, not(garrick_loom)))]
        assert!(
            (self.table().message)() == TypeId::of::<M>(),
            "a cell for messages of another type"
        );
    }

    /// Panics in debug builds if the size of the cell's block is not `bytes`. Does nothing in loom
    /// models, in which each load adds a point at which loom may switch threads.
    #[inline(always)]
    pub(crate) fn check_block(&self, bytes: usize) {
        debug_assert!(
            cfg!(garrick_loom) || self.table().block_bytes == bytes,
            "a cell with a task of another size"
        );
    }

    /// Returns the last envelope of the local mailbox, or null if the mailbox is empty. The field
    /// `next` of the last envelope leads to the first envelope. Called only by the worker that owns
    /// the cell.
    #[inline]
    pub(crate) fn mailbox_tail(&self) -> *mut Envelope {
        self.state().tail()
    }

    /// Appends one envelope to the local mailbox. Called only by the worker that owns the cell.
    ///
    /// # Safety
    /// Only the caller accesses the envelope. The envelope is not freed before it is taken out
    /// again.
    #[inline]
    pub(crate) unsafe fn append(&self, envelope: *mut Envelope) {
        let tail = self.mailbox_tail();
        debug_assert_ne!(tail, envelope, "an envelope is appended once");
        // SAFETY: both are owned: `envelope` by contract, `tail` because it is in the local
        // mailbox.
        unsafe {
            if tail.is_null() {
                (*envelope).begin_at(0);
                (*envelope).set_next(envelope);
            } else {
                (*envelope).begin_at((*tail).end());
                (*envelope).set_next((*tail).next());
                (*tail).set_next(envelope);
            }
        }
        self.set_mailbox_tail(envelope);
    }

    /// Returns the number of messages in the local mailbox. Each note (an envelope that makes a
    /// request) counts as a message. Called only by the worker that owns the cell, and only while
    /// no visitor (another thread) handles messages of the cell.
    pub(crate) fn mailbox_len(&self) -> usize {
        self.mailbox_range().1
    }

    /// Returns the sequence number of the oldest message in the local mailbox
    /// ([`Envelope::origin`]), and the length of the mailbox. The requirements of
    /// [`CellPtr::mailbox_len`] apply.
    pub(crate) fn mailbox_range(&self) -> (usize, usize) {
        // SAFETY: envelopes in the local mailbox are alive and ours.
        unsafe { self.mailbox_tail().as_ref() }.map_or((0, 0), |tail| {
            // SAFETY: the list is circular, so the oldest follows the newest.
            let first = unsafe { &*tail.next() }.first_unread();
            let count = tail.end().wrapping_sub(first);
            debug_assert_eq!(count, self.count_mailbox(), "the messages are numbered");
            (first, count)
        })
    }

    /// Counts the messages in the local mailbox by reading all its envelopes.
    fn count_mailbox(&self) -> usize {
        let tail = self.mailbox_tail();
        let (mut at, mut count) = (tail, 0);
        loop {
            // SAFETY: as in `mailbox_len`.
            unsafe {
                at = (*at).next();
                count += (*at).unread() as usize;
            }
            if at == tail {
                return count;
            }
        }
    }

    /// Takes the oldest envelope out of the local mailbox. Returns null if there is none. Called
    /// only by the worker that owns the cell.
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

/// The identity of a task. Two tasks that exist at the same time have different identities.
///
/// In a simulation, the text and the hash of an identity are the same in every run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TaskId(pub(crate) usize);

/// The bit that marks the identity of a task on another node. No memory address has this bit.
const FAR: usize = 1 << (usize::BITS - 1);

impl TaskId {
    /// Returns the identity of a task on another node. Doors that represent the task return this
    /// identity ([`Door::stands_for`](crate::Door::stands_for)). While a door with this identity
    /// exists, no other task on another node may have the same `number`.
    ///
    /// # Panics
    /// Panics if the number has more than 63 bits.
    #[must_use]
    #[track_caller]
    pub const fn far(number: u64) -> Self {
        assert!(number < FAR as u64, "the number of a far task has 63 bits");
        Self(number as usize | FAR)
    }

    /// Returns true if the task is on another node ([`TaskId::far`]).
    #[must_use]
    pub const fn is_far(self) -> bool {
        self.0 & FAR != 0
    }

    pub(crate) fn get(self) -> usize {
        self.0
    }

    /// Returns the number that stands for the task in texts and hashes.
    fn shown(self) -> u64 {
        name_at(self.0).unwrap_or(self.0 as u64)
    }
}

impl Hash for TaskId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.shown().hash(state);
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.shown())
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskId({:x})", self.shown())
    }
}

/// A pointer to a cell that is not freed yet. Code may have such a pointer only while the cell
/// cannot be freed. This is so in three cases: the code has a reference to the cell, the code has
/// the token of the cell (the right to notify its owner), or the cell is scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub(crate) struct CellPtr(pub(crate) NonNull<Header>);

impl CellPtr {
    /// Returns the identity of the cell's task.
    #[inline]
    pub(crate) fn id(self) -> TaskId {
        TaskId(self.0.addr().get())
    }
}

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
