//! The event stream, which has a topic for each type of event.

use std::any::{Any, TypeId};
use std::fmt;

use garrick_sched::{Address, Ask, SendError, SpawnError};
use indexmap::IndexMap;

use super::subscribers::Subscribers;
use crate::model::actor::{Actor, Steady};
use crate::model::context::Context;
use crate::system::handle::Handle;

/// A topic for events of all types. Each published event is sent to all subscribers to its type.
/// Publishers and subscribers only need to agree on this type.
///
/// Events of one type have the guarantees of a [`Topic`](super::Topic). Events of different types
/// from one publisher are also delivered in order. Each event needs an allocation.
///
/// # Examples
/// ```
/// use garrick_actor::naming::EventStream;
/// use garrick_actor::{Local, Next};
///
/// #[derive(Clone)]
/// struct Opened(u32);
///
/// # use garrick_actor::{Actor, Context};
/// # struct Watch;
/// # impl Actor for Watch {
/// #     type Msg = Opened;
/// #     type Outcome = Next;
/// #     fn receive(&mut self, event: Opened, _: &mut Context<'_, Opened>) -> Next {
/// #         assert_eq!(event.0, 7);
/// #         Next::Continue
/// #     }
/// # }
/// let local = Local::new()?;
/// let watch = local.spawn(Watch); // Its messages are of type `Opened`.
/// let events = EventStream::spawn(&local.handle())?;
/// events.subscribe(&watch)?;
/// events.publish(Opened(7))?;
/// events.publish("nobody subscribes to strings")?;
/// local.run();
/// assert_eq!(local.handle().failures(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct EventStream {
    address: Address<Order>,
}

/// An operation on the topics, executed by the event stream's actor.
type Order = Box<dyn FnOnce(&mut Topics) + Send>;

impl EventStream {
    /// Creates an event stream on the system `on`.
    ///
    /// # Errors
    /// Fails if the system is shutting down.
    pub fn spawn(on: &Handle) -> Result<Self, SpawnError<()>> {
        match on.spawn_task(Steady(EventStreamActor(Topics::default()))) {
            Ok(address) => Ok(Self { address }),
            Err(_) => Err(SpawnError(())),
        }
    }

    /// Sends `event` to all subscribers to its type.
    ///
    /// # Errors
    /// Fails if the event stream is known to have stopped. In this case, the event is dropped.
    pub fn publish<E: Clone + Send + 'static>(&self, event: E) -> Result<(), SendError<()>> {
        self.send(move |topics| topics.of::<E>().publish(event))
    }

    /// Subscribes `address` to all events of type `E` that are published after this call. Has no
    /// effect if `address` is already subscribed to this type.
    ///
    /// # Errors
    /// Fails if the event stream is known to have stopped.
    pub fn subscribe<E: Send + 'static>(&self, address: &Address<E>) -> Result<(), SendError<()>> {
        let address = address.clone();
        self.send(move |topics| {
            topics.of::<E>().add(address);
        })
    }

    /// Unsubscribes `address` from events of type `E`. The address receives no events of this type
    /// that are published after this call.
    ///
    /// # Errors
    /// Fails if the event stream is known to have stopped.
    pub fn unsubscribe<E: Send + 'static>(
        &self,
        address: &Address<E>,
    ) -> Result<(), SendError<()>> {
        let address = address.clone();
        self.send(move |topics| topics.of::<E>().remove(&address))
    }

    /// Asks for the number of subscribers to events of type `E`.
    pub fn subscribers<E: Send + 'static>(&self) -> Ask<usize> {
        self.address.ask(|reply| {
            Box::new(move |topics: &mut Topics| reply.send(topics.of::<E>().count())) as Order
        })
    }

    fn send(&self, order: impl FnOnce(&mut Topics) + Send + 'static) -> Result<(), SendError<()>> {
        let sent = self.address.send(Box::new(order));
        sent.map_err(|_| SendError(()))
    }
}

/// The subscribers to each type of event.
#[derive(Default)]
struct Topics {
    /// A `Subscribers<E>` for every type `E` that has been used.
    by_type: IndexMap<TypeId, Box<dyn Any + Send>>,
}

impl Topics {
    fn of<E: Send + 'static>(&mut self) -> &mut Subscribers<E> {
        let any = self
            .by_type
            .entry(TypeId::of::<E>())
            .or_insert_with(|| Box::new(Subscribers::<E>::new()));
        any.downcast_mut()
            .expect("the key is the type of the value")
    }
}

struct EventStreamActor(Topics);

impl Actor for EventStreamActor {
    type Msg = Order;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, order: Order, _: &mut Context<'_, Order>) {
        order(&mut self.0);
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;
    use std::sync::mpsc::{Sender, channel};

    use super::*;
    use crate::model::actor::Actor;

    use crate::system::local::Local;

    /// A value that sends its number when it is dropped.
    struct Numbered<E>(u32, Sender<u32>, PhantomData<E>);

    impl<E: 'static> Actor for Numbered<E> {
        type Msg = E;
        type Outcome = ();
        const STARTS: bool = false;

        fn receive(&mut self, _: E, _: &mut Context<'_, E>) {}
    }

    impl<E> Drop for Numbered<E> {
        fn drop(&mut self) {
            self.1.send(self.0).unwrap();
        }
    }

    #[test]
    fn subscribers_are_let_go_in_the_order_in_which_their_types_came() {
        macro_rules! subscribe {
            ($stream:ident, $local:ident, $told:ident, $($n:literal: $event:ty,)*) => {$({
                let numbered = Numbered($n, $told.clone(), PhantomData::<$event>);
                $stream.subscribe(&$local.spawn(numbered)).unwrap();
            })*};
        }
        let local = Local::new().unwrap();
        let (told, ended) = channel();
        let stream = EventStream::spawn(&local.handle()).unwrap();
        subscribe! {
            stream, local, told,
            0: u8, 1: u16, 2: u32, 3: u64, 4: i8, 5: i16, 6: i32, 7: i64, 8: usize, 9: isize,
        }
        local.run();
        drop(stream);
        local.run();
        // Actors that are no longer reachable end newest first.
        let mut ended: Vec<_> = ended.try_iter().collect();
        ended.reverse();
        assert_eq!(ended, (0..10).collect::<Vec<_>>());
    }
}
