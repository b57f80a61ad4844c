//! Actions for the end of a turn.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::quiet;
use crate::runtime::stage::Given;
use crate::runtime::turn::Turn;

/// An action for the end of a turn. One of its methods is called, once, on the turn's worker. What
/// it sends belongs to no turn. A panic is caught.
pub trait AtEnd: Send + Sync + 'static {
    /// The turn commits.
    fn committed(&self);

    /// The turn is undone.
    fn undone(&self);
}

impl<M: 'static> Turn<'_, M> {
    /// Registers an action for the end of this turn.
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
/// The pointer was made by `Arc::into_raw` from a `T`, and is not used again.
unsafe fn committed<T: AtEnd>(action: NonNull<()>) {
    // SAFETY: by contract.
    let action = unsafe { Arc::from_raw(action.cast::<T>().as_ptr()) };
    let _ = quiet::call(|| action.committed());
    quiet::drop(action);
}

/// # Safety
/// The contract of [`committed`].
unsafe fn undone<T: AtEnd>(action: NonNull<()>) {
    // SAFETY: by contract.
    let action = unsafe { Arc::from_raw(action.cast::<T>().as_ptr()) };
    let _ = quiet::call(|| action.undone());
    quiet::drop(action);
}
