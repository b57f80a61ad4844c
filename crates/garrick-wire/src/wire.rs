//! The trait of all types whose values are sent to other nodes, and functions that write and read
//! values with their lengths.

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::WireError;
use crate::identity::MessageId;
use crate::schema::Schema;
use crate::shape::Shape;

/// A type whose values can be sent to other nodes.
///
/// Usually, `#[derive(Wire)]` implements this trait. Implement it by hand only for a type that uses
/// the context, or for a new basic type.
///
/// `C` is the type of the context, a value that the encoder and the decoder lend to each type.
/// Types that do not use the context implement the trait for all contexts. `encode` consumes the
/// value, so that parts of it can be moved into a table of the context. If the context is a type of
/// your crate, the orphan rule allows you to implement this trait for types of other crates.
///
/// # Examples
/// ```
/// use std::sync::mpsc::{Sender, channel};
/// use garrick_wire::{Decoder, Encoder, Limits, Shape, Wire, WireError};
///
/// /// A link with senders whose values come from the other node.
/// #[derive(Default)]
/// struct Link(Vec<Sender<u64>>);
///
/// impl Wire<Link> for Sender<u64> {
///     const NAME: &'static str = "sender";
///     const SHAPE: Shape = Shape::Varint;
///
///     fn encode(self, out: &mut Encoder<'_, Link>) -> Result<(), WireError> {
///         let table = &mut out.context().0;
///         let index = table.len() as u64;
///         table.push(self);
///         out.varint(index)
///     }
///
///     fn decode(input: &mut Decoder<'_, Link>) -> Result<Self, WireError> {
///         let index = input.varint()?;
///         let known = input.context().0.get(index as usize).cloned();
///         known.ok_or_else(|| input.refused("the link has no such sender"))
///     }
/// }
///
/// #[derive(Wire)]
/// #[wire(context = Link)]
/// struct Subscribe {
///     topic: String,
///     sender: Sender<u64>,
/// }
///
/// let (sender, receiver) = channel();
/// let (mut link, mut bytes) = (Link::default(), Vec::new());
/// let subscribe = Subscribe { topic: "news".to_owned(), sender };
/// Limits::new().encode_with(subscribe, &mut bytes, &mut link)?;
/// let subscribe: Subscribe = Limits::new().decode_with(&bytes, &mut link)?;
/// assert_eq!(subscribe.topic, "news");
/// subscribe.sender.send(7).unwrap();
/// assert_eq!(receiver.recv(), Ok(7));
/// # Ok::<(), WireError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not travel between nodes",
    label = "does not implement `Wire`",
    note = "write `#[derive(Wire)]` above the type; or, if it implements the traits of serde, `#[wire(serde)]` above the field",
    note = "if the type needs a context, write `#[wire(context = ..)]` above the message",
    note = "`usize` and `isize` differ between machines; use `u64` or `i64`"
)]
pub trait Wire<C: ?Sized = ()>: Sized {
    /// Name of the type in the wire format. Do not change it when the Rust type is renamed or
    /// moved.
    ///
    /// A name has no spaces.
    const NAME: &'static str;

    /// Version of the type. Increase it with each change of the fields or variants.
    const VERSION: u16 = 1;

    /// Shape of an encoded value, which tells a reader where the value ends.
    const SHAPE: Shape;

    /// Identity of the type, computed from its name. Do not override it.
    const ID: MessageId = MessageId::of(Self::NAME);

    /// Writes the value. If the type has the shape [`Shape::Bytes`], `encode` writes the bytes of
    /// the value without their length. For the other shapes, it writes exactly one variable-length
    /// number, 4 bytes or 8 bytes, according to the shape.
    ///
    /// # Errors
    /// Returns an error if the message has too many bytes or levels, or if the context refuses the
    /// value. In this case, the value is dropped, except for parts that were already moved into
    /// tables of the context. An implementation must call [`Encoder::charge`] for the memory that
    /// decoding will allocate.
    fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError>;

    /// Reads a value. If the type has the shape [`Shape::Bytes`], the value consists of all
    /// remaining bytes of the decoder, and all of them must be read. [`Decoder::remaining`] returns
    /// their number.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a value of this type, or exceed a limit. An
    /// implementation must not panic, and must call [`Decoder::charge`] before it allocates.
    fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError>;

    /// Returns the exact length of the encoded value in bytes, if this length is known before
    /// encoding. A known length can be written before the value, so that the value need not be
    /// moved later. The default is `None`.
    #[inline]
    fn content_len(&self) -> Option<usize> {
        None
    }

