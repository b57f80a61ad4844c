//! Messages to an actor on another worker.

use garrick::{Actor, Address, Context, Next};
use garrick_measure::{Clock, Contender, Effort, Measured, Result, Scenario, Stopwatch};
use std::hint::black_box;
use std::sync::mpsc;

use super::actors::{BURST, send_in, sent, worker};

pub(super) const TELL_CROSS: Scenario = Scenario {
    name: "tell-cross",
    operation: "one message from an actor to an actor on another worker, sent and handled; the \
                sender sends 256 messages per turn, with at most 8 such bursts in flight: the \
                receiver sends back a credit for each burst",
    contenders: |_: &Effort| {
        vec![
            Contender::fitted("garrick", tell_cross)
                .with("burst", BURST)
                .with("bursts_open", BURSTS_OPEN),
        ]
    },
};

/// Number of bursts that may be in flight. With this number, neither side has to wait for the other
/// side to wake up.
const BURSTS_OPEN: u64 = 8;

/// The sender. Every credit that arrives allows the sender to send one more burst.
struct Teller {
    /// Actor that counts the messages. `None` until the message with its address arrives.
    to: Option<Address<u64>>,
    /// Number of bursts that have not been sent yet.
    left: u64,
}

/// Messages that a [`Teller`] handles.
enum ToTeller {
    /// Passes the address of the counting actor.
    Peer(Address<u64>),
    /// Allows the teller to send one more burst.
    Credit,
}

impl Actor for Teller {
    type Msg = ToTeller;
    type Outcome = Next;
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, message: ToTeller, cx: &mut Context<'_, ToTeller>) -> Next {
        match (message, &self.to) {
            (ToTeller::Peer(peer), _) => self.to = Some(peer),
            (ToTeller::Credit, Some(to)) if self.left > 0 => {
                self.left -= 1;
                for number in 0..BURST {
                    if cx.send(to, number).is_err() {
                        return Next::Stop;
                    }
                }
            }
            (ToTeller::Credit, _) => {}
        }
        Next::Continue
    }
}

/// The receiver, which counts messages. After each burst, the receiver allows the sender to send
/// one more burst.
struct Counter {
    /// Address of the sender. After each burst, the sender gets a credit for one more burst.
    teller: Address<ToTeller>,
    /// Number of messages that have not arrived yet.
    left: u64,
    /// Sender for the notification that the last message has arrived.
    done: mpsc::Sender<()>,
}

impl Actor for Counter {
    type Msg = u64;
    type Outcome = Next;
    const STARTS: bool = false;

    #[inline]
    fn receive(&mut self, message: u64, cx: &mut Context<'_, u64>) -> Next {
        black_box(message);
        self.left -= 1;
        if self.left == 0 {
            return sent(&self.done.send(()));
        }
        if self.left.is_multiple_of(BURST) {
            return sent(&cx.send(&self.teller, ToTeller::Credit));
        }
        Next::Continue
    }
}

fn tell_cross(ops: u64) -> Result<Measured> {
    let bursts = ops.div_ceil(BURST);
    let (near, far) = (worker("teller")?, worker("counter")?);
    let (done, waiting) = mpsc::channel();
    let teller = near.spawn(Teller {
        to: None,
        left: bursts,
    })?;
    let counter = Counter {
        teller: teller.clone(),
        left: bursts * BURST,
        done,
    };
    send_in(&teller, ToTeller::Peer(far.spawn(counter)?));
    let watch = Stopwatch::start(Clock::Process);
    for _ in 0..BURSTS_OPEN {
        send_in(&teller, ToTeller::Credit);
    }
    waiting.recv()?;
    Ok(Measured::new(bursts * BURST, watch.stop()))
}
