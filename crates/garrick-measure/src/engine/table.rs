//! The actor that collects rows.

use garrick_actor::{Actor, Context, Reply};

use crate::row::Row;

/// All rows that have come so far.
#[derive(Default)]
pub(super) struct Table(Vec<Row>);

/// What a [`Table`] receives.
pub(super) enum Message {
    /// Some more.
    Rows(Vec<Row>),
    /// Somebody wants them all.
    Take(Reply<Vec<Row>>),
}

impl Actor for Table {
    type Msg = Message;
    type Outcome = ();
    const STARTS: bool = false;

    fn receive(&mut self, message: Message, _: &mut Context<'_, Message>) {
        match message {
            Message::Rows(rows) => self.0.extend(rows),
            Message::Take(reply) => reply.send(self.0.clone()),
        }
    }
}
