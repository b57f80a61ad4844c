//! Actions that run at the end of a turn.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::quiet;
use crate::runtime::stage::Given;
use crate::runtime::turn::Turn;

/// An action that runs at the end of a turn. Exactly one of its methods is called, once, on the
/// worker of the turn. Messages that the method sends belong to no turn. A panic is caught.
pub trait AtEnd: Send + Sync + 'static {
    /// Called when the turn has committed.
    fn committed(&self);

    /// Called when the turn was undone.
    fn undone(&self);
}

impl<M: 'static> Turn<'_, M> {
    /// Registers an action that runs at the end of this turn.
    #[doc(hidden)]
    pub fn at_end<T: AtEnd>(&self, action: Arc<T>) {
        // SAFETY: an `Arc` is not null.
        let slot = unsafe { NonNull::new_unchecked(Arc::into_raw(action).cast_mut()) };
        self.give(Given {
            slot: slot.cast(),
            publish: committed::<T>,
            refuse: undone::<T>,
        });
    }
}

/// # Safety
/// The pointer comes from `Arc::into_raw` of an `Arc<T>`, and is not used again.
unsafe fn committed<T: AtEnd>(action: NonNull<()>) {
    // SAFETY: by contract.
    let action = unsafe { Arc::from_raw(action.cast::<T>().as_ptr()) };
    let _ = quiet::call(|| action.committed());
    quiet::drop(action);
}

/// # Safety
/// The requirements of [`committed`] apply.
unsafe fn undone<T: AtEnd>(action: NonNull<()>) {
    // SAFETY: by contract.
    let action = unsafe { Arc::from_raw(action.cast::<T>().as_ptr()) };
    let _ = quiet::call(|| action.undone());
    quiet::drop(action);
}
