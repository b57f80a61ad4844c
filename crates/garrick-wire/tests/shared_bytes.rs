//! `Bytes` of the crate `bytes` in messages.
#![cfg(feature = "bytes")]
#![forbid(unsafe_code)]

use bytes::Bytes;
use garrick_wire::{Wire, from_slice, to_vec};

#[derive(Wire, Debug, PartialEq)]
struct Shared {
    content: Bytes,
}

#[derive(Wire, Debug, PartialEq)]
struct Owned {
    content: Vec<u8>,
}

#[test]
fn bytes_travel_as_a_list_of_u8() {
    for len in [0, 1, 127, 128, 5_000] {
        let content: Vec<u8> = (0..len).map(|n| n as u8).collect();
        let shared = Shared {
            content: Bytes::from(content.clone()),
        };
        let bytes = to_vec(shared).unwrap();
        let owned: Owned = from_slice(&bytes).unwrap();
        assert_eq!(owned.content, content);
        assert_eq!(to_vec(owned).unwrap(), bytes);
        assert_eq!(from_slice::<Shared>(&bytes).unwrap().content, content);
    }
}
