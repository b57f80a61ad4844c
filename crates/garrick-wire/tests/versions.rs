//! Tests that older and newer versions of a message understand each other, and report what they do
//! not understand.
#![forbid(unsafe_code)]

use garrick_wire::{Reason, Shape, Wire, WireError, from_slice, to_vec};

mod older {
    use garrick_wire::Wire;

    #[derive(Wire, Debug, Clone, PartialEq)]
    #[wire(name = "bank.Account")]
    pub(crate) struct Account {
        pub(crate) number: u64,
        pub(crate) owner: String,
        pub(crate) limit: Option<i64>,
    }

    #[derive(Wire, Debug, Clone, PartialEq)]
    #[wire(name = "bank.Command")]
    pub(crate) enum Command {
        Open(Account),
        Deposit {
            cents: u64,
            currency: Option<String>,
        },
        Close,
    }
}

mod newer {
    use std::collections::BTreeMap;

    use garrick_wire::Wire;

    #[derive(Wire, Debug, Clone, PartialEq)]
    #[wire(name = "bank.Address", version = 2)]
    pub(crate) struct Place {
        #[wire(1)]
        pub(crate) lines: Vec<String>,
    }

    /// A newer version of a type: its fields have another order and other names, and there are
    /// three new fields.
    #[derive(Wire, Debug, Clone, PartialEq)]
    #[wire(name = "bank.Account", version = 2)]
    pub(crate) struct Customer {
        #[wire(3)]
        pub(crate) credit: Option<i64>,
        #[wire(2)]
        pub(crate) name: String,
        #[wire(1)]
        pub(crate) number: u64,
        #[wire(4, default = interest)]
        pub(crate) interest: f64,
        #[wire(1_000, default)]
        pub(crate) places: BTreeMap<u8, Place>,
        #[wire(31, default)]
        pub(crate) rate: f32,
    }

    fn interest() -> f64 {
        0.5
    }

    #[derive(Wire, Debug, Clone, PartialEq)]
    #[wire(name = "bank.Command", version = 2)]
    pub(crate) enum Command {
        #[wire(1)]
        New(#[wire(1)] Customer),
        /// The newer version of a variant, in which the optional field `currency` has become a
        /// field with a default.
        #[wire(2)]
        Deposit {
            #[wire(1)]
            cents: u64,
            #[wire(2, default = euro)]
            currency: String,
            #[wire(3, default)]
            is_cash: bool,
        },
        #[wire(3)]
        Close,
        #[wire(4)]
        Freeze {
            #[wire(1)]
            days: u32,
        },
    }

