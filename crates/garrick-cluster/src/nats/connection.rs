//! Connections to NATS servers with a supported version.

use std::sync::Arc;

use async_nats::{Client, ConnectError, ConnectErrorKind, ServerInfo};

use super::builder::NatsBuilder;
use super::counts::Counts;
use super::error::{NatsError, PAYLOAD_MIN, VERSION_MIN, with_sources};

/// Opens a connection, and checks the server. The server sends its answers to subjects that begin
/// with `inbox`.
pub(super) async fn open(
    builder: &NatsBuilder,
    name: String,
    inbox: Option<String>,
    counts: &Arc<Counts>,
) -> Result<Client, NatsError> {
    let servers = builder.servers()?;
    let told = Arc::clone(counts);
    let mut options = builder.options(&servers).await?.name(name);
    if let Some(inbox) = inbox {
        options = options.custom_inbox_prefix(inbox);
    }
    let options = options.event_callback(move |event| {
        told.on_event(&event);
        std::future::ready(())
    });
    let connected = options.connect(&servers.addresses[..]).await;
    let client = connected.map_err(|error| refusal(servers.label(), &error))?;
    check(&client.server_info())?;
    Ok(client)
}

fn refusal(servers: String, error: &ConnectError) -> NatsError {
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            NatsError::Refused { servers }
        }
        _ => NatsError::Unreachable {
            servers,
            why: with_sources(error),
        },
    }
}

/// Returns the name, the address and the version of a server, for messages to users.
pub(super) fn label(info: &ServerInfo) -> String {
    format!("{}, version {}", place(info), info.version.escape_debug())
}

/// Returns the name and the address of a server, as the server itself reports them.
fn place(info: &ServerInfo) -> String {
    let (name, host) = (info.server_name.escape_debug(), info.host.escape_debug());
    format!("{name} at {host}:{}", info.port)
}

/// Checks that a server has a supported version and the needed features.
pub(super) fn check(info: &ServerInfo) -> Result<(), NatsError> {
    let server = place(info);
    if !is_allowed(&info.version) {
        let version = info.version.escape_debug().to_string();
        return Err(NatsError::OldServer { server, version });
    }
    if !info.jetstream {
        return Err(NatsError::NoJetStream { server });
    }
    if info.max_payload < PAYLOAD_MIN {
        let bytes = info.max_payload;
        return Err(NatsError::SmallPayload { server, bytes });
    }
    Ok(())
}

/// Returns true if a server with this version is supported. Servers with earlier versions could
/// lose updates of records.
pub(super) fn is_allowed(version: &str) -> bool {
    let mut numbers = version.split('.').map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= VERSION_MIN,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn old_and_unknown_versions_are_refused() {
        for allowed in ["2.12.0", "2.12.1-RC.3", "2.15.2", "3.0.0"] {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in ["2.9.10", "2.11.9", "1.99.0", "", "2", "x.y", "2.x.1"] {
            assert!(!is_allowed(refused), "{refused}");
        }
    }
}
