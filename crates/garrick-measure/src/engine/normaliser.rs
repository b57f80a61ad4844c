//! The actor that computes the ratios of times to the times of a reference.

use garrick_actor::{Actor, Address, Context, Next};

use crate::next::sent;
use crate::row::{Relative, Row};
use crate::statistics::{self, Summary};

use super::table::Message;

/// An actor that divides the times of each round by the time of the reference contender in the same
/// round.
pub(super) struct Normaliser {
    /// Name of the contender with which the others are compared, if there is one.
    reference: Option<String>,
    /// Actor that collects the rows.
    table: Address<Message>,
}

/// A row, and the CPU times in nanoseconds from which it was computed, one for each round.
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

    fn normalise(&self, set: &[Normal]) -> Vec<Row> {
        let related = |normal: &Normal| {
            let mut row = normal.row.clone();
            row.to_reference = self.reference_of(&row, set).map(|reference| {
                let times = normal.times.iter().zip(&reference.times);
                Relative {
                    contender: reference.row.contender.clone(),
                    ratio: Summary::of(times.map(|(time, one)| statistics::ratio(*time, *one))),
                }
            });
            row
        };
        set.iter().map(related).collect()
    }

    /// Returns the contender of `set` with which `row` is compared. If several contenders have the
    /// requested name, returns the one that has the most parameters in common with `row`.
    fn reference_of<'a>(&self, row: &Row, set: &'a [Normal]) -> Option<&'a Normal> {
        let common = |normal: &&Normal| {
            let params = normal.row.params.iter();
            params
                .filter(|(name, value)| row.params.get(*name) == Some(value))
                .count()
        };
        let named = |normal: &&Normal| Some(&normal.row.contender) == self.reference.as_ref();
        // If several are equal, `max_by_key` takes the last.
        set.iter().rev().filter(named).max_by_key(common)
    }
}

impl Actor for Normaliser {
    type Msg = Vec<Normal>;
    type Outcome = Next;
    const STARTS: bool = false;

    fn receive(&mut self, set: Vec<Normal>, cx: &mut Context<'_, Vec<Normal>>) -> Next {
        sent(&cx.send(&self.table, Message::Rows(self.normalise(&set))))
    }
}
