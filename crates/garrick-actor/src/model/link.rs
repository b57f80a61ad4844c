//! Links between actors. If one of two linked actors fails, the other is stopped.

use std::sync::{Arc, OnceLock};

use garrick_sched::{Address, Ended, Watch};

use crate::model::context::Context;

impl<M: 'static> Context<'_, M> {
    /// Links this actor and the actor `other`. When one of them fails, the other is stopped after
    /// it has handled the messages that are already in its mailbox.
    ///
    /// An actor that stops without a failure does not stop the actors that are linked to it. If a
    /// failed actor is restarted by its [`Supervisor`](crate::supervise::Supervisor), the linked
    /// actors are not stopped either. The link has no effect if this turn is undone, or if `other`
    /// has stopped or failed before this call.
    ///
    /// An actor that is stopped by a link has not failed, so it does not stop other actors. To stop
    /// many actors when one actor fails, link each of them to that actor. To be notified instead of
    /// stopped, use [`Context::watch`], which corresponds to trapping exits in Erlang.
    ///
    /// A link keeps both actors alive until one of them stops.
    ///
    /// # Examples
    /// ```
    /// use garrick_actor::{Actor, Address, Context, Local, Next};
    ///
    /// struct Twin;
    ///
    /// enum Msg {
    ///     Link(Address<Msg>),
    ///     Fail,
    /// }
    ///
    /// impl Actor for Twin {
    ///     type Msg = Msg;
    ///     type Outcome = Next;
    ///
    ///     fn receive(&mut self, msg: Msg, cx: &mut Context<'_, Msg>) -> Next {
    ///         match msg {
    ///             Msg::Link(other) => cx.link(&other),
    ///             Msg::Fail => return cx.fail("as told"),
    ///         }
    ///         Next::Continue
    ///     }
    /// }
    ///
    /// for failing in [0, 1] {
    ///     let local = Local::new()?;
    ///     let twins = [local.spawn(Twin), local.spawn(Twin)];
    ///     twins[0].send(Msg::Link(twins[1].clone())).unwrap();
    ///     local.run();
    ///     twins[failing].send(Msg::Fail).unwrap();
    ///     local.run();
    ///     assert!(twins.iter().all(Address::is_stopped));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn link<N>(&self, other: &Address<N>)
    where
        M: Send,
        N: Send + 'static,
    {
        let one = self.address();
        let of_other = Arc::new(OnceLock::new());
        let of_one = stop_with(&one, other, {
            let of_other = Arc::clone(&of_other);
            move || {
                of_other.get().map(Watch::cancel);
            }
        });
        let watch = stop_with(other, &one, move || of_one.cancel());
        let watch = of_other.get_or_init(|| watch);
        if one.is_stopped() {
            // Another thread may have called the first function before `of_other` was set.
            watch.cancel();
        }
    }
}

/// Stops `other` when `one` fails. When `one` ends in any way, calls `unlink`, which cancels the
/// watch in the other direction. Otherwise, an actor would keep a watch, and thus the memory, of
/// each actor that was ever linked to it.
fn stop_with<M, N>(
    one: &Address<M>,
    other: &Address<N>,
    unlink: impl FnOnce() + Send + 'static,
) -> Watch
where
    M: Send + 'static,
    N: Send + 'static,
{
    let other = other.clone();
    one.watch(move |ended| {
        unlink();
        if let Ended::Failed(_) = ended {
            other.stop();
        }
    })
}
