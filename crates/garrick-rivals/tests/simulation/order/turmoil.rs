//! The digits as datagrams of hosts.

use turmoil::net::UdpSocket;
use turmoil::{Builder, Result};

async fn sees() -> Result {
    let socket = UdpSocket::bind(("0.0.0.0", 1)).await?;
    let mut seen = 0;
    for _ in 1..=4 {
        let mut digit = [0];
        socket.recv_from(&mut digit).await?;
        seen = 10 * seen + u32::from(digit[0]);
    }
    assert_ne!(seen, 3142, "not 3142");
    Ok(())
}

async fn sends(digit: u8) -> Result {
    let socket = UdpSocket::bind(("0.0.0.0", 1)).await?;
    socket.send_to(&[digit], ("sees", 1)).await?;
    Ok(())
}

pub(super) fn order(seed: u64) -> Result {
    let mut sim = Builder::new().rng_seed(seed).build();
    sim.client("sees", sees());
    for digit in 1..=4 {
        sim.client(format!("sends {digit}"), sends(digit));
    }
    sim.run()
}
