//! Messages in envelopes: their places, and the operations that put them in and take them out.

use std::mem::{align_of, size_of};

use crate::cell::{Envelope, Kind};
use crate::pool::{self, Pool};
use crate::quiet;

/// Largest size of a message, or of an answer, in bytes: 16 KiB. Put larger values into a `Box`.
///
/// A message is moved from the sender's stack to the place where it waits, and from there to the
/// receiver's stack. A message of more than about 4,000 bytes waits in a box, but is still passed
/// by value, in dozens of copies in unoptimized code. A test that sends messages of this size needs
/// 1.0 to 1.3 MB of stack there, and a message of 64 KiB overflows the 2 MiB of a thread (rustc
/// 1.95, x86-64, `crates/garrick-actor/tests/large.rs`). So a task or a door with larger messages
/// does not compile. Wrappers of a message count: an async actor, a receive timeout or a standard
/// actor adds some bytes.
///
/// # Examples
/// ```compile_fail,E0080
/// use garrick_sched::{Flow, MESSAGE_BYTES_MAX, Sponsor, Task, Turn};
///
/// struct Reader;
///
/// impl Task for Reader {
///     type Message = [u8; MESSAGE_BYTES_MAX + 1];
///
///     fn receive(&mut self, page: Self::Message, _: &Turn<'_, Self::Message>) -> Flow {
///         println!("{}", page[0]);
///         Flow::Stop
///     }
/// }
///
/// Sponsor::builder().start().unwrap().handle().spawn(Reader).unwrap();
/// ```
/// A box of it works:
/// ```
/// use garrick_sched::{Flow, MESSAGE_BYTES_MAX, Sponsor, Task, Turn};
///
/// struct Reader;
///
/// impl Task for Reader {
///     type Message = Box<[u8; MESSAGE_BYTES_MAX + 1]>;
///
///     fn receive(&mut self, page: Self::Message, _: &Turn<'_, Self::Message>) -> Flow {
///         println!("{}", page[0]);
///         Flow::Stop
///     }
/// }
///
/// Sponsor::builder().start().unwrap().handle().spawn(Reader).unwrap();
/// ```
pub const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// Fails to compile if a message of type `M` is too large to be moved by value.
pub(crate) const fn check_size<M>() {
    assert!(
        size_of::<M>() <= MESSAGE_BYTES_MAX,
        "a message or an answer, with what wraps it, has more than 16,384 bytes (`MESSAGE_BYTES_MAX`), too many to be moved \
         by value: put it into a `Box`"
    );
}

/// Returns true if a message of type `M` travels as a pointer to a box, because an envelope has no
/// room for it.
const fn is_boxed<M>() -> bool {
    size_of::<M>() > pool::envelope_room(pool::ENVELOPE_STEP_MAX)
        || align_of::<M>() > align_of::<Envelope>()
}

/// Returns the number of bytes from one message to the next.
const fn stride<M>() -> usize {
    if is_boxed::<M>() {
        size_of::<*mut M>()
    } else if size_of::<M>() == 0 {
        align_of::<M>()
    } else {
        size_of::<M>()
    }
}

/// Returns how many messages of type `M` fit into an envelope of `step`.
const fn capacity<M>(step: u8) -> u16 {
    let count = pool::envelope_room(step) / stride::<M>();
    if count > u16::MAX as usize {
        u16::MAX
    } else {
        count as u16
    }
}

/// Returns an empty envelope for messages of type `M`. The envelope is larger than the previous
/// one, whose step is `before`. The previous one may be a note, which is small whatever the
/// messages are.
#[inline]
pub(crate) fn envelope<M>(pool: &Pool, before: Option<u8>) -> *mut Envelope {
    let least = const { pool::envelope_step(stride::<M>()) };
    let step = match before {
        None => least,
        Some(step) => (step + 1).clamp(least, pool::ENVELOPE_STEP_MAX),
    };
    pool.take_envelope(Kind::Messages, step, capacity::<M>(step))
}

/// Returns an envelope with that message.
#[inline]
pub(crate) fn alone<M>(pool: &Pool, message: M) -> *mut Envelope {
    let envelope = self::envelope::<M>(pool, None);
    // SAFETY: made for `M`, empty, ours.
    let put = unsafe { put(envelope, message) };
    debug_assert!(put.is_ok(), "an empty envelope has room for one");
    envelope
}

/// Returns an envelope of a special kind with one content, and no room for more: later messages go
/// into another envelope.
pub(crate) fn note<N>(pool: &Pool, kind: Kind, content: N) -> *mut Envelope {
    let step = const { pool::envelope_step(stride::<N>()) };
    let envelope = pool.take_envelope(kind, step, 1);
    // SAFETY: made for `N`, empty, ours.
    let put = unsafe { put(envelope, content) };
    debug_assert!(put.is_ok(), "an empty envelope has room for one");
    envelope
}

/// Returns the place of the message in a slot, or the end of the slots.
///
/// # Safety
/// The contract of [`put`]; the slot is at most the capacity.
#[inline]
pub(crate) unsafe fn place<M>(envelope: *mut Envelope, slot: u32) -> *mut u8 {
    // SAFETY: by contract, so the place is inside the block, or its end.
    unsafe {
        debug_assert!(
            slot <= u32::from(capacity::<M>((*envelope).class())),
            "an envelope has no such slot"
        );
        envelope
            .cast::<u8>()
            .add(Envelope::HEADER_BYTES + slot as usize * stride::<M>())
    }
}

/// Returns the place of the message after the message at `place`.
///
/// # Safety
/// Both are in the same envelope, made for messages of type `M`.
#[inline]
pub(crate) unsafe fn after<M>(place: *const u8) -> *const u8 {
    // SAFETY: by contract. Slots fill from the highest down.
    unsafe { place.sub(stride::<M>()) }
}

