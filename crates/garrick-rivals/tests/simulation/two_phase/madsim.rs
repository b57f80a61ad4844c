//! Two-phase commit as nodes that exchange datagrams.

use std::io::Result;
use std::time::Duration;

use madsim::net::{NetSim, UdpSocket};
use madsim::runtime::Handle;
use madsim::time::timeout;

const PREPARE: u8 = 1;
const READY: u8 = 2;

enum Decided {
    Commit,
    Abort,
}

async fn votes(socket: &UdpSocket, missing: &mut usize) -> Result<()> {
    while *missing > 0 {
        socket.recv_from(&mut [0]).await?;
        *missing -= 1;
    }
    Ok(())
}

async fn coordinator() -> Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:1").await?;
    for participant in ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"] {
        socket.send_to(participant, &[PREPARE]).await?;
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

async fn participant() -> Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:1").await?;
    let (_, coordinator) = socket.recv_from(&mut [0]).await?;
    socket.send_to(coordinator, &[READY]).await
}

pub(super) async fn two_phase() {
    let latency = Duration::from_millis(1)..Duration::from_millis(100);
    NetSim::current().update_config(|config| config.send_latency = latency);
    let net = Handle::current();
    let node = |ip: &str| net.create_node().ip(ip.parse().unwrap()).build();
    for ip in ["10.0.0.1", "10.0.0.2", "10.0.0.3"] {
        node(ip).spawn(participant());
    }
    let coordinator = node("10.0.0.4").spawn(coordinator());
    coordinator.await.unwrap().unwrap();
}
