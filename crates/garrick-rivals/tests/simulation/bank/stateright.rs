//! The bank as a model of actors.

use std::borrow::Cow;

use stateright::Expectation;
use stateright::actor::{Actor, ActorModel, Id, Network, Out};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Message {
    Read,
    Balance(u32),
    Write(u32),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Books {
    balance: u32,
    writes: u32,
}

#[derive(Clone)]
pub(super) enum Party {
    Account,
    Teller { account: Id },
}

impl Actor for Party {
    type Msg = Message;
    type State = Books;
    type Timer = ();
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, out: &mut Out<Self>) -> Books {
        if let Party::Teller { account } = self {
            out.send(*account, Message::Read);
        }
        Books::default()
    }

    fn on_msg(
        &self,
        _: Id,
        books: &mut Cow<'_, Books>,
        from: Id,
        message: Message,
        out: &mut Out<Self>,
    ) {
        match message {
            Message::Read => out.send(from, Message::Balance(books.balance)),
            Message::Balance(balance) => out.send(from, Message::Write(balance + 1)),
            Message::Write(balance) => {
                let books = books.to_mut();
                books.balance = balance;
                books.writes += 1;
            }
        }
    }
}

pub(super) fn bank() -> ActorModel<Party> {
    let account = Id::from(0);
    ActorModel::new((), ())
        .init_network(Network::new_unordered_nonduplicating([]))
        .actor(Party::Account)
        .actors([Party::Teller { account }, Party::Teller { account }])
        .property(Expectation::Always, "both deposits count", |_, state| {
            let books = &state.actor_states[0];
            books.writes < 2 || books.balance == 2
        })
}
