//! Messages in envelopes: their positions, and the operations that store them and take them out.

use std::mem::{align_of, size_of};

use crate::cell::{Envelope, Kind};
use crate::pool::{self, Pool};
use crate::quiet;

/// The maximum size of a message or an answer in bytes: 16 KiB. Put a larger value into a `Box`.
///
/// Code that creates a task or a [door](crate::Door) with larger messages does not compile. The
/// limit applies to a message together with its wrappers. For example, async actors, receive
/// timeouts and standard actors wrap their messages, which adds some bytes.
///
/// The reason for the limit is that a message is passed by value. The message is moved from the
/// sender's stack to an envelope, and from there to the receiver's stack. (A message of more than
/// about 4,000 bytes is stored in a box between the two moves.) Unoptimized code copies each
/// message dozens of times. In such code, a test with messages of 16 KiB needs 1.0 to 1.3 MB of
/// stack, and a test with messages of 64 KiB overflows a thread's stack of 2 MiB. (These are values
/// for rustc 1.95 on x86-64, from `crates/garrick-actor/tests/large.rs`.)
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
/// In a box, the same array compiles:
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
        "a message or an answer, including its wrappers, is larger than 16,384 bytes \
         (`MESSAGE_BYTES_MAX`): put it into a `Box`"
    );
}

/// Returns true if a message of type `M` is stored as a pointer to a box, because an envelope has
/// no room for it.
const fn is_boxed<M>() -> bool {
    size_of::<M>() > pool::envelope_room(pool::ENVELOPE_STEP_MAX)
        || align_of::<M>() > align_of::<Envelope>()
}

/// Returns the distance in bytes from one message in an envelope to the next.
const fn stride<M>() -> usize {
    if is_boxed::<M>() {
        size_of::<*mut M>()
    } else if size_of::<M>() == 0 {
        align_of::<M>()
    } else {
        size_of::<M>()
    }
}

/// Returns how many messages of type `M` fit into an envelope. `step` is the index of the
/// envelope's size.
const fn capacity<M>(step: u8) -> u16 {
    let count = pool::envelope_room(step) / stride::<M>();
    if count > u16::MAX as usize {
        u16::MAX
    } else {
        count as u16
    }
}

/// Returns an empty envelope for messages of type `M`. `before` is the index of the previous
/// envelope's size, if there was a previous envelope. The new envelope has the next larger size, up
/// to the largest size, and has room for at least one message. So after a note (an envelope with
/// one value), which can be smaller than a message, the size may grow by more than one step.
#[inline]
pub(crate) fn envelope<M>(pool: &Pool, before: Option<u8>) -> *mut Envelope {
    let least = const { pool::envelope_step(stride::<M>()) };
    let step = match before {
        None => least,
        Some(step) => (step + 1).clamp(least, pool::ENVELOPE_STEP_MAX),
    };
    pool.take_envelope(Kind::Messages, step, capacity::<M>(step))
}

/// Returns an envelope that contains only `message`.
#[inline]
pub(crate) fn alone<M>(pool: &Pool, message: M) -> *mut Envelope {
    let envelope = self::envelope::<M>(pool, None);
    // SAFETY: made for `M`, empty, ours.
    let put = unsafe { put(envelope, message) };
    debug_assert!(put.is_ok(), "an empty envelope has room for one");
    envelope
}

/// Returns a note: an envelope of a special kind, which contains only the value `content`. A note
/// has no room for a second value, so later messages are stored in another envelope.
pub(crate) fn note<N>(pool: &Pool, kind: Kind, content: N) -> *mut Envelope {
    let step = const { pool::envelope_step(stride::<N>()) };
    let envelope = pool.take_envelope(kind, step, 1);
    // SAFETY: made for `N`, empty, ours.
    let put = unsafe { put(envelope, content) };
    debug_assert!(put.is_ok(), "an empty envelope has room for one");
    envelope
}

/// Returns a note (an envelope with one value) whose content does not count as a message.
/// [`open_sealed`] takes the content out.
pub(crate) fn sealed<N>(pool: &Pool, kind: Kind, content: N) -> *mut Envelope {
    let note = note(pool, kind, content);
    // SAFETY: made just now, and ours.
    unsafe { (*note).set_read(0) };
    note
}

/// Takes the content out of a note (an envelope with one value) that [`sealed`] has returned.
///
/// # Safety
/// The caller owns the note, whose content is of type `N` and was not taken out before.
pub(crate) unsafe fn open_sealed<N>(note: *mut Envelope) -> N {
    // SAFETY: by contract; the only slot has the content.
    unsafe {
        debug_assert_eq!((*note).free(), 0, "a sealed note is opened once");
        (*note).set_read(1);
        (*note).set_free(1);
        read(note, 0)
    }
}

