//! Sending of messages to doors (functions behind addresses). The sender calls the function of the
//! door itself.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem::{ManuallyDrop, size_of};
use std::ptr::{self, NonNull};

#[cfg(garrick_loom)]
use garrick_core::prim::CellKey;
use garrick_core::thread_values;

use crate::cell::CellPtr;
use crate::quiet;
use crate::runtime::address::{Address, SendError};
use crate::runtime::current;
use crate::runtime::worker::Worker;

/// Maximum number of nested calls of door functions on one stack. If a message would exceed this
/// depth, a worker handles the message in a separate turn. Any other thread handles the message
/// after the outermost door has returned.
const DEPTH_MAX: u32 = 32;
/// Maximum total size in bytes of the messages that nested calls of door functions handle on one
/// stack. The stack contains each message a few times, because each door moves its message.
const NESTED_BYTES_MAX: usize = if cfg!(debug_assertions) {
    // Unoptimized code copies each message dozens of times.
    8 * 1024
} else {
    64 * 1024
};

/// Returns the maximum number of nested calls of door functions, for messages of `message_bytes`
/// bytes. The result is at least 2, because the code that handles deferred messages counts as one
/// door.
const fn depth_max(message_bytes: usize) -> u32 {
    if message_bytes * DEPTH_MAX as usize <= NESTED_BYTES_MAX {
        return DEPTH_MAX;
    }
    let fitting = NESTED_BYTES_MAX / message_bytes;
    if fitting < 2 { 2 } else { fitting as u32 }
}

thread_values! {
    /// Number of nested calls of door functions on the stack of this thread.
    static DEPTH: Cell<u32> = Cell::new(0);
    /// True while there are messages in `WAITING`, which this thread must still pass to doors
    /// (functions behind addresses).
    static ANY_WAITS: Cell<bool> = Cell::new(false);
    /// Messages that this thread passes to doors (functions behind addresses) after the outermost
    /// door has returned. Used only while the thread runs no worker.
    static WAITING: RefCell<VecDeque<Box<dyn FnOnce()>>> = RefCell::new(VecDeque::new());
}

/// Guard that counts one more nested call of a door function on this thread.
struct Deeper;

impl Deeper {
    fn new() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self
    }
}

impl Drop for Deeper {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Sends a message to a door (a function behind an address) during a turn.
///
/// # Safety
/// The requirements of [`pass`] apply.
///
/// # Errors
/// Returns the errors of [`pass`].
#[inline(always)]
pub(crate) unsafe fn pass_in_turn<M: 'static>(
    worker: &Worker,
    cell: CellPtr,
    message: M,
) -> Result<(), SendError<M>> {
    let Some(relay) = cell.table().door.and_then(|door| door.relay) else {
        // SAFETY: by contract.
        return unsafe { pass(cell, message) };
    };
    cell.check_messages::<M>();
    let mut message = ManuallyDrop::new(message);
    let worker = NonNull::from(worker).cast();
    // SAFETY: by contract; the message is moved out unless it is refused.
    if unsafe { relay(cell, worker, ptr::from_mut(&mut message).cast()) } {
        Ok(())
    } else {
        Err(SendError(ManuallyDrop::into_inner(message)))
    }
}

/// Sends a message to a door: runs the function of the door on the calling thread. Defers the
/// message if too many calls of door functions are already nested.
///
/// # Safety
/// The cell is a door for messages `M`, and the caller has a reference to it.
///
/// # Errors
/// Returns the message if the door refuses it.
pub(crate) unsafe fn pass<M: 'static>(cell: CellPtr, message: M) -> Result<(), SendError<M>> {
    cell.check_messages::<M>();
    let depth = DEPTH.get();
    if depth >= const { depth_max(size_of::<M>()) } {
        cell.clone_foreign();
        // SAFETY: by contract; the reference was counted just now.
        pass_later(unsafe { Address::from_counted(cell) }, message);
        return Ok(());
    }
    let table = cell.table().door.expect("the caller knows it is a door");
    let mut message = ManuallyDrop::new(message);
    let passed = {
        let _deeper = Deeper::new();
        // SAFETY: by contract; the message is moved out unless it is refused.
        unsafe { (table.pass)(cell, ptr::from_mut(&mut message).cast()) }
    };
    if depth == 0 && ANY_WAITS.get() {
        pass_waiting();
    }
    if passed {
        Ok(())
    } else {
        Err(SendError(ManuallyDrop::into_inner(message)))
    }
}

/// Defers a message to a door (a function behind an address), because too many calls of door
/// functions are already nested on this stack.
#[cold]
fn pass_later<M: 'static>(to: Address<M>, message: M) {
    if let Some(worker) = current::worker() {
        let table = to
            .cell()
            .table()
            .door
            .expect("the caller knows it is a door");
        let (to, mut message) = (ManuallyDrop::new(to), ManuallyDrop::new(message));
        let worker = NonNull::from(worker).cast();
        // SAFETY: the door takes over the reference and the message.
        return unsafe { (table.defer)(to.cell(), worker, ptr::from_mut(&mut message).cast()) };
    }
    let mut next: Option<Box<dyn FnOnce()>> = Some(Box::new(move || {
        // There is no sender left to give the message back to.
        if let Err(SendError(message)) = to.send(message) {
            quiet::drop(message);
        }
    }));
    let kept = WAITING.try_with(|waiting| waiting.borrow_mut().extend(next.take()));
    match (kept, next) {
        (Err(_), Some(next)) => {
            // The thread is ending, and cannot keep the message: pass it now, however deep the
            // stack is.
            let _lifted = Lifted::new();
            next();
        }
        _ => ANY_WAITS.set(true),
    }
}

#[cold]
fn pass_waiting() {
    // Counts as a door itself, so that a door that is passed here does not start the same loop,
    // nested.
    let _deeper = Deeper::new();
    while let Some(next) = WAITING.with(|waiting| waiting.borrow_mut().pop_front()) {
        next();
    }
    ANY_WAITS.set(false);
}

/// Guard that sets the count of nested calls of door functions to 1, so that further calls can be
/// nested. Dropping the guard restores the count.
pub(super) struct Lifted(u32);

impl Lifted {
    pub(super) fn new() -> Self {
        // Not 0: messages that wait for the outermost door must not be passed by a door in here.
        Self(DEPTH.replace(1))
    }
}

impl Drop for Lifted {
    fn drop(&mut self) {
        DEPTH.set(self.0);
    }
}
