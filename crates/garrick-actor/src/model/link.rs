//! Links: actors that fail together.

use garrick_sched::{Address, Ended};

use crate::model::context::Context;

impl<M: 'static> Context<'_, M> {
    /// Links this actor and another actor. When either ends in a failure, the other is stopped,
    /// once it has handled the messages sent to it before. Nothing happens if the other actor has
    /// failed already. An actor that stops does not stop its links. An actor that a
    /// [`Supervisor`](crate::supervise::Supervisor) restarts has not ended.
    ///
    /// An actor that wants to survive and be notified uses [`Context::watch`] instead. Erlang calls
    /// this trapping exits. A stop by a link is a stop, not a failure, so links do not propagate
    /// further. To make many actors fail with one actor, link each of them to it. A link made in a
    /// turn that is undone has no effect.
    ///
    /// A link keeps both actors alive until one of them ends.
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
        stop_with(&self.address(), other);
        stop_with(other, &self.address());
    }
}

/// Stops `other` if `one` fails.
fn stop_with<M, N>(one: &Address<M>, other: &Address<N>)
where
    M: Send + 'static,
    N: Send + 'static,
{
    let other = other.clone();
    let _ = one.watch(move |ended| {
        if let Ended::Failed(_) = ended {
            other.stop();
        }
    });
}
