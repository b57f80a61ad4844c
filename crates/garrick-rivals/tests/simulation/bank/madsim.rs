//! The bank as nodes that exchange datagrams.

use std::io::Result;

use madsim::net::UdpSocket;
use madsim::runtime::Handle;

const READ: u8 = 255;

async fn account() -> Result<()> {
    let socket = UdpSocket::bind("10.0.0.1:1").await?;
    let (mut balance, mut writes) = (0, 0);
    while writes < 2 {
        let mut request = [0];
        let (_, teller) = socket.recv_from(&mut request).await?;
        if request == [READ] {
            socket.send_to(teller, &[balance]).await?;
        } else {
            [balance] = request;
            writes += 1;
        }
    }
    assert_eq!(balance, 2, "both deposits count");
    Ok(())
}

async fn teller() -> Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:1").await?;
    socket.send_to("10.0.0.1:1", &[READ]).await?;
    let mut balance = [0];
    socket.recv_from(&mut balance).await?;
    socket.send_to("10.0.0.1:1", &[balance[0] + 1]).await
}

pub(super) async fn bank() {
    let net = Handle::current();
    let node = |ip: &str| net.create_node().ip(ip.parse().unwrap()).build();
    let account = node("10.0.0.1").spawn(account());
    node("10.0.0.2").spawn(teller());
    node("10.0.0.3").spawn(teller());
    account.await.unwrap().unwrap();
}