    /// Describes the type, and all types that it contains, for the lock file. The default describes
    /// nothing, because the name of a basic type is enough.
    fn describe(_schema: &mut Schema) {}

    /// Shape of a field of this type. The shape differs from `SHAPE` only for an option, and for a
    /// `Box` or `Arc` of an option: a field with `Some` has the shape of the value in the option.
    #[doc(hidden)]
    const FIELD_SHAPE: Shape = Self::SHAPE;

    /// True if a field of this type may be missing in a message. A missing field gets a default
    /// value, such as `None`.
    #[doc(hidden)]
    const OPTIONAL: bool = false;

    /// True only for `u8`: a list of `u8` is encoded as plain bytes, without a number of items.
    #[doc(hidden)]
    const RAW: bool = false;

    /// Writes a field with its key.
    #[doc(hidden)]
    #[inline]
    fn encode_field(self, number: u32, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        out.key(number, Self::SHAPE)?;
        out.value(self)
    }

    /// Reads the value of a field. The caller has already read the key of the field.
    #[doc(hidden)]
    #[inline]
    fn decode_field(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        input.value()
    }

    /// Returns the value of a field that is missing in a message. Returns `None` if this type has
    /// no such value.
    #[doc(hidden)]
    #[inline]
    fn absent(_input: &mut Decoder<'_, C>) -> Result<Option<Self>, WireError> {
        Ok(None)
    }

    /// Writes the items of a list.
    #[doc(hidden)]
    #[inline]
    fn encode_list(
        items: impl ExactSizeIterator<Item = Self>,
        out: &mut Encoder<'_, C>,
    ) -> Result<(), WireError> {
        out.charge(items.len().saturating_mul(size_of::<Self>()));
        out.varint(items.len() as u64)?;
        out.values(items)
    }

    /// Reads the items of a list.
    #[doc(hidden)]
    #[inline]
    fn decode_list(input: &mut Decoder<'_, C>) -> Result<Vec<Self>, WireError> {
        let count = input.count::<Self>()?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(input.value()?);
        }
        Ok(items)
    }

    /// Writes the items of an array. The number of items is part of the type, so it is not written.
    #[doc(hidden)]
    #[inline]
    fn encode_array<const N: usize>(
        items: [Self; N],
        out: &mut Encoder<'_, C>,
    ) -> Result<(), WireError> {
        out.values(items.into_iter())
    }

    /// Reads the items of an array. The number of items is part of the type.
    #[doc(hidden)]
    #[inline]
    fn decode_array<const N: usize>(input: &mut Decoder<'_, C>) -> Result<[Self; N], WireError> {
        let mut items = [const { None }; N];
        for item in &mut items {
            *item = Some(input.value()?);
        }
        Ok(items.map(|item| item.expect("each item has just been read")))
    }
}

impl<C: ?Sized> Encoder<'_, C> {
    /// Writes a value. If its type has the shape [`Shape::Bytes`], writes the length of the encoded
    /// value before it.
    ///
    /// # Errors
    /// Returns the errors of [`Wire::encode`].
    #[inline]
    pub fn value<T: Wire<C>>(&mut self, value: T) -> Result<(), WireError> {
        if !matches!(T::SHAPE, Shape::Bytes) {
            return value.encode(self);
        }
        let Some(len) = value.content_len() else {
            let place = self.begin()?;
            value.encode(self)?;
            return self.end(place);
        };
        self.varint(len as u64)?;
        let start = self.position();
        value.encode(self)?;
        debug_assert_eq!(
            self.position() - start,
            len,
            "`content_len` of `{}` is exact",
            T::NAME
        );
        Ok(())
    }

    /// Writes values one after another.
    #[inline]
    pub(crate) fn values<T: Wire<C>>(
        &mut self,
        values: impl Iterator<Item = T>,
    ) -> Result<(), WireError> {
        for value in values {
            self.value(value)?;
        }
        Ok(())
    }
}

impl<C: ?Sized> Decoder<'_, C> {
    /// Reads a value. If its type has the shape [`Shape::Bytes`], first reads the length of the
    /// encoded value.
    ///
    /// # Errors
    /// Returns the errors of [`Wire::decode`]. Also returns an error if not all bytes of the
    /// encoded value were read.
    #[inline]
    pub fn value<T: Wire<C>>(&mut self) -> Result<T, WireError> {
        if !matches!(T::SHAPE, Shape::Bytes) {
            return T::decode(self);
        }
        let after = self.narrow()?;
        let value = T::decode(self)?;
        self.widen(after)?;
        Ok(value)
    }
}
