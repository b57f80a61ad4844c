//! Storage of the slots that pass answers: pooled blocks with the sizes of envelopes, or boxes for
//! slots that are too large.

use std::mem::{align_of, size_of};
use std::ptr::NonNull;

use super::slot::Slot;
use crate::cell::{Envelope, Kind};
use crate::pool;
use crate::runtime::current;

/// Returns the size of pooled blocks in bytes. `step` is the index of this size.
const fn block_bytes(step: u8) -> usize {
    Envelope::HEADER_BYTES + pool::envelope_room(step)
}

const fn is_boxed<V>() -> bool {
    size_of::<Slot<V>>() > block_bytes(pool::ENVELOPE_STEP_MAX)
        || align_of::<Slot<V>>() > align_of::<Envelope>()
}

/// Returns the index of the smallest size of pooled blocks that has room for a slot (the memory
/// through which an answer passes).
const fn step<V>() -> u8 {
    let mut step = 0;
    while block_bytes(step) < size_of::<Slot<V>>() {
        step += 1;
    }
    step
}

/// Creates a slot, which the asker and the replier share.
pub(super) fn take<V>() -> NonNull<Slot<V>> {
    if const { is_boxed::<V>() } {
        return NonNull::from(Box::leak(Box::new(Slot::new())));
    }
    let envelope = current::with_pool(|pool| pool.take_envelope(Kind::Messages, step::<V>(), 0));
    let slot = NonNull::new(envelope.cast::<Slot<V>>()).expect("blocks do not lie at address 0");
    // SAFETY: the block is ours alone, and large enough and aligned for a slot as it is not boxed.
    unsafe { slot.write(Slot::new()) };
    slot
}

/// Frees a slot.
///
/// # Safety
/// The slot was created by [`take`]. It contains no value and no waker, and no code uses it again.
pub(super) unsafe fn give<V>(slot: NonNull<Slot<V>>) {
    // SAFETY: by contract.
    unsafe { slot.as_ref() }.check_left();
    if const { is_boxed::<V>() } {
        // SAFETY: made of a box by `take`, and ours alone.
        return drop(unsafe { Box::from_raw(slot.as_ptr()) });
    }
    let envelope = slot.as_ptr().cast::<Envelope>();
    // SAFETY: the block was an envelope of this step before it was a slot, and is one again.
    unsafe {
        envelope.write(Envelope::new(Kind::Messages, step::<V>(), 0));
        current::with_pool(|pool| pool.give_envelope(envelope));
    }
}
