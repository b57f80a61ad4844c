//! Tests which peers the greeting accepts and rejects.

use garrick_secure::{
    Error, Event, Greeting, HELLO_BYTES, Options, PROOF_BYTES, Part, PreSharedKey, Role, Suite,
    Transport,
};
use tokio::io::duplex;

use super::stand::{Stand, key};

fn client() -> Greeting {
    Greeting::new(key(), Suite::default(), Role::Client, 1_000).unwrap()
}

#[test]
fn a_server_says_nothing_before_it_is_spoken_to() {
    let stand = Stand::new();
    let (side, mut raw) = stand.server(Options::default());
    assert!(raw.hear().0.is_empty());
    assert!(side.told().is_empty());
}

#[test]
fn another_key_is_refused_by_both_sides() {
    let stand = Stand::new();
    let stranger = PreSharedKey::new([8; 32]);
    let greeting =
        || Greeting::new(stranger.clone(), Suite::default(), Role::Client, 1_000).unwrap();

    let (side, mut raw) = stand.server(Options::default());
    let refused = raw.greet(&stand, greeting());
    assert_eq!(refused.unwrap_err(), Error::WrongKey);
    raw.say(&[0; PROOF_BYTES]);
    stand.run();
    assert_eq!(side.closed(), Err(Error::WrongKey));
    assert!(!raw.hear().1, "the transport is closed");
}

#[test]
fn every_flipped_bit_of_a_hello_or_a_proof_is_found() {
    let stand = Stand::new();
    for bit in 0..(HELLO_BYTES + PROOF_BYTES) * 8 {
        let (side, mut raw) = stand.server(Options::default());
        let client = client();
        let mut hello = *client.hello();
        if bit < HELLO_BYTES * 8 {
            hello[bit / 8] ^= 1 << (bit % 8);
        }
        raw.say(&hello);
        stand.run();
        let (heard, _) = raw.hear();
        if let Some(theirs) = heard.first_chunk() {
            let mut proof = *client.heard(theirs).unwrap().proof();
            if let Some(bit) = bit.checked_sub(HELLO_BYTES * 8) {
                proof[bit / 8] ^= 1 << (bit % 8);
            }
            raw.say(&proof);
            stand.run();
        }
        let found = side.closed().unwrap_err();
        let expected = match bit / 8 {
            0..4 | 6 | 7 => matches!(found, Error::NotOurs { .. }),
            4 => matches!(found, Error::Suite { ours: 1, .. }),
            5 => found == Error::SameRole,
            _ => found == Error::WrongKey,
        };
        assert!(expected, "bit {bit}: {found}");
    }
}

#[test]
fn a_greeting_that_is_cut_says_where() {
    let stand = Stand::new();
    for have in 0..HELLO_BYTES + PROOF_BYTES {
        let (side, mut raw) = stand.server(Options::default());
        let client = client();
        raw.say(&client.hello()[..have.min(HELLO_BYTES)]);
        stand.run();
        let (heard, _) = raw.hear();
        if let Some(theirs) = heard.first_chunk() {
            let client = client.heard(theirs).unwrap();
            raw.say(&client.proof()[..have - HELLO_BYTES]);
        }
        raw.half_close();
        stand.run();
        let (part, have, want) = match have.checked_sub(HELLO_BYTES) {
            None => (Part::Hello, have, HELLO_BYTES),
            Some(have) => (Part::Proof, have, PROOF_BYTES),
        };
        assert_eq!(side.closed(), Err(Error::Truncated { part, have, want }));
    }
}

#[test]
fn what_was_said_is_not_taken_back() {
    let stand = Stand::new();
    let (near, far) = duplex(1_000);
    let (one, other) = (Transport::of(near), Transport::of(far));
    let one = stand.open(one, Role::Client, Options::default());
    let other = stand.open(other, Role::Client, Options::default());
    stand.run();
    let same = Err(Error::SameRole);
    assert_eq!((one.closed(), other.closed()), (same.clone(), same));
}

#[test]
fn a_connection_that_was_recorded_is_worth_nothing_later() {
    let stand = Stand::new();
    let (side, mut raw) = stand.server(Options::default());
    let client = client();
    let hello = *client.hello();
    raw.say(&hello);
    stand.run();
    let (heard, _) = raw.hear();
    let client = client.heard(heard.first_chunk().unwrap()).unwrap();
    let proof = *client.proof();
    raw.say(&proof);
    stand.run();
    assert!(matches!(side.told().as_slice(), [Event::Opened(_)]));

    let (side, mut raw) = stand.server(Options::default());
    raw.say(&hello);
    raw.say(&proof);
    stand.run();
    assert_eq!(side.closed(), Err(Error::WrongKey));
}
