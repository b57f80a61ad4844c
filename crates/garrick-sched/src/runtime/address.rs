//! Addresses: typed, counted references to cells, and the capability to send to them.

use std::any::type_name;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ptr::NonNull;

use garrick_core::prefetch::prefetch;

use crate::cell::{CellPtr, Chain, DoorTable, Dropped, Header, Home, Kind, Push};
use crate::gate::{Gate, Pass};
use crate::parcel;
use crate::pool::{CELL_BYTES_MAX, Pool};
use crate::quiet;
use crate::remote::{Remote, Wake};
use crate::runtime::current;
use crate::runtime::door::{self, Notice};
use crate::runtime::watch::{Ended, Watch, Watcher};

/// The task is gone, or what stands in front of it takes no more; the message comes back.
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
            "the receiver of this {} has stopped, or takes no more just now",
            type_name::<M>()
        )
    }
}

impl<M> std::error::Error for SendError<M> {}

/// Where messages of type `M` can be sent: 8 bytes, and all that there is to know about the receiver.
///
/// Cloning an address gives the capability to send away; addresses compare and hash by identity. When
/// the last address of a task is dropped, nothing can reach it any more, and it is dropped as well.
pub struct Address<M> {
    cell: CellPtr,
    message: PhantomData<fn(M)>,
}

// SAFETY: an address sends messages from the thread that holds it to the thread that runs the task:
// `M: Send` is what that asks for. The counts are safe from any thread by the cell's protocol.
unsafe impl<M: Send> Send for Address<M> {}
// SAFETY: as above; sending takes `&self`.
unsafe impl<M: Send> Sync for Address<M> {}

impl<M: 'static> Address<M> {
    /// Makes an address of a reference that is already counted.
    ///
    /// # Safety
    /// The cell's messages are of type `M`, and the reference is the caller's to give.
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

    /// Sends `message`, from anywhere.
    ///
    /// Inside of a turn this is a staged send, as [`Turn::send`](crate::Turn::send): it happens when the
    /// turn commits, or not at all.
    ///
    /// # Errors
    /// Gives the message back if the task is known to have stopped. A task that stops later drops what
    /// it has not handled, and counts it as dead letters.
    pub fn send(&self, message: M) -> Result<(), SendError<M>> {
        match current::worker() {
            Some(worker) => worker.send(self, message),
            None => self.send_from_outside(message, false),
        }
    }

    /// Sends a message from a thread that runs no turn. A gate does not stop an answer to the task's own question.
    pub(crate) fn send_from_outside(
        &self,
        message: M,
        is_answer: bool,
    ) -> Result<(), SendError<M>> {
        let pushed = self.push_from_outside(message, is_answer, |_| false);
        pushed.map(Wake::call)
    }

    /// Sends a message as [`Address::send_from_outside`] does, and leaves it to the caller to have somebody sit there, as [`push_out`]
    /// does.
    pub(crate) fn push_from_outside(
        &self,
        message: M,
        is_answer: bool,
        keeps: impl FnOnce(&Remote) -> bool,
    ) -> Result<Wake, SendError<M>> {
        if self.cell.is_door() {
            // SAFETY: its messages are of this type, and we hold a reference.
            return unsafe { door::pass(self.cell, message) }.map(|()| Wake::NOBODY);
        }
        if self.cell.is_bounded() {
            // SAFETY: it is.
            return unsafe { self.push_to_bounded(message, is_answer, keeps) };
        }
        self.push_admitted(message, is_answer, keeps)
    }

    /// The same for a message to a task, for which there is room.
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
        // Held until the message is in the inbox. Not longer: who is woken may be foreign code.
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
            // SAFETY: we hold a reference, and the envelope is ours.
            if let Some(wake) = unsafe { push_out(self.cell, Chain::of_one(envelope), keeps) } {
                return Ok(wake);
            }
            // SAFETY: the envelope is ours again, with the message in it.
            unsafe {
                let message = parcel::take_back::<M>(envelope);
                pool.give_envelope(envelope);
                Err(SendError(message.expect("it was put there above")))
            }
        });
        drop(pass);
        sent
    }

    /// Brings the first `bytes` of the task near if it is at the worker that asks, and has nothing to do; then calls `others`, which
    /// brings near what the task needs besides. Whoever is about to send to it makes it run, from memory that may not have been used for
    /// long.
    #[doc(hidden)]
    #[inline]
    pub fn prefetch_if_idle(&self, bytes: usize, others: impl FnOnce()) {
        let home = current::home();
        // Others write to the cell soon, and should not read it before.
        if home != Home::STRANGER && self.cell.state().is_idle_at(home) {
            self.prefetch(bytes, others);
        }
    }

    /// Apart, because most messages go to a task that has something to do.
    #[inline(never)]
    fn prefetch(&self, bytes: usize, others: impl FnOnce()) {
        // No more than a block has.
        let bytes = bytes.min(CELL_BYTES_MAX);
        prefetch(self.cell.0.as_ptr(), size_of::<Header>() + bytes);
        others();
    }

    /// Asks the task to stop once it has handled what was sent before. Inside of a turn, this is staged. A
    /// [`door`](crate::door()) hands it on, or does nothing.
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

    /// Calls `notice` once, when the task has ended, on the worker that it ended on; at once, if it has ended
    /// before. Inside of a turn, the watch is staged. What `notice` does must be short: it sends, as a rule, and
    /// what it captures must not keep the task reachable, or it could end only by stopping. A notice that
    /// panics is caught. Without an end there is no notice: for a [`door`](crate::door()) that does not hand it on,
    /// or in a program that exits.
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
        let (watch, watcher) = Watcher::new(notice);
        if let Some(door) = door_of(self.cell) {
            let notice: Notice = Box::new(move |ended| watcher.tell(ended));
            let notice = NonNull::from(Box::leak(Box::new(notice))).cast();
            // SAFETY: we hold a reference, and give the boxed notice away.
            unsafe { (door.watch)(self.cell, notice) };
            return watch;
        }
        if let Some(worker) = current::worker() {
            let note = parcel::note(&worker.pool, Kind::Watch, watcher);
            worker.stage.send_note(self.cell, note);
            return watch;
        }
        let refused = current::with_pool(|pool| {
            let note = parcel::note(pool, Kind::Watch, watcher);
            // SAFETY: we hold a reference, and the note is ours; it is again if it is not delivered, with
            // the watcher in it.
            unsafe {
                if deliver(self.cell, Chain::of_one(note)) {
                    return None;
                }
                let watcher = parcel::take_back::<Watcher>(note);
                pool.give_envelope(note);
                watcher
            }
        });
        if let Some(watcher) = refused {
            watcher.tell(Ended::Before);
        }
        watch
    }

    /// Whether the task has stopped. False may be out of date at once, true never is.
    pub fn is_stopped(&self) -> bool {
        is_stopped(self.cell)
    }
}

