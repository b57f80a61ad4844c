//! The cipher and the HMAC alone: one thread seals frames, another thread opens frames, and no data
//! is transferred between them.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use garrick::secure::{Greeting, Kind, OVERHEAD_BYTES, PreSharedKey, Role, Session, Suite};
use garrick_measure::Result;

/// Number of sealed bytes after which the buffer is reused, as if its contents had been sent.
const SEALED_BYTES_MAX: usize = 64 << 10;

/// Measures a round, from the start of the two threads to the time when both are done.
pub(super) fn round(suite: Suite, payload: &Bytes, frames: usize) -> Result<Duration> {
    let (mut says, mut hears) = sessions(suite)?;
    let (mut other, _) = sessions(suite)?;
    let mut wire = BytesMut::with_capacity(frames * (payload.len() + OVERHEAD_BYTES));
    for _ in 0..frames {
        says.sealer.seal(Kind::Data, payload, &mut wire)?;
    }
    let begin = Barrier::new(2);
    let span = thread::scope(|scope| {
        let seals = scope.spawn(|| {
            let room = payload.len() + OVERHEAD_BYTES + SEALED_BYTES_MAX;
            let mut out = BytesMut::with_capacity(room);
            begin.wait();
            let began = Instant::now();
            for _ in 0..frames {
                if out.len() >= SEALED_BYTES_MAX {
                    out.clear();
                }
                let sealed = other.sealer.seal(Kind::Data, payload, &mut out);
                sealed.expect("the payload is not too long");
                black_box(&out);
            }
            (began, Instant::now())
        });
        let opens = scope.spawn(|| {
            begin.wait();
            let began = Instant::now();
            for _ in 0..frames {
                let opened = hears
                    .opener
                    .open(&mut wire)
                    .expect("the frame is authentic");
                assert!(opened.is_some_and(|(_, opened)| opened.len() == payload.len()));
            }
            (began, Instant::now())
        });
        let [seals, opens] = [seals, opens].map(|side| side.join().expect("neither side panics"));
        // Each thread reads the clock itself, because this thread may be woken long after they are
        // done.
        seals.1.max(opens.1) - seals.0.min(opens.0)
    });
    Ok(span)
}

/// Returns the sessions of both sides of a connection.
fn sessions(suite: Suite) -> Result<(Session, Session)> {
    let key = PreSharedKey::random()?;
    let client = Greeting::new(key.clone(), suite, Role::Client, 1 << 20)?;
    let server = Greeting::new(key, suite, Role::Server, 1 << 20)?;
    let (hello, answer) = (*client.hello(), *server.hello());
    let (client, server) = (client.heard(&answer)?, server.heard(&hello)?);
    let (proof, answer) = (*client.proof(), *server.proof());
    Ok((client.proven(&answer)?, server.proven(&proof)?))
}