/// Appends a message, or gives it back if there is no room.
///
/// # Safety
/// The envelope is the caller's, and was made for messages of type `M`.
#[inline]
pub(crate) unsafe fn put<M>(envelope: *mut Envelope, message: M) -> Result<(), M> {
    // SAFETY:
    // - the envelope is ours by contract;
    // - the slot is inside the block, free, and aligned because the header and the stride are.
    unsafe {
        let free = (*envelope).free();
        if free == 0 {
            return Err(message);
        }
        let place = place::<M>(envelope, free - 1);
        if const { is_boxed::<M>() } {
            place
                .cast::<*mut M>()
                .write_unaligned(Box::into_raw(Box::new(message)));
        } else {
            place.cast::<M>().write(message);
        }
        (*envelope).set_free(free - 1);
    }
    Ok(())
}

/// Moves the message at a place out of it. Messages that travel as a pointer lie in envelopes only.
///
/// # Safety
/// The place is the caller's, and holds a message of type `M`, which is not read again.
#[inline]
pub(crate) unsafe fn read_at<M>(place: *const u8) -> M {
    // SAFETY: by contract; see `put` for the form.
    unsafe {
        if const { is_boxed::<M>() } {
            *Box::from_raw(place.cast::<*mut M>().read_unaligned())
        } else {
            place.cast::<M>().read()
        }
    }
}

/// Moves the message in a slot out.
///
/// # Safety
/// The contract of [`put`]; the message is there, and is not read again.
#[inline]
unsafe fn read<M>(envelope: *mut Envelope, slot: u32) -> M {
    // SAFETY: by contract.
    unsafe { read_at(place::<M>(envelope, slot)) }
}

/// Removes and returns the oldest message.
///
/// # Safety
/// The contract of [`put`].
#[inline]
pub(crate) unsafe fn get<M>(envelope: *mut Envelope) -> Option<M> {
    // SAFETY: by contract; a slot between free and read holds a message, and read moves below it.
    unsafe {
        let read = (*envelope).read();
        if u32::from(read) == (*envelope).free() {
            return None;
        }
        (*envelope).set_read(read - 1);
        Some(self::read(envelope, u32::from(read - 1)))
    }
}

/// Returns the place of the only message of an envelope, which counts as read from here on.
///
/// # Safety
/// The contract of [`put`]; there is one.
#[inline]
pub(crate) unsafe fn open<M>(envelope: *mut Envelope) -> *const u8 {
    // SAFETY: by contract.
    unsafe {
        let slot = u32::from((*envelope).read()) - 1;
        debug_assert_eq!(slot, (*envelope).free(), "it is alone");
        (*envelope).set_read(slot as u16);
        place::<M>(envelope, slot)
    }
}

/// Returns a reference to the oldest message.
///
/// # Safety
/// The contract of [`put`]; there is one, it is not boxed, and it stays where it is for as long as
/// it is looked at.
pub(crate) unsafe fn peek<'a, M>(envelope: *mut Envelope) -> &'a M {
    const { assert!(!is_boxed::<M>(), "a box is not looked into") };
    // SAFETY: by contract.
    debug_assert!(unsafe { (*envelope).unread() } > 0, "there is a message");
    // SAFETY: by contract.
    unsafe { &*place::<M>(envelope, u32::from((*envelope).read()) - 1).cast() }
}

/// Removes and returns the newest message.
///
/// # Safety
/// The contract of [`put`].
pub(crate) unsafe fn take_back<M>(envelope: *mut Envelope) -> Option<M> {
    // SAFETY: by contract; a slot between free and read holds a message, and free moves above it.
    unsafe {
        let free = (*envelope).free();
        if u32::from((*envelope).read()) == free {
            return None;
        }
        (*envelope).set_free(free + 1);
        Some(read(envelope, free))
    }
}

/// Moves the `count` newest messages to a separate envelope.
///
/// # Safety
/// The contract of [`put`]; it has `count` unread messages.
pub(crate) unsafe fn split_newest<M>(
    pool: &Pool,
    envelope: *mut Envelope,
    count: u32,
) -> *mut Envelope {
    // SAFETY: by contract; the new envelope has the same room, and the messages are moved, not
    // copied, because `free` moves above them.
    unsafe {
        let step = (*envelope).class();
        // Not the unread messages: a visitor of the cell may be reading the oldest of them.
        debug_assert!(
            count + (*envelope).free() <= u32::from(capacity::<M>(step)),
            "no more than there are"
        );
        let split = pool.take_envelope(Kind::Messages, step, capacity::<M>(step));
        let (from, to) = ((*envelope).free(), (*split).free() - count);
        (*envelope).set_free(from + count);
        place::<M>(split, to)
            .copy_from_nonoverlapping(place::<M>(envelope, from), count as usize * stride::<M>());
        (*split).set_free(to);
        split
    }
}

/// Drops the unread messages. Returns the number of letters among them.
///
/// # Safety
/// The contract of [`put`].
pub(crate) unsafe fn drop_unread<M>(envelope: *mut Envelope, is_letter: fn(&M) -> bool) -> u64 {
    let mut dropped = 0;
    // SAFETY: by contract.
    while let Some(message) = unsafe { get::<M>(envelope) } {
        dropped += u64::from(drop_message(message, is_letter));
    }
    dropped
}

/// Drops a message. Returns true if it was a letter. Both `is_letter` and the destructor are
/// foreign code, whose panics are caught. If `is_letter` panics, the message counts as a letter.
pub(crate) fn drop_message<M>(message: M, is_letter: fn(&M) -> bool) -> bool {
    let was_letter = quiet::call(|| is_letter(&message)).unwrap_or(true);
    quiet::drop(message);
    was_letter
}
