//! Addresses mapped through a function.

use std::marker::PhantomData;

use crate::quiet;
use crate::runtime::address::{Address, SendError};
use crate::runtime::count_dead_letters;
use crate::runtime::door::{Door, Notice, door};

/// The door of an address that was mapped.
struct Mapped<N, M, F> {
    to: Address<M>,
    function: F,
    from: PhantomData<fn(N)>,
}

impl<N, M, F> Door for Mapped<N, M, F>
where
    N: Send + 'static,
    M: Send + 'static,
    F: Fn(N) -> M + Send + Sync + 'static,
{
    type Message = N;

    fn pass(&self, message: N, _: &Address<N>) -> Result<(), SendError<N>> {
        if self.to.is_stopped() {
            return Err(SendError(message));
        }
        if let Err(SendError(mapped)) = self.to.send((self.function)(message)) {
            // It can no longer be turned back into the original.
            count_dead_letters(1);
            quiet::drop(mapped);
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.to.is_stopped()
    }

    fn watch(&self, notice: Notice) {
        let _ = self.to.watch(notice);
    }
}

impl<M: Send + 'static> Address<M> {
    /// Returns an address that receives `N`, and sends the result of `function` to this address.
    /// Each sender runs the function itself. With a variant of an enum as the function, the result
    /// gives only the right to send that variant.
    ///
    /// The address gives no right to stop the task: [`Address::stop`] does nothing. A watch and
    /// [`Address::is_stopped`] go through to this address. If the task stops while the function
    /// runs, or has no room, the message is a dead letter.
    ///
    /// # Examples
    /// ```
    /// use garrick_sched::{Flow, Here, Task, Turn};
    ///
    /// struct Length;
    ///
    /// impl Task for Length {
    ///     type Message = usize;
    ///
    ///     fn receive(&mut self, length: usize, _: &Turn<'_, usize>) -> Flow {
    ///         assert_eq!(length, 5);
    ///         Flow::Continue
    ///     }
    /// }
    ///
    /// let here = Here::new_here()?;
    /// let word = here.spawn(Length).contramap(|word: &str| word.len());
    /// word.send("hello")?;
    /// here.run();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contramap<N, F>(&self, function: F) -> Address<N>
    where
        N: Send + 'static,
        F: Fn(N) -> M + Send + Sync + 'static,
    {
        door(Mapped {
            to: self.clone(),
            function,
            from: PhantomData,
        })
    }
}