/// Returns whether the task of a cell has stopped, to which the caller has a reference.
pub(crate) fn is_stopped(cell: CellPtr) -> bool {
    match door_of(cell) {
        // SAFETY: by contract.
        Some(door) => unsafe { (door.is_stopped)(cell) },
        None => cell.inbox_is_closed(),
    }
}

/// What a cell does as a door, if it is one.
fn door_of(cell: CellPtr) -> Option<&'static DoorTable> {
    if cell.is_door() {
        cell.table().door
    } else {
        None
    }
}

/// The way of a stranger's message into a cell.
pub(crate) enum Way {
    /// The sponsor has no gate, or is served by this thread.
    Free,
    /// The gate is open for as long as this is held.
    Through(#[expect(dead_code, reason = "held")] Pass),
    /// The sponsor ends.
    Refused,
}

/// Takes a message from this thread to the gate that a cell stands behind.
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

/// Returns whether a message from this thread to that cell is refused, because its sponsor ends. False may be out of date at once.
pub(crate) fn is_refused(cell: CellPtr) -> bool {
    matches!(enter(cell), Way::Refused)
}

/// Pushes a chain and notifies the home if that is ours to do; false if the cell is closed, and then
/// the chain is still the caller's. Has somebody sit there, which may call foreign code.
///
/// # Safety
/// The caller holds a reference or the cell's run, and the chain is its own.
#[must_use]
pub(crate) unsafe fn deliver(cell: CellPtr, chain: Chain) -> bool {
    // SAFETY: by contract.
    let wake = unsafe { push_out(cell, chain, |_| false) };
    wake.map(Wake::call).is_some()
}

/// Does what [`deliver`] does, but leaves it to the caller to have somebody sit there. None if the cell is closed. The caller
/// `keeps` a seat where a hand is about to sit, to sit there itself.
///
/// # Safety
/// As for [`deliver`].
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

/// Sends a note without messages; false if the cell is closed.
///
/// # Safety
/// As for [`deliver`].
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

/// Drops a reference from a thread that does not own the cell.
///
/// # Safety
/// The reference is the caller's, and not used again.
#[cold]
pub(crate) unsafe fn release_foreign(cell: CellPtr) {
    loop {
        match cell.drop_foreign() {
            Dropped::Counted => return,
            Dropped::LastOfOrphan => {
                // SAFETY: nobody else can reach it, and it has no owner.
                unsafe {
                    let class = crate::pool::cell_class(cell.table().block_bytes);
                    // A door's, or what is left of a task that its owner has dropped.
                    let _ = quiet::call(|| (cell.table().drop_task)(cell));
                    current::with_pool(|pool| pool.give_cell(class, cell));
                }
                return;
            }
            // SAFETY: the reference is still ours until the owner has the note.
            Dropped::WithOwner => unsafe {
                if current::with_pool(|pool| deliver_note(pool, cell, Kind::Release)) {
                    return;
                }
                // Closed just now: the references have been moved to the shared count.
            },
        }
    }
}

/// Tells tasks apart: no two that are alive at one time have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskId(usize);

impl TaskId {
    pub(crate) fn get(self) -> usize {
        self.0
    }
}

impl<M> Address<M> {
    /// What the task is known by: two addresses are equal if they have the same.
    #[must_use]
    pub fn id(&self) -> TaskId {
        TaskId(match door_of(self.cell) {
            // SAFETY: we hold a reference.
            Some(door) => unsafe { (door.identity)(self.cell) },
            None => self.cell.0.addr().get(),
        })
    }

    /// The name of the task's type, or of the function's behind a door.
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

/// The owner's count reached zero.
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
        write!(f, "Address<{}>({:p})", type_name::<M>(), self.cell.0)
    }
}
