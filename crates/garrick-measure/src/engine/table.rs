//! The actor that collects the rows of a report.

use garrick_actor::{Actor, Context, Reply};

use crate::row::Row;

/// All rows received so far.
#[derive(Default)]
pub(super) struct Table(Vec<Row>);

/// Messages that a [`Table`] handles.
pub(super) enum Message {
    /// Adds rows to the table.
    Rows(Vec<Row>),
    /// Requests all rows.
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
