//! Declaration of the stages' channel ends before the stages run.

use std::fmt;

use crate::channel::{
    AsyncReceiver, AsyncSender, Line, Receiver, Receivers, Sender, Senders, Side,
};

/// The list of channel ends that a stage declares to its graph in
/// [`Stage::wiring`](crate::Stage::wiring).
pub struct Wiring {
    /// Id of the graph. Distinguishes the graph's channels from channels of another graph, whose
    /// ends a stage may also have.
    graph: u64,
    /// The channel ends of the stage. Each entry is the index of a channel, and the side of the
    /// end.
    pub(crate) ends: Vec<(u32, Side)>,
    /// Name of a channel of another graph, if the stage has declared an end of this channel. An end
    /// that also works outside the graph of its channel is allowed, and does not set this field.
    pub(crate) foreign: Option<String>,
}

/// A trait for types that contain channel ends, so that a stage can declare all of these ends in
/// one call to [`Wiring::has`]. The trait is implemented for single channel ends and for
/// bundles. It is also implemented for slices, vectors, options and tuples (of up to six
/// elements) of types that implement the trait.
///
/// # Examples
///
/// ```
/// use garrick_flow::{Ends, Receiver, Sender, Wiring};
///
/// struct Ports {
///     orders: Receiver<u64>,
///     bills: Sender<u64>,
/// }
///
/// impl Ends for Ports {
///     fn tell(&self, wiring: &mut Wiring) {
///         wiring.has(&self.orders).has(&self.bills);
///     }
/// }
/// ```
pub trait Ends {
    /// Declares all channel ends that this value contains, by calling [`Wiring::has`].
    fn tell(&self, wiring: &mut Wiring);
}

impl Wiring {
    pub(crate) fn new(graph: u64) -> Self {
        Self {
            graph,
            ends: Vec::new(),
            foreign: None,
        }
    }

    /// Declares that the stage has the given ends. Returns `self`, so that calls can be chained.
    pub fn has(&mut self, ends: &(impl Ends + ?Sized)) -> &mut Self {
        ends.tell(self);
        self
    }

    /// Records that the stage has the end on `side` of the channel `line`.
    pub(crate) fn has_end(&mut self, line: &Line, side: Side) {
        self.has_async_end(line, side);
        if line.graph() != self.graph {
            self.foreign = Some(line.label());
        }
    }

    /// Records that the stage has the end on `side` of the channel `line`. This kind of end also
    /// works outside the graph of its channel. If the channel belongs to another graph, records
    /// nothing.
    pub(crate) fn has_async_end(&mut self, line: &Line, side: Side) {
        if line.graph() == self.graph {
            self.ends.push((line.id, side));
        }
    }
}

impl<T> Ends for Receiver<T> {
    fn tell(&self, wiring: &mut Wiring) {
        wiring.has_end(self.line(), Side::Receiver);
    }
}

impl<T> Ends for Sender<T> {
    fn tell(&self, wiring: &mut Wiring) {
        wiring.has_end(self.line(), Side::Sender);
    }
}

impl<T> Ends for AsyncReceiver<T> {
    fn tell(&self, wiring: &mut Wiring) {
        wiring.has_async_end(self.line(), Side::Receiver);
    }
}

impl<T> Ends for AsyncSender<T> {
    fn tell(&self, wiring: &mut Wiring) {
        wiring.has_async_end(self.line(), Side::Sender);
    }
}

impl<T> Ends for Receivers<T> {
    fn tell(&self, wiring: &mut Wiring) {
        self[..].tell(wiring);
    }
}

impl<T> Ends for Senders<T> {
    fn tell(&self, wiring: &mut Wiring) {
        self[..].tell(wiring);
    }
}

impl<E: Ends> Ends for [E] {
    fn tell(&self, wiring: &mut Wiring) {
        self.iter().for_each(|ends| ends.tell(wiring));
    }
}

impl<E: Ends> Ends for Vec<E> {
    fn tell(&self, wiring: &mut Wiring) {
        self[..].tell(wiring);
    }
}

impl<E: Ends> Ends for Option<E> {
    fn tell(&self, wiring: &mut Wiring) {
        self.as_slice().tell(wiring);
    }
}

macro_rules! tuples {
    ($(($($part:ident)*))*) => {
        $(impl<$($part: Ends),*> Ends for ($($part,)*) {
            #[allow(non_snake_case, reason = "each part is named after its type")]
            fn tell(&self, wiring: &mut Wiring) {
                let ($($part,)*) = self;
                $(wiring.has($part);)*
                let _ = wiring;
            }
        })*
    };
}

tuples! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }

impl fmt::Debug for Wiring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wiring")
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}
