//! The third version of some messages. The file `wire.lock` describes them, and is an example of a
//! lock file.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use garrick_wire::{Decoder, Encoder, Limits, Reason, Shape, Wire, WireError, from_slice, to_vec};

/// A type that once had a field `note` with the number 2.
#[derive(Wire, Debug, PartialEq)]
#[wire(name = "bank.Money", version = 3)]
struct Money {
    #[wire(1)]
    cents: u64,
    #[wire(3, default = euro)]
    currency: String,
}

fn euro() -> String {
    "EUR".to_owned()
}

/// A type that once had a variant `Withdraw` with the number 2.
#[derive(Wire, Debug, PartialEq)]
#[wire(name = "bank.Command", version = 2)]
enum Command {
    #[wire(1)]
    Deposit {
        #[wire(1)]
        account: u64,
        #[wire(2)]
        money: Money,
    },
    #[wire(3)]
    Freeze {
        #[wire(1)]
        accounts: Vec<u64>,
        #[wire(2)]
        until: Option<u64>,
    },
}

#[derive(Wire, Debug, PartialEq)]
#[wire(name = "bank.Page")]
struct Page<T> {
    items: Vec<T>,
    rest: BTreeMap<String, Box<Page<T>>>,
}

/// A type that is used only as a context.
struct Link;

/// A type that needs the context.
#[derive(Debug, PartialEq)]
struct Door(u64);

impl Wire<Link> for Door {
    const NAME: &'static str = "door";
    const SHAPE: Shape = Shape::Varint;

    fn encode(self, out: &mut Encoder<'_, Link>) -> Result<(), WireError> {
        out.varint(self.0)
    }

    fn decode(input: &mut Decoder<'_, Link>) -> Result<Self, WireError> {
        input.varint().map(Self)
    }
}

#[derive(Wire, Debug, PartialEq)]
#[wire(name = "bank.Subscribe", context = Link)]
struct Subscribe {
    door: Door,
    limits: (u64, Option<Money>),
}

garrick_wire::lock! {
    context = Link;
    Command,
    Page<Money>,
    Subscribe;
    ended "bank.Close"
}

#[test]
fn a_message_with_a_context_comes_back() {
    let subscribe = |door| Subscribe {
        door: Door(door),
        limits: (door, None),
    };
    let mut bytes = Vec::new();
    let sent = Limits::new().encode_with(subscribe(7), &mut bytes, &mut Link);
    assert_eq!(sent, Ok(()));
    let read = Limits::new().decode_with(&bytes, &mut Link);
    assert_eq!(read, Ok(subscribe(7)));
}

/// The first version of the types.
mod first {
    use garrick_wire::Wire;

    #[derive(Wire)]
    pub(super) struct Money {
        pub(super) cents: u64,
        pub(super) note: Option<String>,
    }

    #[derive(Wire)]
    pub(super) enum Command {
        Deposit { account: u64, money: Money },
        Withdraw { account: u64, money: Money },
    }
}

#[test]
fn messages_of_the_first_version_are_understood() {
    let money = || first::Money {
        cents: 100,
        note: Some("rent".to_owned()),
    };
    let account = 7;
    let deposit = first::Command::Deposit {
        account,
        money: money(),
    };
    let expected = Command::Deposit {
        account,
        money: Money {
            cents: 100,
            currency: euro(),
        },
    };
    assert_eq!(from_slice(&to_vec(deposit).unwrap()), Ok(expected));
    let withdraw = first::Command::Withdraw {
        account,
        money: money(),
    };
    let error = from_slice::<Command>(&to_vec(withdraw).unwrap()).unwrap_err();
    assert_eq!(*error.reason(), Reason::UnknownVariant { number: 2 });
}
