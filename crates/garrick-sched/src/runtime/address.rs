//! Addresses: typed, reference-counted pointers to cells, which contain tasks. Code that has an
//! address can send messages to its task.

mod orphan;

use std::any::{Any, type_name};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use garrick_core::prefetch::prefetch;

use self::orphan::drop_orphan;
use crate::cell::{CellPtr, Chain, DoorTable, Dropped, Envelope, Header, Home, Kind, Push, TaskId};
use crate::gate::{Gate, Pass};
use crate::parcel;
use crate::pool::{CELL_BYTES_MAX, Pool};
use crate::remote::{Remote, Wake};
use crate::runtime::current;
use crate::runtime::departure;
use crate::runtime::look::{Asking, Look, Looker, Looking};
use crate::runtime::pass;
use crate::runtime::stage::chain_behind;
use crate::runtime::trail::{self, Trail};
use crate::runtime::watch::{Ended, Notice, Request, Watch};

/// The error returned when a message was not accepted. Contains the message.
///
/// There are four possible reasons: the task has stopped, its mailbox is full, its sponsor is
/// shutting down, or a [door](crate::door()) in front of the task has refused the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<M>(pub M);

impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SendError").finish_non_exhaustive()
    }
}

impl<M> fmt::Display for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the receiver of this {} has stopped, or accepts no messages at the moment",
            type_name::<M>()
        )
    }
}

impl<M> std::error::Error for SendError<M> {}

/// The address of a task that receives messages of type `M`. An address is 8 bytes long. Its
/// type contains the type of the messages, but not the type of the task.
///
/// A clone of an address can send the same messages to the same task. Two addresses are equal if
/// they lead to the same task ([`Address::id`]). When the last address of a task is dropped, no
/// message can reach the task any more. The task is then dropped, too.
pub struct Address<M> {
    cell: CellPtr,
    /// Makes the address invariant. A send returns a message if it fails, and a door can choose
    /// this message:
    /// ```compile_fail,E0308
    /// use garrick_sched::Address;
    ///
    /// fn other(address: Address<fn(&'static str)>) -> Address<for<'a> fn(&'a str)> {
    ///     address
    /// }
    /// ```
    message: PhantomData<fn(M) -> M>,
}

// SAFETY: an address sends messages from the thread that holds it to the thread that runs the task,
// which requires `M: Send`. The counts are safe from any thread by the cell's protocol.
unsafe impl<M: Send> Send for Address<M> {}
// SAFETY: as above; sending takes `&self`.
unsafe impl<M: Send> Sync for Address<M> {}

