//! The error returned when telemetry cannot be started.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use crate::sampler::SettingsError;
use crate::server::TokenError;

/// The error returned when telemetry cannot be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The sampling interval or the window is out of range.
    Settings(SettingsError),
    /// The access token has a forbidden length, or contains a forbidden character.
    Token(TokenError),
    /// All ports that were tried, beginning with the requested one, are in use.
    PortInUse {
        /// The requested address, whose port was tried first.
        address: SocketAddr,
        /// Number of consecutive ports that were tried.
        tried: u16,
    },
    /// The operating system rejected an attempt to listen on the address. If the port is in use,
    /// the error is [`PortInUse`](Self::PortInUse) instead.
    Bind {
        /// The address that the operating system rejected.
        address: SocketAddr,
        /// Error that the operating system reported.
        error: io::Error,
    },
    /// The operating system cannot provide a thread, a poller or another resource.
    System(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(error) => error.fmt(f),
            Self::Token(error) => error.fmt(f),
            Self::PortInUse { address, tried: 1 } => {
                let port = address.port();
                write!(f, "telemetry: port {port} of {} is in use", address.ip())
            }
            Self::PortInUse { address, tried } => {
                let (first, last) = (address.port(), address.port() + (tried - 1));
                let ip = address.ip();
                write!(f, "telemetry: ports {first} to {last} of {ip} are in use")
            }
            Self::Bind { address, error } => {
                write!(f, "telemetry: cannot listen at {address}: {error}")
            }
            Self::System(error) => write!(f, "telemetry: cannot start: {error}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Settings(error) => Some(error),
            Self::Token(error) => Some(error),
            Self::PortInUse { .. } => None,
            Self::Bind { error, .. } | Self::System(error) => Some(error),
        }
    }
}

impl From<SettingsError> for StartError {
    fn from(error: SettingsError) -> Self {
        Self::Settings(error)
    }
}

impl From<TokenError> for StartError {
    fn from(error: TokenError) -> Self {
        Self::Token(error)
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