/// Returns a pointer to the message in `slot`, or to the end of the slots if `slot` is the
/// capacity.
///
/// # Safety
/// The requirements of [`put`] apply. In addition, `slot` is at most the capacity.
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

/// Returns a pointer to the message after the message at `place`.
///
/// # Safety
/// Both messages are in the same envelope, which was created for messages of type `M`.
#[inline]
pub(crate) unsafe fn after<M>(place: *const u8) -> *const u8 {
    // SAFETY: by contract. Slots fill from the highest down.
    unsafe { place.sub(stride::<M>()) }
}

/// Appends a message. Returns the message if there is no room.
///
/// # Safety
/// The caller owns the envelope, which was created for messages of type `M`.
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

/// Moves the message out of `place`. If messages of type `M` are boxed, `place` must be in an
/// envelope.
///
/// # Safety
/// The caller owns the place. The place contains a message of type `M`, which is not read again.
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

/// Calls `look` with a reference to the message at `place`. If messages of type `M` are boxed,
/// `place` must be in an envelope.
///
/// # Safety
/// The place contains a message of type `M`, which is not moved or removed during the call.
#[inline]
pub(crate) unsafe fn look_at<M, R>(place: *const u8, look: impl FnOnce(&M) -> R) -> R {
    // SAFETY: by contract; see `put` for the form.
    unsafe {
        if const { is_boxed::<M>() } {
            look(&*place.cast::<*const M>().read_unaligned())
        } else {
            look(&*place.cast::<M>())
        }
    }
}

/// Moves the message out of the slot with the index `slot`.
///
/// # Safety
/// The requirements of [`put`] apply. In addition, the slot contains a message, which is not read
/// again.
#[inline]
unsafe fn read<M>(envelope: *mut Envelope, slot: u32) -> M {
    // SAFETY: by contract.
    unsafe { read_at(place::<M>(envelope, slot)) }
}

/// Removes and returns the oldest message, if there is one.
///
/// # Safety
/// The requirements of [`put`] apply.
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

/// Returns a pointer to the only message of an envelope, and marks the message as read.
///
/// # Safety
/// The requirements of [`put`] apply. In addition, the envelope has an unread message.
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

/// Returns a pointer to the oldest message of an envelope.
///
/// # Safety
/// The requirements of [`put`] apply. In addition, the envelope has an unread message.
#[inline]
pub(crate) unsafe fn oldest<M>(envelope: *mut Envelope) -> *const u8 {
    // SAFETY: by contract.
    unsafe { place::<M>(envelope, u32::from((*envelope).read()) - 1) }
}

/// Returns a reference to the oldest message.
///
/// # Safety
/// The requirements of [`put`] apply. In addition, the envelope has an unread message, which is not
/// boxed. The message is not moved or removed during `'a`.
pub(crate) unsafe fn peek<'a, M>(envelope: *mut Envelope) -> &'a M {
    const { assert!(!is_boxed::<M>(), "a box is not looked into") };
    // SAFETY: by contract.
    debug_assert!(unsafe { (*envelope).unread() } > 0, "there is a message");
    // SAFETY: by contract.
    unsafe { &*oldest::<M>(envelope).cast() }
}

/// Removes and returns the newest message, if there is one.
///
/// # Safety
/// The requirements of [`put`] apply.
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
/// The requirements of [`put`] apply. In addition, the envelope has at least `count` unread
/// messages.
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

/// Drops the unread messages of an envelope. Returns the number of these messages that count as
/// dead letters.
///
/// # Safety
/// The requirements of [`put`] apply.
pub(crate) unsafe fn drop_unread<M>(envelope: *mut Envelope, is_letter: fn(&M) -> bool) -> u64 {
    let mut dropped = 0;
    // SAFETY: by contract.
    while let Some(message) = unsafe { get::<M>(envelope) } {
        dropped += u64::from(drop_message(message, is_letter));
    }
    dropped
}

/// Drops a message. Returns true if the message counts as a dead letter. Both `is_letter` and the
/// destructor are foreign code, whose panics are caught. If `is_letter` panics, the message counts
/// as a dead letter.
pub(crate) fn drop_message<M>(message: M, is_letter: fn(&M) -> bool) -> bool {
    let was_letter = quiet::call(|| is_letter(&message)).unwrap_or(true);
    quiet::drop(message);
    was_letter
}
