//! The bank as hosts that exchange datagrams.

use turmoil::net::UdpSocket;
use turmoil::{Builder, Result};

const READ: u8 = 255;

async fn account() -> Result {
    let socket = UdpSocket::bind(("0.0.0.0", 1)).await?;
    let (mut balance, mut writes) = (0, 0);
    while writes < 2 {
        let mut request = [0];
        let (_, teller) = socket.recv_from(&mut request).await?;
        if request == [READ] {
            socket.send_to(&[balance], teller).await?;
        } else {
            [balance] = request;
            writes += 1;
        }
    }
    assert_eq!(balance, 2, "both deposits count");
    Ok(())
}

async fn teller() -> Result {
    let socket = UdpSocket::bind(("0.0.0.0", 1)).await?;
    socket.send_to(&[READ], ("account", 1)).await?;
    let mut balance = [0];
    socket.recv_from(&mut balance).await?;
    socket.send_to(&[balance[0] + 1], ("account", 1)).await?;
    Ok(())
}

pub(super) fn bank(seed: u64) -> Result {
    let mut sim = Builder::new().rng_seed(seed).build();
    sim.client("account", account());
    sim.client("teller 1", teller());
    sim.client("teller 2", teller());
    sim.run()
}