    fn euro() -> String {
        "EUR".to_owned()
    }
}

fn account() -> older::Account {
    older::Account {
        number: 7,
        owner: "Ann".to_owned(),
        limit: Some(-5),
    }
}

fn customer() -> newer::Customer {
    let place = newer::Place {
        lines: vec!["Street".to_owned()],
    };
    newer::Customer {
        credit: Some(-5),
        name: "Ann".to_owned(),
        number: 7,
        interest: 2.5,
        places: [(1, place)].into(),
        rate: 1.0,
    }
}

/// Encodes a value of one type, and decodes the bytes as another type.
fn read_as<T: Wire>(value: impl Wire) -> Result<T, WireError> {
    from_slice(&to_vec(value)?)
}

#[test]
fn a_newer_reader_fills_in_what_is_missing() {
    let read: newer::Customer = read_as(account()).unwrap();
    let expected = newer::Customer {
        interest: 0.5,
        places: [].into(),
        rate: 0.0,
        ..customer()
    };
    assert_eq!(read, expected);
    let deposit = older::Command::Deposit {
        cents: 1,
        currency: None,
    };
    let expected = newer::Command::Deposit {
        cents: 1,
        currency: "EUR".to_owned(),
        is_cash: false,
    };
    assert_eq!(read_as(deposit), Ok(expected));
    let open = older::Command::Open(account());
    assert_eq!(read_as(open), Ok(newer::Command::New(read)));
    assert_eq!(read_as(older::Command::Close), Ok(newer::Command::Close));
}

#[test]
fn an_older_reader_skips_what_it_does_not_know() {
    assert_eq!(read_as(customer()), Ok(account()));
    let new = newer::Command::New(customer());
    assert_eq!(read_as(new), Ok(older::Command::Open(account())));
    let deposit = newer::Command::Deposit {
        cents: 1,
        currency: "USD".to_owned(),
        is_cash: true,
    };
    let expected = older::Command::Deposit {
        cents: 1,
        currency: Some("USD".to_owned()),
    };
    assert_eq!(read_as(deposit), Ok(expected));
}

#[test]
fn an_older_reader_names_the_variant_that_it_does_not_know() {
    let freeze = newer::Command::Freeze { days: 3 };
    let error = read_as::<older::Command>(freeze).unwrap_err();
    assert_eq!(*error.reason(), Reason::UnknownVariant { number: 4 });
    let text =
        "`bank.Command`, at byte 1: the variant 4 is unknown; the writer may be of a newer version";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_missing_field_is_named_with_all_types_around_it() {
    #[derive(Wire)]
    #[wire(name = "bank.Command")]
    enum Cut {
        Open(CutAccount),
    }
    #[derive(Wire)]
    #[wire(name = "bank.Account")]
    struct CutAccount {
        number: u64,
    }
    let error = read_as::<older::Command>(Cut::Open(CutAccount { number: 1 })).unwrap_err();
    let text = "`bank.Command`, field `0`, `bank.Account`, field `owner`, at byte 5: the field 2 is missing, and has \
                no default";
    assert_eq!(error.to_string(), text);
    let path: Vec<_> = error.path().collect();
    assert_eq!(path, [("bank.Command", "0"), ("bank.Account", "owner")]);
    assert_eq!(error.position(), 5);
}

#[test]
fn another_shape_is_named() {
    #[derive(Wire)]
    struct Other {
        number: String,
    }
    let error = read_as::<older::Account>(Other {
        number: "seven".to_owned(),
    });
    let reason = Reason::Shape {
        number: 1,
        expected: Shape::Varint,
        found: Shape::Bytes,
    };
    assert_eq!(*error.unwrap_err().reason(), reason);
}

#[test]
fn numbers_of_fields_ascend() {
    let mut bytes = to_vec(account()).unwrap();
    let again = bytes[..2].to_vec();
    bytes.extend(again);
    let error = from_slice::<older::Account>(&bytes).unwrap_err();
    let reason = Reason::FieldOrder {
        number: 1,
        after: 3,
    };
    assert_eq!(*error.reason(), reason);

    #[derive(Wire, Debug)]
    struct One {
        _one: u64,
    }
    // A field that comes twice, and fields that the reader does not know.
    for (bytes, number, after) in [
        (&[0b1001, 3, 0b1001, 3][..], 1, 1),
        (&[0b1001, 3, 0b101_0001, 3, 0b100_1001, 3][..], 9, 10),
        (&[0b1001, 3, 0b101_0001, 3, 0b101_0001, 3][..], 10, 10),
    ] {
        let error = from_slice::<One>(bytes).unwrap_err();
        let reason = Reason::FieldOrder { number, after };
        assert_eq!(*error.reason(), reason, "{bytes:?}");
    }
    // A field after a larger one is missing.
    let error = from_slice::<One>(&[0b1_0001, 3, 0b1001, 3]).unwrap_err();
    assert_eq!(*error.reason(), Reason::MissingField { number: 1 });
}

#[test]
fn a_field_has_a_number_that_is_allowed() {
    for (bytes, number) in [
        (&[0b1][..], 0),
        (&[0b1111_0000, 255, 255, 255, 255][..], (1 << 33) - 1),
    ] {
        let error = from_slice::<older::Account>(bytes).unwrap_err();
        assert_eq!(*error.reason(), Reason::FieldNumber { number }, "{error}");
    }
}

/// A newer message, in which fields of all shapes are between the fields that an older reader
/// knows.
#[test]
fn all_shapes_are_skipped_at_all_places() {
    #[derive(Wire)]
    struct Wide {
        a: u64,
        b: f32,
        c: f64,
        d: Vec<String>,
        e: (),
        f: u64,
        g: Vec<u8>,
    }
    #[derive(Wire, Debug, PartialEq)]
    struct Narrow {
        #[wire(6)]
        f: u64,
    }
    let wide = || Wide {
        a: u64::MAX,
        b: 1.0,
        c: 1.0,
        d: vec![String::new(); 9],
        e: (),
        f: 7,
        g: vec![0; 10_000],
    };
    assert_eq!(read_as(wide()), Ok(Narrow { f: 7 }));
    #[derive(Wire, Debug, PartialEq)]
    struct Nothing;
    assert_eq!(read_as(wide()), Ok(Nothing));
    // A skipped field is checked, too.
    let bytes = to_vec(wide()).unwrap();
    for len in 0..bytes.len() {
        let cut = from_slice::<Nothing>(&bytes[..len]);
        let is_between = [0, 10, 15, 24, 36, 38, 40].contains(&len);
        assert_eq!(cut.is_ok(), is_between, "{len}: {cut:?}");
    }
}
