//! Fields that serde encodes, in the format of postcard.

mod read;

use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::WireError;
use crate::shape::Shape;
use crate::wire::Wire;

use read::{Failure, Reader};

/// A value that serde encodes and decodes. A field with the attribute `#[wire(serde)]` is encoded
/// as a `Serde`. The lock file contains the type of the field itself, not `Serde`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Serde<T>(pub T);

/// The output of postcard: passes each written byte on to an encoder. Stores an error of the
/// encoder, because the errors of postcard cannot contain another error.
struct Output<'e, 'a, C: ?Sized> {
    out: &'e mut Encoder<'a, C>,
    error: &'e mut Option<WireError>,
}

impl<C: ?Sized> Output<'_, '_, C> {
    fn keep(&mut self, written: Result<(), WireError>) -> postcard::Result<()> {
        written.map_err(|error| {
            *self.error = Some(error);
            postcard::Error::SerializeBufferFull
        })
    }
}

impl<C: ?Sized> Flavor for Output<'_, '_, C> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        let written = self.out.array([byte]);
        self.keep(written)
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        let written = self.out.bytes(bytes);
        self.keep(written)
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

impl<C: ?Sized, T: Serialize + DeserializeOwned> Wire<C> for Serde<T> {
    const NAME: &'static str = "serde";
    const SHAPE: Shape = Shape::Bytes;

    fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        let mut error = None;
        let output = Output {
            out,
            error: &mut error,
        };
        let written = postcard::serialize_with_flavor(&self.0, output);
        match (written, error) {
            (Ok(()), None) => Ok(()),
            (_, Some(error)) => Err(error),
            // The text of serde may have parts of the value.
            (Err(_), None) => Err(out.refused("serde cannot serialize the value")),
        }
    }

    fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        match T::deserialize(&mut Reader(input)) {
            Ok(value) => Ok(Self(value)),
            Err(Failure::Wire(error)) => Err(error),
            Err(Failure::OfType) => Err(input.invalid("a value that the type deserializes")),
        }
    }
}
