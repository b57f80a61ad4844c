//! Two-phase commit as hosts that exchange datagrams.

use std::time::Duration;

use tokio::time::timeout;
use turmoil::net::UdpSocket;
use turmoil::{Builder, Result};

const PREPARE: u8 = 1;
const READY: u8 = 2;

enum Decided {
    Commit,
    Abort,
}

async fn votes(socket: &UdpSocket, missing: &mut usize) -> Result {
    while *missing > 0 {
        socket.recv_from(&mut [0]).await?;
        *missing -= 1;
    }
    Ok(())
}

async fn coordinator() -> Result {
    let socket = UdpSocket::bind(("0.0.0.0", 1)).await?;
    for participant in ["p0", "p1", "p2"] {
        socket.send_to(&[PREPARE], (participant, 1)).await?;
    }
    let mut missing = 3;
    let mut decisions = Vec::new();
    let in_time = timeout(Duration::from_millis(50), votes(&socket, &mut missing));
    if in_time.await.is_err() {
        decisions.push(Decided::Abort);
        votes(&socket, &mut missing).await?;
    }
    decisions.push(Decided::Commit);
    assert_eq!(decisions.len(), 1, "one decision");
    Ok(())
}

async fn participant() -> Result {
    let socket = UdpSocket::bind(("0.0.0.0", 1)).await?;
    let (_, coordinator) = socket.recv_from(&mut [0]).await?;
    socket.send_to(&[READY], coordinator).await?;
    Ok(())
}

pub(super) fn two_phase(seed: u64) -> Result {
    let mut sim = Builder::new().rng_seed(seed).build();
    for name in ["p0", "p1", "p2"] {
        sim.client(name, participant());
    }
    sim.client("c", coordinator());
    sim.run()
}
