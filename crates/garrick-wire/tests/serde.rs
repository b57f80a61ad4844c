//! Fields that serde encodes.
#![cfg(feature = "serde")]
#![forbid(unsafe_code)]

use garrick_wire::{Limits, Reason, Wire, WireError, from_slice, to_vec};
use serde::{Deserialize, Serialize, Serializer};

#[derive(Serialize, Deserialize, Debug, Default, Clone, PartialEq)]
struct Settings {
    name: String,
    levels: Vec<u16>,
}

#[derive(Wire, Debug, PartialEq)]
#[wire(version = 2)]
struct Job {
    #[wire(1, serde)]
    settings: Settings,
    #[wire(2)]
    times: u32,
    #[wire(3, serde = "settings", default)]
    more: Option<Settings>,
}

fn job() -> Job {
    Job {
        settings: Settings {
            name: "nightly".to_owned(),
            levels: vec![1, 500],
        },
        times: 3,
        more: Some(Settings::default()),
    }
}

#[test]
fn the_value_is_that_of_postcard_behind_a_length() {
    let bytes = to_vec(job()).unwrap();
    let inner = postcard::to_allocvec(&job().settings).unwrap();
    assert_eq!(bytes[2..2 + inner.len()], inner);
    assert_eq!(from_slice::<Job>(&bytes), Ok(job()));
}

#[test]
fn a_missing_field_has_its_default() {
    #[derive(Wire)]
    struct Older {
        #[wire(1, serde)]
        settings: Settings,
        #[wire(2)]
        times: u32,
    }
    let Job {
        settings, times, ..
    } = job();
    let bytes = to_vec(Older { settings, times }).unwrap();
    let newer: Job = from_slice(&bytes).unwrap();
    assert_eq!(
        newer,
        Job {
            more: None,
            ..job()
        }
    );
}

#[test]
fn prefixes_and_rests_are_refused() {
    let bytes = to_vec(job()).unwrap();
    for len in 0..bytes.len() {
        // Without its last field, the message is one of an older version.
        let is_older = from_slice::<Job>(&bytes[..len]).is_ok_and(|job| job.more.is_none());
        assert!(is_older || from_slice::<Job>(&bytes[..len]).is_err());
    }
    #[derive(Wire)]
    struct Text(#[wire(serde)] String);
    let mut longer = to_vec(Text("a".to_owned())).unwrap();
    longer[1] += 2;
    longer.push(0);
    let error = from_slice::<Text>(&longer).map(drop).unwrap_err();
    assert!(matches!(error.reason(), Reason::Invalid { .. }), "{error}");
}

#[test]
fn limits_and_refusals_are_errors_of_the_message() {
    let mut out = Vec::new();
    let error = Limits::new().message_bytes(8).encode(job(), &mut out);
    let error = error.unwrap_err();
    assert_eq!(*error.reason(), Reason::MessageBytes { max: 8 });
    assert!(out.is_empty());

    #[derive(Deserialize)]
    struct Secret;
    impl Serialize for Secret {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("the password is 1234"))
        }
    }
    #[derive(Wire)]
    struct Holder(#[wire(serde)] Secret);
    let error: WireError = to_vec(Holder(Secret)).unwrap_err();
    assert!(!error.to_string().contains("1234"), "{error}");
}
