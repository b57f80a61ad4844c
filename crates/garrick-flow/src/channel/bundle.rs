//! Bundles of channels of one type.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::vec;

use super::{Receiver, Sender};

macro_rules! bundle {
    ($(#[$doc:meta])* $name:ident of $end:ident) => {
        $(#[$doc])*
        pub struct $name<T> {
            /// The ends, in the order of their channels in the graph. The indices of these channels
            /// are consecutive.
            ends: Vec<$end<T>>,
            /// Index of the bundle's first channel in the graph.
            first: u32,
        }

        impl<T> $name<T> {
            pub(crate) fn new(ends: Vec<$end<T>>) -> Self {
                let first = ends.first().map_or(0, |end| end.line().id);
                Self { ends, first }
            }

            /// Returns the index of the bundle's first channel in the graph, and the number of
            /// channels in the bundle.
            pub(crate) fn range(&self) -> (u32, u32) {
                // Every channel has a number of 32 bits.
                (self.first, self.ends.len() as u32)
            }
        }

        impl<T> Deref for $name<T> {
            type Target = [$end<T>];

            #[inline]
            fn deref(&self) -> &Self::Target {
                &self.ends
            }
        }

        impl<T> DerefMut for $name<T> {
            #[inline]
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.ends
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(&self.ends).finish()
            }
        }

        impl<T> IntoIterator for $name<T> {
            type Item = $end<T>;
            type IntoIter = vec::IntoIter<$end<T>>;

            /// Splits the bundle into its ends, for separate stages.
            fn into_iter(self) -> Self::IntoIter {
                self.ends.into_iter()
            }
        }

        impl<'a, T> IntoIterator for &'a $name<T> {
            type Item = &'a $end<T>;
            type IntoIter = std::slice::Iter<'a, $end<T>>;

            fn into_iter(self) -> Self::IntoIter {
                self.ends.iter()
            }
        }

        impl<'a, T> IntoIterator for &'a mut $name<T> {
            type Item = &'a mut $end<T>;
            type IntoIter = std::slice::IterMut<'a, $end<T>>;

            fn into_iter(self) -> Self::IntoIter {
                self.ends.iter_mut()
            }
        }
    };
}

bundle! {
    /// The writing ends of a bundle of channels. Created by
    /// [`Graph::bundle`](crate::Graph::bundle).
    ///
    /// One stage can own all ends of a bundle and index them like a slice. To distribute the ends
    /// over several stages, call `into_iter`. Do not replace an end of a bundle by an end of
    /// another channel: a [`Wait`](crate::Wait) on the bundle would still check the original
    /// channel.
    Senders of Sender
}

bundle! {
    /// The reading ends of a bundle of channels. Created by
    /// [`Graph::bundle`](crate::Graph::bundle).
    ///
    /// One stage can own all ends of a bundle and index them like a slice. To distribute the ends
    /// over several stages, call `into_iter`. Do not replace an end of a bundle by an end of
    /// another channel: a [`Wait`](crate::Wait) on the bundle would still check the original
    /// channel.
    Receivers of Receiver
}
