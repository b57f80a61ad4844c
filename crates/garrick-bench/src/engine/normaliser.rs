//! The actor that puts times in relation to those of a reference.

use garrick::{Actor, Address, Context, Next};

use crate::next::sent;
use crate::row::{Relative, Row};
use crate::statistics::Summary;

use super::table::Message;

/// Divides, round by round, by what the reference took.
pub(super) struct Normaliser {
    /// The reference's name, if there is one.
    reference: Option<String>,
    /// Who collects the rows.
    table: Address<Message>,
}

/// A row, and the CPU times in nanoseconds that it was made of, round by round.
pub(super) struct Normal {
    pub(super) row: Row,
    pub(super) times: Vec<f64>,
}

impl Normaliser {
    pub(super) fn new(reference: Option<&str>, table: Address<Message>) -> Self {
        Self {
            reference: reference.map(str::to_owned),
            table,
        }
    }

    fn normalise(&self, set: Vec<Normal>) -> Vec<Row> {
        let named = |normal: &&Normal| Some(&normal.row.contender) == self.reference.as_ref();
        let reference = set.iter().find(named);
        let reference = reference.map(|normal| (normal.row.label(), normal.times.clone()));
        let related = |Normal { mut row, times }| {
            if let Some((label, ones)) = &reference {
                row.to_reference = Some(Relative {
                    contender: label.clone(),
                    ratio: Summary::of(times.iter().zip(ones).map(|(time, one)| time / one)),
                });
            }
            row
        };
        set.into_iter().map(related).collect()
    }
}

impl Actor for Normaliser {
    type Msg = Vec<Normal>;

    fn receive(&mut self, set: Vec<Normal>, cx: &mut Context<'_, Vec<Normal>>) -> Next {
        sent(&cx.send(&self.table, Message::Rows(self.normalise(set))))
    }
}
