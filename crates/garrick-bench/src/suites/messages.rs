//! TActors: the cost of a message, and the cost of an actor.

use garrick_measure::{Figure, Here, Published, Rows, Suite, Unit};

use super::{TACTORS, TACTORS_HERE};
use crate::scenarios::idle_memory::IDLE_MEMORY;
use crate::scenarios::ping_pong::PING_PONG;
use crate::scenarios::ring::RING;
use crate::scenarios::spawn::SPAWN;
use crate::scenarios::tell::{TELL, TELL_ONE};

pub(super) const MESSAGES: Suite = Suite {
    name: "messages",
    about: "TActors: SEND and dispatch, a round trip, a hop, an actor that is created and stops, \
            an idle actor",
    scenarios: &[TELL, TELL_ONE, PING_PONG, RING, SPAWN, IDLE_MEMORY],
    memory_bytes: |effort| effort.pick(2 << 30, 128 << 20),
    origin: TACTORS,
    here: TACTORS_HERE,
    published: &[
        Published {
            of: "SEND and dispatch of a message to oneself",
            said: Some(Figure::between(46.0, 54.0)),
            here: Here::Noted(Figure::between(22.0, 50.0)),
            ours: |rows| cpu(rows, "tell-one", &[]).map(|turn| turn / 2.0),
            ..Published::UNKNOWN
        },
        Published {
            of: "a message to another actor",
            here: Here::Noted(Figure::of(22.0)),
            ours: |rows| cpu(rows, "tell", &[("burst", "256")]),
            ..Published::UNKNOWN
        },
        Published {
            of: "a round trip of two actors",
            here: Here::Noted(Figure::of(26.0)),
            ours: |rows| cpu(rows, "ping-pong", &[]),
            ..Published::UNKNOWN
        },
        Published {
            of: "a hop in a ring of 100 actors",
            here: Here::Noted(Figure::between(13.0, 14.0)),
            ours: |rows| cpu(rows, "ring", &[("actors", "100")]),
            ..Published::UNKNOWN
        },
        Published {
            of: "an actor created, sent to, run and stopped",
            here: Here::Noted(Figure::between(29.0, 30.0)),
            ours: |rows| cpu(rows, "spawn", &[("spawned_per_turn", "64")]),
            ..Published::UNKNOWN
        },
        Published {
            of: "memory of an idle actor",
            unit: Unit::BYTES,
            said: Some(Figure::of(16.0)),
            here: Here::Noted(Figure::of(16.0)),
            ours: |rows| {
                let row = rows.find("idle-memory", "garrick", &[])?;
                row.bytes_per_actor
            },
        },
    ],
    note: "CPU time of one thread. A message to oneself is half of an operation of tell-one, which \
           also sends a message to another actor. An actor of TActors is a bare cell of 16 bytes \
           without a mailbox or an owner; it does not stop, but is collected when nothing refers \
           to it. Our actor has 8 bytes of state and a mailbox, can be supervised, can be sent to \
           from any thread, and is dropped when it stops",
    ..Suite::PLAIN
};

fn cpu(rows: Rows<'_>, scenario: &str, params: &[(&str, &str)]) -> Option<f64> {
    Some(rows.find(scenario, "garrick", params)?.cpu.median)
}