impl<M: 'static> Address<M> {
    /// Creates an address from a reference that is already counted.
    ///
    /// # Safety
    /// The messages of the cell are of type `M`. The caller owns the reference, and this call takes
    /// it over.
    #[inline]
    pub(crate) unsafe fn from_counted(cell: CellPtr) -> Self {
        cell.check_alive();
        cell.check_messages::<M>();
        Self {
            cell,
            message: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn cell(&self) -> CellPtr {
        self.cell
    }

    /// Sends `message`. Any thread may call this method.
    ///
    /// During a turn, the send is staged, as with [`Turn::send`](crate::Turn::send): the message is
    /// sent when the turn commits, and not at all if the turn is undone. Outside of a turn, if the
    /// mailbox is full and its policy is to wait, the call blocks until there is room.
    ///
    /// # Errors
    /// Returns the message if the receiving task is known to have stopped, or if the message is not
    /// accepted for another reason ([`SendError`]). Does not block but returns the message if only
    /// the calling thread runs the task, because this thread would wait for itself. If the task
    /// stops after the message was accepted and before it was handled, the message is dropped and
    /// counted as a dead letter.
    // Inlined, so that the message is created where it is put. Otherwise it is copied just after
    // its fields were written, and the copy waits for the store buffer.
    #[inline(always)]
    pub fn send(&self, message: M) -> Result<(), SendError<M>> {
        match current::worker() {
            Some(worker) => worker.send(self, message),
            None => self.send_from_outside(message, false),
        }
    }

    /// Sends a message from a thread that is not in a turn. If `is_answer` is true, the message is
    /// an answer to the task's own question. Such a message is accepted even while the sponsor of
    /// the task is shutting down.
    #[inline(never)]
    pub(crate) fn send_from_outside(
        &self,
        message: M,
        is_answer: bool,
    ) -> Result<(), SendError<M>> {
        let pushed = self.push_from_outside(message, is_answer, |_| false);
        pushed.map(Wake::call)
    }

    /// Sends a message like [`Address::send_from_outside`], but does not wake the worker of the
    /// task. Instead, returns the [`Wake`], which the caller must call.
    pub(crate) fn push_from_outside(
        &self,
        message: M,
        is_answer: bool,
        keeps: impl FnOnce(&Remote) -> bool,
    ) -> Result<Wake, SendError<M>> {
        if self.cell.is_door() {
            // SAFETY: its messages are of this type, and we hold a reference.
            return unsafe { pass::pass(self.cell, message) }.map(|()| Wake::NOBODY);
        }
        if self.cell.is_bounded() {
            // SAFETY: it is.
            return unsafe { self.push_to_bounded(message, is_answer, keeps) };
        }
        self.push_admitted(message, is_answer, keeps)
    }

    /// Sends a message to a task that has room for it. Does not wake the worker of the task, but
    /// returns the [`Wake`], which the caller must call.
    pub(super) fn push_admitted(
        &self,
        message: M,
        is_answer: bool,
        keeps: impl FnOnce(&Remote) -> bool,
    ) -> Result<Wake, SendError<M>> {
        if let Some(worker) = current::resting()
            && worker.is_at_home_and_calm(self.cell)
        {
            worker.send_between_turns(self.cell, message);
            return Ok(Wake::NOBODY);
        }
        if self.cell.inbox_is_closed() {
            return Err(SendError(message));
        }
        // Held until the message is in the inbox. Not longer: the wake may call foreign code.
        let pass = if is_answer {
            Way::Free
        } else {
            enter(self.cell)
        };
        if matches!(pass, Way::Refused) {
            return Err(SendError(message));
        }
        let sent = current::with_pool(|pool| {
            let envelope = parcel::envelope::<M>(pool, None);
            // SAFETY: made for `M` just now, and empty.
            let put = unsafe { parcel::put(envelope, message) };
            debug_assert!(put.is_ok(), "an empty envelope has room for one");
            let chain = if trail::come_from_outside() || departure::is_due() {
                chain_from_outside(pool, envelope)
            } else {
                Chain::of_one(envelope)
            };
            // SAFETY: we hold a reference, and the envelopes are ours.
            if let Some(wake) = unsafe { push_out(self.cell, chain, keeps) } {
                return Ok(wake);
            }
            // SAFETY: the envelopes are ours again, with the message in one of them.
            unsafe {
                if chain.oldest != envelope {
                    drop(parcel::open_sealed::<Trail>(chain.oldest));
                    pool.give_envelope(chain.oldest);
                }
                let message = parcel::take_back::<M>(envelope);
                pool.give_envelope(envelope);
                Err(SendError(message.expect("it was put there above")))
            }
        });
        drop(pass);
        sent
    }

    /// If the task belongs to the calling worker and is idle, loads the first `bytes` bytes of the
    /// task into the cache, and then calls `others`. Otherwise does nothing.
    ///
    /// `others` can prefetch more memory that the task needs. Call this method shortly before a
    /// message is sent to the task, because the memory of an idle task might not be in the cache.
    #[doc(hidden)]
    #[inline]
    pub fn prefetch_if_idle(&self, bytes: usize, others: impl FnOnce()) {
        let home = current::home();
        // Other threads will soon write to a cell of another worker, so this thread should not read
        // it first.
        if home != Home::STRANGER && self.cell.state().is_idle_at(home) {
            self.prefetch(bytes, others);
        }
    }

    /// Prefetches the task. Not inlined, because most messages are sent to tasks that are not idle.
    #[inline(never)]
    fn prefetch(&self, bytes: usize, others: impl FnOnce()) {
        // At most the bytes of a block.
        let bytes = bytes.min(CELL_BYTES_MAX);
        prefetch(self.cell.0.as_ptr(), size_of::<Header>() + bytes);
        others();
    }

    /// Requests that the task stop after it has handled all earlier messages. During a turn, the
    /// request is staged: it is sent when the turn commits. A [`door`](crate::door()) forwards the
    /// request or ignores it.
    pub fn stop(&self) {
        if let Some(door) = door_of(self.cell) {
            // SAFETY: we hold a reference.
            return unsafe { (door.stop)(self.cell) };
        }
        match current::worker() {
            Some(worker) => {
                let note = worker.pool.take_envelope(Kind::Stop, 0, 0);
                worker.send_note(self.cell, note);
            }
            None => {
                // SAFETY: we hold a reference.
                let _ =
                    current::with_pool(|pool| unsafe { deliver_note(pool, self.cell, Kind::Stop) });
            }
        }
    }

    /// Registers `notice`, a function that is called once when the task has ended. The worker of
    /// the task calls it.
    ///
    /// If the task has already ended, `notice` is called immediately. During a turn, the
    /// registration is staged: it takes place when the turn commits.
    ///
    /// `notice` must be short. Usually it sends a message. A panic in `notice` is caught. `notice`
    /// must not capture an address that keeps the task reachable, because the task could then end
    /// only if it is stopped. `notice` is not called for a [`door`](crate::door()) that does not
    /// forward watches, or if the program exits before the task ends.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    /// use garrick_sched::{Ended, Flow, Here, Task, Turn};
    ///
    /// struct Once;
    ///
    /// impl Task for Once {
    ///     type Message = ();
    ///
    ///     fn receive(&mut self, (): (), _: &Turn<'_, ()>) -> Flow {
    ///         Flow::Stop
    ///     }
    /// }
    ///
    /// let here = Here::new_here()?;
    /// let once = here.spawn(Once);
    /// let (notices, ended) = mpsc::channel();
    /// once.watch(move |how| notices.send(how).unwrap());
    /// once.send(()).unwrap();
    /// here.run();
    /// assert_eq!(ended.try_recv(), Ok(Ended::Stopped));
    /// # Ok::<(), garrick_sched::StartError>(())
    /// ```
    pub fn watch(&self, notice: impl FnOnce(Ended) + Send + 'static) -> Watch {
        let (watch, notice) = Notice::new(notice);
        self.forward_watch(notice);
        watch
    }

    /// Registers `notice` like [`Address::watch`]. Doors forward watches by this method
    /// ([`Door::watch`](crate::Door::watch)). The notice remains part of the original watch: if
    /// that watch is cancelled, the task behind the door does not keep the notice.
    pub fn forward_watch(&self, notice: Notice) {
        if let Some(door) = door_of(self.cell) {
            let notice = NonNull::from(Box::leak(Box::new(notice))).cast();
            // SAFETY: we hold a reference, and give the boxed notice away.
            unsafe { (door.watch)(self.cell, notice) };
            return;
        }
        if let Some(worker) = current::worker() {
            let note = parcel::note(&worker.pool, Kind::Watch, Request::Watch(notice));
            worker.stage.send_note(self.cell, note);
            return;
        }
        if let Some(refused) = self.request(Request::Watch(notice)) {
            refused.turn_away();
        }
    }

    /// Sends a request to watch the task, or a request for its state, from a thread that is not in
    /// a turn. Returns the request if the cell is closed.
    fn request(&self, request: Request) -> Option<Request> {
        current::with_pool(|pool| {
            let note = parcel::note(pool, Kind::Watch, request);
            // SAFETY: we hold a reference, and the note is ours; it is again if it is not
            // delivered, with the request in it.
            unsafe {
                if deliver(self.cell, Chain::of_one(note)) {
                    return None;
                }
                let request = parcel::take_back::<Request>(note);
                pool.give_envelope(note);
                request
            }
        })
    }

    /// Asks the worker of the task for the state of the task. Does not wait.
    ///
    /// The worker answers between two activations. No turn runs for the answer, and the order of
    /// the messages stays as it is. The result is [`Looking::Unknown`] for a
    /// [`door`](crate::door()) without a task behind it. The result is also [`Looking::Unknown`]
    /// during a turn, because the answer would come only after the turn.
    #[doc(hidden)]
    pub fn look(&self) -> Look {
        if let Some(door) = door_of(self.cell) {
            let mut found = None;
            // SAFETY: we hold a reference, and the result is written to a place for it.
            unsafe { (door.look)(self.cell, NonNull::from(&mut found).cast()) };
            if let Some(look) = found {
                return look;
            }
        }
        Look {
            name: self.task_name(),
            looking: self.ask_worker(),
        }
    }

    /// Returns the value from which the door behind this address was made, if the door provides
    /// this value ([`Door::origin`](crate::Door)). Returns `None` for a task.
    #[doc(hidden)]
    pub fn origin(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        let mut found: Option<Arc<dyn Any + Send + Sync>> = None;
        if let Some(door) = door_of(self.cell) {
            // SAFETY: we hold a reference, and the result is written to a place for it.
            unsafe { (door.origin)(self.cell, NonNull::from(&mut found).cast()) };
        }
        found
    }

    fn ask_worker(&self) -> Looking {
        if current::in_turn() || self.cell.is_door() {
            return Looking::Unknown;
        }
        let (looker, asked) = Looker::new();
        match self.request(Request::Look(looker)) {
            None => Looking::Asked(Asking::new(asked)),
            Some(_) => Looking::Ended,
        }
    }

    /// Returns true if the task has stopped. Once the result is true, it stays true. A false result
    /// may be outdated immediately.
    pub fn is_stopped(&self) -> bool {
        is_stopped(self.cell)
    }

    /// Returns true if the calling thread is running a turn of this task. Returns false for a
    /// [`door`](crate::door()).
    #[doc(hidden)]
    #[must_use]
    pub fn is_running_here(&self) -> bool {
        current::worker().is_some_and(|worker| worker.is_running(self.cell))
    }
}

/// Returns true if the task of a cell has stopped. The caller must have a reference to the cell.
pub(crate) fn is_stopped(cell: CellPtr) -> bool {
    match door_of(cell) {
        // SAFETY: by contract.
        Some(door) => unsafe { (door.is_stopped)(cell) },
        None => cell.inbox_is_closed(),
    }
}

/// Returns the function table of the door if the cell is a door (a function behind an address), and
/// otherwise `None`.
fn door_of(cell: CellPtr) -> Option<&'static DoorTable> {
    if cell.is_door() {
        cell.table().door
    } else {
        None
    }
}

