//! Tests how frames are encrypted, checked and decrypted, without actors.

use bytes::BytesMut;
use garrick_secure::{
    Error, Greeting, Kind, LENGTH_BYTES, OVERHEAD_BYTES, Role, Session, Suite, TAG_BYTES,
};

use super::stand::{key, sealed, sealed_end};

const SUITES: [Suite; 2] = [Suite::Aes256CtrHmacSha256, Suite::Aes256CtrHmacSha3];

/// Returns the client's and the server's end of a session.
pub(crate) fn sessions(suite: Suite) -> (Session, Session) {
    let client = Greeting::new(key(), suite, Role::Client, 1_000_000).unwrap();
    let server = Greeting::new(key(), suite, Role::Server, 1_000_000).unwrap();
    let (hello, answer) = (*client.hello(), *server.hello());
    let (client, server) = (
        client.heard(&answer).unwrap(),
        server.heard(&hello).unwrap(),
    );
    let (proof, answer) = (*client.proof(), *server.proof());
    (
        client.proven(&answer).unwrap(),
        server.proven(&proof).unwrap(),
    )
}

#[test]
fn payloads_of_all_lengths_come_back() {
    for suite in SUITES {
        let (mut client, mut server) = sessions(suite);
        for bytes in (0..70).chain([8_191, 8_192, 8_193, 100_000]) {
            let payload: Vec<u8> = (0..bytes).map(|n| n as u8).collect();
            let mut wire = sealed(&mut client, &payload);
            assert_eq!(wire.len(), bytes + OVERHEAD_BYTES);
            let opened = server.opener.open(&mut wire).unwrap();
            assert_eq!(opened, Some((Kind::Data, BytesMut::from(&payload[..]))));
            assert!(wire.is_empty());
        }
        let opened = server.opener.open(&mut sealed_end(&mut client));
        assert_eq!(opened, Ok(Some((Kind::End, BytesMut::new()))));
    }
}

#[test]
fn a_frame_is_not_opened_before_its_last_byte() {
    let (mut client, mut server) = sessions(Suite::default());
    let frame = sealed(&mut client, b"all or nothing");
    let mut wire = BytesMut::new();
    for byte in &frame[..frame.len() - 1] {
        wire.extend_from_slice(&[*byte]);
        assert_eq!(server.opener.open(&mut wire), Ok(None));
    }
    wire.extend_from_slice(&frame[frame.len() - 1..]);
    assert!(server.opener.open(&mut wire).unwrap().is_some());
}

#[test]
fn every_flipped_bit_is_found_and_nothing_is_decrypted() {
    // SHA3 is slow in a test build. A step that is coprime to 8 still reaches bits of all
    // positions.
    for (suite, step) in SUITES.into_iter().zip([1, 7]) {
        let (mut client, _) = sessions(suite);
        let bits = sealed(&mut client, b"sixteen bytes ..").len() * 8;
        for bit in (0..bits).step_by(step) {
            let (mut client, mut server) = sessions(suite);
            let mut wire = sealed(&mut client, b"sixteen bytes ..");
            wire[bit / 8] ^= 1 << (bit % 8);
            // The padding makes up for a length that was increased.
            wire.resize(wire.len() + 600, 0);
            let opened = server.opener.open(&mut wire);
            match opened {
                Err(Error::Forged { sequence: 0 }) => {}
                Err(Error::Length { .. }) if bit < LENGTH_BYTES * 8 => {}
                Ok(None) if bit < LENGTH_BYTES * 8 => {}
                other => panic!("bit {bit}: {other:?}"),
            }
        }
    }
}

#[test]
fn lengths_out_of_bounds_are_refused_before_anything_else_is_there() {
    let refused = |length: u32| {
        let (_, mut server) = sessions(Suite::default());
        server
            .opener
            .open(&mut BytesMut::from(&length.to_be_bytes()[..]))
    };
    let max = 1_000_001;
    for found in [0, max + 1, u32::MAX] {
        assert_eq!(refused(found), Err(Error::Length { found, max }));
    }
    for allowed in [1, max] {
        assert_eq!(refused(allowed), Ok(None));
    }
}

#[test]
fn what_is_too_long_is_not_sealed() {
    let (mut client, mut server) = sessions(Suite::default());
    let mut wire = BytesMut::new();
    let sealed = client
        .sealer
        .seal(Kind::Data, &vec![0; 1_000_001], &mut wire);
    assert_eq!(
        sealed,
        Err(Error::Length {
            found: 1_000_001,
            max: 1_000_000
        })
    );
    assert!(wire.is_empty());
    client.sealer.seal(Kind::Data, b"next", &mut wire).unwrap();
    assert!(server.opener.open(&mut wire).unwrap().is_some());
}

#[test]
fn replays_and_gaps_are_told_from_forgeries() {
    let frames = |session: &mut Session| -> Vec<BytesMut> {
        (0..5).map(|n| sealed(session, &[n; 20])).collect()
    };
    let (mut client, mut server) = sessions(Suite::default());
    let sent = frames(&mut client);
    let mut open = |n: usize| server.opener.open(&mut sent[n].clone());
    assert!(open(0).unwrap().is_some());
    assert!(open(1).unwrap().is_some());
    let replayed = Err(Error::Replayed {
        expected: 2,
        found: 0,
    });
    assert_eq!(open(0), replayed);
    assert_eq!(open(2), replayed, "there is no going on");

    let (mut client, mut server) = sessions(Suite::default());
    let early = frames(&mut client).pop();
    let out_of_order = Err(Error::OutOfOrder {
        expected: 0,
        found: 4,
    });
    assert_eq!(server.opener.open(&mut early.unwrap()), out_of_order);
}

#[test]
fn what_one_side_says_means_nothing_from_the_other() {
    let (mut client, mut server) = sessions(Suite::default());
    let mut wire = sealed(&mut client, b"mine");
    assert_eq!(
        client.opener.open(&mut wire),
        Err(Error::Forged { sequence: 0 })
    );
    let mut wire = sealed(&mut server, b"yours");
    assert_eq!(
        server.opener.open(&mut wire),
        Err(Error::Forged { sequence: 0 })
    );
}

#[test]
fn the_same_payload_never_looks_the_same() {
    let (mut client, mut server) = sessions(Suite::default());
    let mut seen: Vec<BytesMut> = Vec::new();
    for _ in 0..8 {
        for session in [&mut client, &mut server] {
            let frame = sealed(session, &[0; 64]);
            let body = &frame[LENGTH_BYTES..frame.len() - TAG_BYTES];
            for chunk in body.chunks_exact(16) {
                assert!(
                    !seen.iter().any(|known| known == chunk),
                    "a keystream was used twice"
                );
                seen.push(chunk.into());
            }
        }
    }
}
