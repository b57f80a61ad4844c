//! The messages of `wire.lock`, in their third version: an example of what a lock file has.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use garrick_wire::{Reason, Wire, from_slice, to_vec};

/// Once had a field `note` with the number 2.
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

/// Once had a variant `Withdraw` with the number 2.
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

garrick_wire::lock! {
    Command,
    Page<Money>;
    ended "bank.Close"
}

/// The types as they were in the first version.
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