/// Returns a chain (a list of envelopes) that contains the given envelope. If this thread has a
/// trail (trace context), the first envelope of the chain contains the trail. Otherwise, if the
/// waiting time of the message must be measured, the first envelope contains the time at which the
/// message was sent.
#[inline(never)]
fn chain_from_outside(pool: &Pool, envelope: *mut Envelope) -> Chain {
    match trail::outside().or_else(departure::outside) {
        Some(trail) => chain_behind(pool, trail, envelope),
        None => Chain::of_one(envelope),
    }
}

/// The result of [`enter`]: tells if a message from this thread may be sent to a cell. The gate of
/// a sponsor refuses messages from other threads while the sponsor is shutting down.
pub(crate) enum Way {
    /// The message is accepted without a check, because the sponsor has no gate, or because this
    /// thread belongs to the sponsor.
    Free,
    /// The gate of the sponsor is open, and stays open until this [`Pass`] is dropped.
    Through(#[expect(dead_code, reason = "held")] Pass),
    /// The sponsor is shutting down, so the message is refused.
    Refused,
}

/// Checks if the cell's sponsor accepts a message from this thread. If the sponsor has a gate,
/// keeps the gate open while the result exists.
#[inline]
pub(crate) fn enter(cell: CellPtr) -> Way {
    let home = if Gate::are_any() {
        cell.home()
    } else {
        Home::NOBODY
    };
    if home == Home::NOBODY {
        return Way::Free;
    }
    match Remote::of(home).gate() {
        Some(gate) if !current::serves_at(gate.sponsor()) => {
            gate.enter().map_or(Way::Refused, Way::Through)
        }
        _ => Way::Free,
    }
}

/// Returns true if a message from this thread to the cell is refused because the cell's sponsor is
/// shutting down. A false result may be outdated immediately.
pub(crate) fn is_refused(cell: CellPtr) -> bool {
    matches!(enter(cell), Way::Refused)
}

/// Pushes a chain of envelopes to the inbox of a cell, and wakes the cell's worker if necessary.
/// Waking a worker may call foreign code. If the cell is closed, returns false, and the chain still
/// belongs to the caller.
///
/// # Safety
/// The caller has a reference to the cell, or is running the cell. The caller owns the chain.
#[must_use]
pub(crate) unsafe fn deliver(cell: CellPtr, chain: Chain) -> bool {
    // SAFETY: by contract.
    let wake = unsafe { push_out(cell, chain, |_| false) };
    wake.map(Wake::call).is_some()
}

/// Pushes a chain (a list of envelopes) like [`deliver`], but does not wake the cell's worker.
/// Instead, returns the [`Wake`], which the caller must call, or `None` if the cell is closed. If
/// `keeps` returns true and no thread runs the cell's worker, the caller must run this worker
/// itself.
///
/// # Safety
/// The requirements of [`deliver`] apply.
pub(crate) unsafe fn push_out(
    cell: CellPtr,
    chain: Chain,
    keeps: impl FnOnce(&Remote) -> bool,
) -> Option<Wake> {
    // SAFETY: the oldest is ours until pushed. Only the holder of the token reads this field.
    unsafe { (*chain.oldest).set_token_of(Some(cell)) };
    // SAFETY: by contract.
    match unsafe { cell.push(chain) } {
        Push::Token => {
            // We hold the token, so the home stays what it is and the carrier alive.
            let remote = Remote::of(cell.home());
            // SAFETY: as above.
            Some(unsafe { remote.notify(chain.oldest, keeps(remote)) })
        }
        Push::Queued => Some(Wake::NOBODY),
        Push::Closed => None,
    }
}

/// Sends a note to a cell. A note is an envelope that makes a request and contains no messages.
/// Returns false if the cell is closed.
///
/// # Safety
/// The requirements of [`deliver`] apply.
#[must_use]
pub(crate) unsafe fn deliver_note(pool: &Pool, cell: CellPtr, kind: Kind) -> bool {
    debug_assert!(
        matches!(kind, Kind::Release | Kind::Wake | Kind::Stop | Kind::Nudge),
        "notes of other kinds have something in them"
    );
    let note = pool.take_envelope(kind, 0, 0);
    // SAFETY: by contract, and the note is ours.
    let delivered = unsafe { deliver(cell, Chain::of_one(note)) };
    if !delivered {
        // SAFETY: it came back, empty.
        unsafe { pool.give_envelope(note) };
    }
    delivered
}

/// Drops a reference to a cell. Called on a thread that does not own the cell.
///
/// # Safety
/// The caller owns the reference and does not use it again.
#[cold]
pub(crate) unsafe fn release_foreign(cell: CellPtr) {
    loop {
        match cell.drop_foreign() {
            Dropped::Counted => return,
            // SAFETY: nobody else can reach it, and it has no owner.
            Dropped::LastOfOrphan => return unsafe { drop_orphan(cell) },
            // SAFETY: the reference is still ours until the owner has the note.
            Dropped::WithOwner => unsafe {
                if current::with_pool(|pool| deliver_note(pool, cell, Kind::Release)) {
                    return;
                }
                // The cell was closed just now: the references have been moved to the shared count.
            },
        }
    }
}

impl<M> Address<M> {
    /// Returns the identity of the task. Two addresses are equal if their ids are equal.
    #[must_use]
    pub fn id(&self) -> TaskId {
        match door_of(self.cell) {
            // SAFETY: we hold a reference.
            Some(door) => TaskId(unsafe { (door.identity)(self.cell) }),
            None => self.cell.id(),
        }
    }

