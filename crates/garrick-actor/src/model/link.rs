//! Links: actors that fail together.

use garrick_sched::{Address, Ended};

use crate::model::context::Context;

impl<M: 'static> Context<'_, M> {
    /// Links this actor and another one: when either ends in a failure, the other one is stopped, once it has
    /// handled what was sent to it before. If the other one has failed already nothing happens; an actor that stops
    /// takes nobody with it, and one that a [`Supervisor`](crate::Supervisor) restarts has not ended.
    ///
    /// An actor that wants to live on and hear of it, which Erlang calls trapping exits, uses
    /// [`Context::watch`]. A stop by a link is a stop and no failure, so links do not lead further: whom
    /// many are to fail with, they link to, each. A turn that is undone has not linked.
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
