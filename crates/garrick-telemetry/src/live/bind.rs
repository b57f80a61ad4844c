//! Finds a free port and listens on it.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use super::StartError;

/// Maximum number of ports that are tried, including the first one.
pub(super) const PORTS_MAX: u16 = 100;

/// Listens on `address`, or on one of the next `ports - 1` ports.
pub(super) fn bind(address: SocketAddr, ports: u16) -> Result<TcpListener, StartError> {
    // For port 0 the system chooses a free port, so no port follows. Port 65535 is the last.
    let after = if address.port() == 0 {
        0
    } else {
        u16::MAX - address.port()
    };
    let last = address.port() + after.min(ports.saturating_sub(1));
    for port in address.port()..=last {
        let address = SocketAddr::new(address.ip(), port);
        match TcpListener::bind(address) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => return Err(StartError::Bind { address, error }),
        }
    }
    Err(StartError::PortInUse {
        address,
        tried: last - address.port() + 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

    #[test]
    fn a_port_in_use_is_told_and_the_next_taken_if_allowed() {
        let held = bind(ANY, 1).expect("some port is free");
        let address = held.local_addr().expect("it listens");
        let error = bind(address, 1).unwrap_err();
        assert!(matches!(error, StartError::PortInUse { tried: 1, .. }));
        let port = address.port();
        assert!(
            error.to_string().contains(&format!("port {port} ")),
            "{error}"
        );
        let next = bind(address, PORTS_MAX).expect("one of a hundred is free");
        assert!(next.local_addr().expect("it listens").port() > port);
    }

    #[test]
    fn an_address_of_another_machine_is_no_port_in_use() {
        // An address from the range reserved for documentation.
        let error = bind(([192, 0, 2, 1], 9).into(), PORTS_MAX).unwrap_err();
        assert!(matches!(error, StartError::Bind { .. }), "{error}");
    }

    #[test]
    fn the_last_port_is_the_last() {
        let all = ([127, 0, 0, 1], u16::MAX).into();
        let held = bind(all, PORTS_MAX);
        let again = bind(all, PORTS_MAX);
        assert!(
            matches!(again, Err(StartError::PortInUse { tried: 1, .. })),
            "{held:?}"
        );
    }
}
