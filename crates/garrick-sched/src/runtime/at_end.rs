//! Actions that run at the end of a turn.

use std::ptr::NonNull;

use crate::quiet;
use crate::runtime::stage::Given;
use crate::runtime::turn::Turn;

/// An action that runs at the end of a turn. The worker of the turn makes exactly one call:
/// `committed` if the turn commits, otherwise `undone`. Messages that are sent in this call are not
/// part of the turn. A panic in this call is caught.
pub trait AtEnd: Send + 'static {
    /// Called when the turn has committed.
    fn committed(&self);

    /// Called when the turn was undone.
    fn undone(&self);
}

impl<M: 'static> Turn<'_, M> {
    /// Registers an action that runs at the end of this turn.
    #[doc(hidden)]
    pub fn at_end<T: AtEnd>(&self, action: T) {
        // The actions of a task depend on each other, so they are in one part of the turn.
        self.take_no_more();
        let slot = NonNull::from(Box::leak(Box::new(action)));
        self.give(Given {
            slot: slot.cast(),
            publish: committed::<T>,
            refuse: undone::<T>,
        });
    }
}

/// Calls [`AtEnd::committed`] on the action, and drops the action.
///
/// # Safety
/// The requirements of [`end`] apply.
unsafe fn committed<T: AtEnd>(action: NonNull<()>) {
    // SAFETY: by contract.
    unsafe { end(action, T::committed) };
}

/// Calls [`AtEnd::undone`] on the action, and drops the action.
///
/// # Safety
/// The requirements of [`end`] apply.
unsafe fn undone<T: AtEnd>(action: NonNull<()>) {
    // SAFETY: by contract.
    unsafe { end(action, T::undone) };
}

/// Calls `method` on the action, and drops the action.
///
/// # Safety
/// The pointer comes from `Box::leak` of a `Box<T>`, and is not used again.
unsafe fn end<T: AtEnd>(action: NonNull<()>, method: fn(&T)) {
    // SAFETY: by contract.
    let action = unsafe { Box::from_raw(action.cast::<T>().as_ptr()) };
    let _ = quiet::call(|| method(&action));
    quiet::drop(action);
}