    /// Returns the name of the task, or of the door (function) to which the address leads. By
    /// default, this is the name of its type.
    #[must_use]
    pub fn task_name(&self) -> &'static str {
        (self.cell.table().name)()
    }
}

impl<M> Clone for Address<M> {
    #[inline]
    fn clone(&self) -> Self {
        if self.cell.home() == current::home() {
            self.cell.clone_local();
        } else {
            self.cell.clone_foreign();
        }
        Self {
            cell: self.cell,
            message: PhantomData,
        }
    }
}

impl<M> Drop for Address<M> {
    #[inline]
    fn drop(&mut self) {
        if self.cell.home() != current::home() {
            // SAFETY: our reference, dropped once.
            unsafe { release_foreign(self.cell) };
        } else if self.cell.drop_local() {
            release_last(self.cell);
        }
    }
}

/// Called when the last local reference to a cell of this worker was dropped. Frees the cell if
/// there are no other references, and the cell is neither scheduled nor running.
#[cold]
#[inline(never)]
fn release_last(cell: CellPtr) {
    if !cell.is_looked_after() {
        current::worker().expect("a home has a worker").settle(cell);
    }
}

impl<M> PartialEq for Address<M> {
    fn eq(&self, other: &Self) -> bool {
        self.cell == other.cell || self.id() == other.id()
    }
}

impl<M> Eq for Address<M> {}

impl<M> Hash for Address<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl<M> fmt::Debug for Address<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address<{}>({})", type_name::<M>(), self.cell.id())
    }
}
