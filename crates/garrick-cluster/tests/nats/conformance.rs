//! Tests that each transport follows the rules of transports.

use std::sync::mpsc::{Receiver, Sender, channel};

use garrick_actor::{Actor, Address, Context, System};
use garrick_cluster::nats::NatsNet;
use garrick_cluster::{Incoming, JoinError, LocalNet, NodeName, Transport};
use garrick_testkit::wait;

use crate::place::until;
use crate::server::Server;

/// An actor that passes the frames that it receives on to the test.
struct Tray(Sender<Vec<u8>>);

impl Actor for Tray {
    type Msg = Incoming;
    type Outcome = ();

    fn receive(&mut self, frame: Incoming, _: &mut Context<'_, Incoming>) {
        let _ = self.0.send(frame.content().to_vec());
    }
}

/// A node of a network, and the frames that arrive at the node.
struct Member<T> {
    net: T,
    name: NodeName,
    life: u64,
    receiver: Address<Incoming>,
    frames: Receiver<Vec<u8>>,
}

impl<T: Transport> Member<T> {
    fn new(system: &System, net: T, name: &str) -> Result<Self, JoinError> {
        let (told, frames) = channel();
        let receiver = system.spawn(Tray(told)).unwrap();
        let name = NodeName::new(name).unwrap();
        let life = net.join("suite", &name, receiver.clone())?;
        Ok(Self {
            net,
            name,
            life,
            receiver,
            frames,
        })
    }

    fn send(&self, to: &Self, frame: &'static str) -> bool {
        self.net.send(&to.name, Incoming::new(frame))
    }

    /// Sends a frame, and waits until it has arrived.
    fn reaches(&self, to: &Self, frame: &'static str) {
        until("the other node is known", || self.send(to, frame));
        assert_eq!(wait(&to.frames), frame.as_bytes());
    }

    fn leave(&self) {
        self.net.leave(&self.name, self.life);
    }
}

/// Runs all checks. Each call of `net` returns the network of another node.
fn conforms<T: Transport>(net: impl Fn() -> T) {
    let system = System::new().unwrap();
    let join = |name: &str| Member::new(&system, net(), name);
    let a = join("a").unwrap();
    let nobody = NodeName::new("b").unwrap();
    assert!(!a.net.send(&nobody, Incoming::new("early")));
    let b = join("b").unwrap();
    assert!(a.life > 0 && b.life > 0);
    a.reaches(&b, "first");

    // Frames come in their order, also large ones, and with any content.
    let large = a.net.max_frame().min(1 << 20);
    for number in 0..2_000_u32 {
        let mut frame = number.to_le_bytes().to_vec();
        if number % 500 == 0 {
            frame.resize(large, 0xff);
        }
        assert!(a.net.send(&b.name, Incoming::new(frame)));
    }
    for number in 0..2_000_u32 {
        assert_eq!(wait(&b.frames)[..4], number.to_le_bytes());
    }
    b.reaches(&a, "");

    // A name has one owner.
    let taken = join("b").err();
    assert_eq!(taken, Some(JoinError::Taken { name: "b".into() }));
    // To leave as an earlier life is to do nothing.
    b.net.leave(&b.name, b.life - 1);
    a.reaches(&b, "still there");

    // After the end of a life, the next one has a greater number, and its frames.
    b.leave();
    let mut next = None;
    until("the name is free", || {
        next = join("b").ok();
        next.is_some()
    });
    let next = next.unwrap();
    assert!(next.life > b.life);
    until("frames come to the next life", || {
        a.send(&next, "next") && next.frames.try_recv().is_ok_and(|frame| frame == b"next")
    });

    // A node whose receiver has ended has left.
    let c = join("c").unwrap();
    until("all are known", || c.send(&a, "?") && c.send(&next, "?"));
    next.receiver.stop();
    until("it has left", || !c.send(&next, "?"));
    assert!(c.send(&a, "?"));
    a.leave();
    until("all have left", || !c.send(&a, "?"));
}

#[test]
fn the_network_of_a_process_conforms() {
    let net = LocalNet::new();
    conforms(|| net.clone());
}

#[test]
fn a_network_on_nats_conforms() {
    let Some(server) = Server::start("") else {
        return;
    };
    conforms(|| NatsNet::builder(server.address()).start().unwrap());
}
