//! Programs that have access to the server, but are not nodes.

use async_nats::Client;
use garrick_cluster::nats::NatsNet;

use crate::client::subscribe;
use crate::place::{Msg, Place, until};
use crate::server::Server;

/// Number of bad frames of each kind.
const FRAMES: u64 = 200;

async fn client(server: &Server) -> Client {
    async_nats::connect(server.address()).await.unwrap()
}

/// Returns a frame of a node, and the subject to which it was sent.
async fn overheard(client: &Client) -> (async_nats::Subject, Vec<u8>) {
    use futures_util::StreamExt;
    let mut frames = client.subscribe("g.test.n.here.*").await.unwrap();
    loop {
        let frame = frames.next().await.unwrap();
        if frame.payload.starts_with(b"GRKF") {
            return (frame.subject, frame.payload.to_vec());
        }
    }
}

#[test]
fn garbage_is_counted_and_harmless() {
    let Some(server) = Server::start("") else {
        return;
    };
    let place = |name| Place::new(NatsNet::builder(server.address()), "test", name);
    let (here, there) = (place("here"), place("there"));
    let (far, back) = (here.far("there"), there.far("here"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.unwrap();
    let dropped = here.node.sample().frames_dropped;
    runtime.block_on(async {
        let client = client(&server).await;
        let (subject, mut frame) = overheard(&client).await;
        for number in 0..FRAMES {
            let garbage = vec![number as u8; number as usize];
            client
                .publish(subject.clone(), garbage.into())
                .await
                .unwrap();
            // A frame with a changed byte.
            let at = number as usize % frame.len();
            frame[at] ^= 1;
            client
                .publish(subject.clone(), frame.clone().into())
                .await
                .unwrap();
            frame[at] ^= 1;
            // Lies about where other nodes are.
            let lie = format!(
                "g.test.n.{}.{}",
                ["there", "x"][number as usize % 2],
                u64::MAX
            );
            let lied = client.publish_with_reply(subject.clone(), lie, "lie".into());
            lied.await.unwrap();
        }
        client.flush().await.unwrap();
    });
    until("all are counted", || {
        here.node.sample().frames_dropped >= dropped + 3 * FRAMES
    });
    // The record of a node is renewed each second, and ends the lie.
    until("messages pass", || far.ask(Msg::Count).wait().is_ok());
    back.send(Msg::Note(1)).unwrap();
    until("messages pass back", || {
        back.ask(Msg::Count).wait() == Ok(1)
    });
    assert!(here.net.sample().nodes <= 3);
}

#[test]
fn a_frame_that_is_sent_again_is_handled_once() {
    let Some(server) = Server::start("") else {
        return;
    };
    let place = |name| Place::new(NatsNet::builder(server.address()), "test", name);
    let (here, there) = (place("here"), place("there"));
    let far = there.far("here");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        use futures_util::StreamExt;
        let client = client(&server).await;
        let mut frames = subscribe(&client, "g.test.n.here.*").await;
        far.send(Msg::Note(7)).unwrap();
        let (mut seen, mut bare) = (0, 0);
        while seen == 0 || bare < 3 {
            let frame = frames.next().await.unwrap();
            if frame.payload.len() < 100 {
                // Only a head.
                bare += 1;
                continue;
            }
            seen += 1;
            if seen <= 5 {
                let again = client.publish(frame.subject, frame.payload);
                again.await.unwrap();
            }
        }
    });
    assert_eq!(crate::place::noted(&here.counter), [7]);
    assert_eq!(far.ask(Msg::Count).wait(), Ok(1));
}
