//! Durations, network addresses, and types with a single value, such as `()`.

use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::time::Duration;

use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::error::WireError;
use crate::shape::Shape;
use crate::wire::Wire;

const NANOS_PER_SECOND: u32 = 1_000_000_000;

/// Size of an encoded IPv4 socket address in bytes: the address and the port.
const SOCKET_V4: usize = 4 + 2;

/// Size of an encoded IPv6 socket address in bytes: the address, the port, the flow information,
/// and the scope.
const SOCKET_V6: usize = 16 + 2 + 4 + 4;

macro_rules! empty {
    ([$($parameter:tt)*] $type:ty, $name:literal, $value:expr) => {
        impl<C: ?Sized, $($parameter)*> Wire<C> for $type {
            const NAME: &'static str = $name;
            const SHAPE: Shape = Shape::Bytes;

            #[inline]
            fn encode(self, _: &mut Encoder<'_, C>) -> Result<(), WireError> {
                Ok(())
            }

            #[inline]
            fn decode(_: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                Ok($value)
            }

            #[inline]
            fn content_len(&self) -> Option<usize> {
                Some(0)
            }
        }
    };
}

empty!([](), "unit", ());
empty!([T: ?Sized] PhantomData<T>, "unit", PhantomData);

/// A duration is encoded as its whole seconds, followed by the remaining nanoseconds.
impl<C: ?Sized> Wire<C> for Duration {
    const NAME: &'static str = "duration";
    const SHAPE: Shape = Shape::Bytes;

    #[inline]
    fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        out.varint(self.as_secs())?;
        out.varint(u64::from(self.subsec_nanos()))
    }

    #[inline]
    fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        let seconds = input.varint()?;
        match u32::decode(input)? {
            nanos if nanos < NANOS_PER_SECOND => Ok(Self::new(seconds, nanos)),
            _ => Err(input.invalid("nanoseconds below a second")),
        }
    }
}

macro_rules! address {
    ($($type:ty: $name:literal, $len:expr;)*) => {$(
        impl<C: ?Sized> Wire<C> for $type {
            const NAME: &'static str = $name;
            const SHAPE: Shape = Shape::Bytes;

            #[inline]
            fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
                out.array(self.octets())
            }

            #[inline]
            fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
                input.array::<$len>().map(Self::from)
            }

            #[inline]
            fn content_len(&self) -> Option<usize> {
                Some($len)
            }
        }
    )*};
}

address! {
    Ipv4Addr: "ipv4", 4;
    Ipv6Addr: "ipv6", 16;
}

/// An IP address is encoded as 4 bytes for IPv4, or 16 bytes for IPv6. The length determines the
/// version.
impl<C: ?Sized> Wire<C> for IpAddr {
    const NAME: &'static str = "ip";
    const SHAPE: Shape = Shape::Bytes;

    fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        match self {
            Self::V4(address) => address.encode(out),
            Self::V6(address) => address.encode(out),
        }
    }

    fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        match input.remaining() {
            4 => Ipv4Addr::decode(input).map(Self::V4),
            16 => Ipv6Addr::decode(input).map(Self::V6),
            _ => Err(input.invalid("an address of 4 or 16 bytes")),
        }
    }
}

/// A socket address is encoded as 6 bytes for IPv4, or 26 bytes for IPv6. The length determines the
/// version.
impl<C: ?Sized> Wire<C> for SocketAddr {
    const NAME: &'static str = "socket";
    const SHAPE: Shape = Shape::Bytes;

    fn encode(self, out: &mut Encoder<'_, C>) -> Result<(), WireError> {
        match self {
            Self::V4(socket) => {
                socket.ip().encode(out)?;
                out.array(socket.port().to_le_bytes())
            }
            Self::V6(socket) => {
                socket.ip().encode(out)?;
                out.array(socket.port().to_le_bytes())?;
                out.array(socket.flowinfo().to_le_bytes())?;
                out.array(socket.scope_id().to_le_bytes())
            }
        }
    }

    fn decode(input: &mut Decoder<'_, C>) -> Result<Self, WireError> {
        match input.remaining() {
            SOCKET_V4 => {
                let ip = Ipv4Addr::decode(input)?;
                let port = u16::from_le_bytes(input.array()?);
                Ok(SocketAddrV4::new(ip, port).into())
            }
            SOCKET_V6 => {
                let ip = Ipv6Addr::decode(input)?;
                let port = u16::from_le_bytes(input.array()?);
                let flow = u32::from_le_bytes(input.array()?);
                let scope = u32::from_le_bytes(input.array()?);
                Ok(SocketAddrV6::new(ip, port, flow, scope).into())
            }
            _ => Err(input.invalid("a socket address of 6 or 26 bytes")),
        }
    }
}
