//! The digits as datagrams of nodes.

use std::io::Result;

use madsim::net::UdpSocket;
use madsim::runtime::Handle;

async fn sees() -> Result<()> {
    let socket = UdpSocket::bind("10.0.0.9:1").await?;
    let mut seen = 0;
    for _ in 1..=4 {
        let mut digit = [0];
        socket.recv_from(&mut digit).await?;
        seen = 10 * seen + u32::from(digit[0]);
    }
    assert_ne!(seen, 3142, "not 3142");
    Ok(())
}

async fn sends(digit: u8) -> Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:1").await?;
    socket.send_to("10.0.0.9:1", &[digit]).await
}

pub(super) async fn order() {
    let net = Handle::current();
    let node = |last| {
        let ip = [10, 0, 0, last];
        net.create_node().ip(ip.into()).build()
    };
    let sees = node(9).spawn(sees());
    for digit in 1..=4 {
        node(digit).spawn(sends(digit));
    }
    sees.await.unwrap().unwrap();
}
