//! Flags of commands that a user can watch through telemetry while they run.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use garrick_measure::commands::{Ended, print, warn};
use garrick_telemetry::{StartError, Telemetry, trace_events};

use crate::token;

/// Default port of the telemetry page.
const PORT: u16 = 9900;

/// Default host: this machine only.
const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Interval between two summaries in the log.
const SUMMARY_EVERY: Duration = Duration::from_secs(10);

/// Flags of a command that can be watched.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Flags {
    /// Serve telemetry at IP:PORT, :PORT or IP. The default is 127.0.0.1:9900 or the next free
    /// port.
    #[arg(long = "telemetry", value_name = "ADDR", value_parser = address)]
    address: Option<SocketAddr>,

    /// Do not serve telemetry.
    #[arg(long = "no-telemetry", conflicts_with_all = ["address", "token"])]
    is_off: bool,

    /// Require this token from viewers. It consists of up to 256 letters, digits and the characters
    /// -._~.
    #[arg(long = "telemetry-token", value_name = "TOKEN", value_parser = token::parse)]
    token: Option<String>,
}

/// Parses an address to listen on. Only IP addresses and the name of this machine are accepted,
/// because other names could have several addresses.
fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text
        .strip_prefix("localhost")
        .map_or(text.to_owned(), |rest| format!("{HOST}{rest}"));
    let with_host = format!("{HOST}{text}");
    let in_brackets = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let alone = in_brackets
        .unwrap_or(&text)
        .parse()
        .map(|ip: IpAddr| SocketAddr::new(ip, PORT));
    alone
        .or_else(|_| text.parse())
        .or_else(|_| with_host.parse())
        .map_err(|_| "the address must be IP:PORT, :PORT or IP, such as 127.0.0.1:9901".to_owned())
}

impl Flags {
    /// Starts telemetry under the process name `name`, and prints its address. Returns `None` if
    /// telemetry is disabled. If `tells_events` is true, alerts and regular summaries are logged.
    ///
    /// # Errors
    ///
    /// Returns an error if telemetry cannot start although an address or a token was given. Without
    /// these flags, the error is printed and the process continues.
    pub(crate) fn start(
        &self,
        name: &str,
        tells_events: bool,
    ) -> Result<Option<Telemetry>, StartError> {
        if self.is_off {
            return Ok(None);
        }
        let mut builder = Telemetry::builder().name(name);
        if let Some(address) = self.address {
            builder = builder.address(address);
        }
        if let Some(token) = &self.token {
            builder = builder.token(token);
        }
        if tells_events {
            builder = builder.observe(trace_events(SUMMARY_EVERY));
        }
        match builder.start() {
            Ok(telemetry) => {
                print(&self.announcement(&telemetry));
                Ok(Some(telemetry))
            }
            Err(error) if self.address.is_some() || self.token.is_some() => Err(error),
            Err(error) => {
                warn(&format!("warning: {error}; continuing without telemetry"));
                Ok(None)
            }
        }
    }

    /// Returns the line that contains the address of telemetry, and the command that shows the
    /// telemetry.
    fn announcement(&self, telemetry: &Telemetry) -> String {
        let address = telemetry.address();
        let moved = if self.address.is_none() && address.port() != PORT {
            format!("port {PORT} is in use, so ")
        } else {
            String::new()
        };
        format!(
            "{moved}telemetry is at {} (garrick top {address})",
            telemetry.url()
        )
    }
}

/// Returns the outcome of a command whose telemetry cannot start: a usage error, or an error of the
/// system.
pub(crate) fn explain(error: StartError) -> garrick_measure::Result<Ended> {
    match error {
        StartError::System(_) => Err(error.into()),
        _ => Ok(Ended::Refused(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_several_forms() {
        for (text, expected) in [
            ("127.0.0.1:9901", "127.0.0.1:9901"),
            (":9901", "127.0.0.1:9901"),
            (":0", "127.0.0.1:0"),
            ("0.0.0.0:9900", "0.0.0.0:9900"),
            ("0.0.0.0", "0.0.0.0:9900"),
            ("localhost", "127.0.0.1:9900"),
            ("localhost:1", "127.0.0.1:1"),
            ("[::1]:9902", "[::1]:9902"),
            ("[::1]", "[::1]:9900"),
            ("::1", "[::1]:9900"),
        ] {
            assert_eq!(address(text).unwrap().to_string(), expected, "{text}");
        }
        for text in [
            "",
            "9901",
            "host:9901",
            "127.0.0.1:",
            "127.0.0.1:65536",
            ":-1",
            "http://127.0.0.1:1",
        ] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
