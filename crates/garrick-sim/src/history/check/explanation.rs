//! The reason why a history is not linearizable, in a form that people can read.

use std::fmt;

use super::part::Part;
use super::search::DeadEnd;
use super::timeline::{self, Row};
use crate::history::model::Model;
use crate::history::record::Call;

/// Maximum number of operations in the drawing.
const ROWS_MAX: usize = 16;

/// The drawing always shows this number of operations from the end of the prefix, which is the
/// order that the search has found. These operations explain the state after the prefix.
const LAST_PLACED: usize = 3;

/// Maximum number of characters of a value in the text.
const VALUE_CHARS_MAX: usize = 200;

/// An explanation of why a history is not linearizable.
///
/// The search orders the operations one after another. The explanation describes the order with
/// which the search has got furthest in the history. This order is called the prefix. One
/// [`operation`](Self::operation) cannot be added to the prefix. The prefix contains all operations
/// that returned before this operation returned. [`Display`](fmt::Display) prints the whole
/// explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    prefix: Vec<Call>,
    operation: Call,
    client: u64,
    label: String,
    state: String,
    answer: Option<String>,
    part: Option<String>,
    timeline: String,
}

impl Explanation {
    /// Returns the explanation for a part of a history. `dead_end` is the state of the search in
    /// which no further operation could be added to the order.
    pub(super) fn new<M: Model>(
        model: &M,
        part: &Part<'_, M>,
        dead_end: &DeadEnd<M::State>,
    ) -> Self {
        let blocked = part.operation(dead_end.blocked);
        let answer = model.answer(&dead_end.state, &blocked.op);
        // An answer that the operation has got explains nothing. Then it may not come next, because
        // another operation has to come before it.
        let answer = answer.filter(|answer| blocked.ret() != Some(answer));
        Self {
            prefix: dead_end.prefix.iter().map(|n| part.call(*n)).collect(),
            operation: part.call(dead_end.blocked),
            client: blocked.client,
            label: label(part, dead_end.blocked),
            state: format!("{:?}", dead_end.state),
            answer: answer.map(|answer| format!("{answer:?}")),
            part: part.key().map(|key| format!("{key:?}")),
            timeline: timeline::draw(&rows(part, dead_end)),
        }
    }

    /// Returns the prefix: the order of operations with which the search has got furthest in the
    /// history. If the history was split into parts, the prefix contains operations of one part
    /// only.
    #[must_use]
    pub fn prefix(&self) -> &[Call] {
        &self.prefix
    }

    /// Returns the operation that cannot be added to the [`prefix`](Self::prefix).
    #[must_use]
    pub fn operation(&self) -> Call {
        self.operation
    }

    /// Returns the state of the object after the operations of the [`prefix`](Self::prefix).
    #[must_use]
    pub fn state(&self) -> &str {
        &self.state
    }

    /// Returns the result that, according to the model, the operation should have returned after
    /// the prefix. Returns `None` if the model knows no such result, or if the recorded result is
    /// the same.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }

    /// Returns the key of the part of the history that is not linearizable, or `None` if the
    /// history was checked as a whole.
    #[must_use]
    pub fn part(&self) -> Option<&str> {
        self.part.as_deref()
    }

    /// Returns a drawing of the operations that overlap [`operation`](Self::operation), and of the
    /// last operations of the prefix.
    #[must_use]
    pub fn timeline(&self) -> &str {
        &self.timeline
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The history is not linearizable")?;
        if let Some(part) = &self.part {
            write!(f, " in the part {}", clip(part))?;
        }
        let client = self.client;
        writeln!(f, ". No order allows this operation of client {client}:")?;
        writeln!(f, "    {}", self.label)?;
        let count = match self.prefix.len() {
            1 => "1 operation".to_owned(),
            count => format!("{count} operations"),
        };
        writeln!(
            f,
            "After the longest prefix in order ({count}), the state is"
        )?;
        writeln!(f, "    {}", clip(&self.state))?;
        if let Some(answer) = &self.answer {
            writeln!(f, "There, the operation would have to return")?;
            writeln!(f, "    {}", clip(answer))?;
        }
        writeln!(f, "Time goes from left to right:")?;
        write!(f, "{}", self.timeline)
    }
}

/// Returns the rows of the drawing. If there are too many rows, leaves out operations that the
/// search has not put into its order, and operations at the beginning of this order.
fn rows<M: Model>(part: &Part<'_, M>, dead_end: &DeadEnd<M::State>) -> Vec<Row> {
    let mut places = vec![None; part.len()];
    for (index, number) in dead_end.prefix.iter().enumerate() {
        places[*number] = Some(index + 1);
    }
    let blocked = dead_end.blocked;
    let others = (0..part.len()).filter(|n| places[*n].is_none() && *n != blocked);
    let unplaced = others.filter(|n| overlap(part, *n, blocked));
    let last = dead_end.prefix.iter().rev().enumerate();
    let placed = last.filter(|(age, n)| *age < LAST_PLACED || overlap(part, **n, blocked));
    let shown = unplaced.take(ROWS_MAX / 2).chain(placed.map(|(_, n)| *n));
    let mut shown: Vec<_> = [blocked].into_iter().chain(shown).take(ROWS_MAX).collect();
    shown.sort_by_key(|number| part.operation(*number).invoked);
    let note = |number: usize| match places[number] {
        Some(place) => format!("  (place {place})"),
        None if number == blocked => "  (cannot be placed)".to_owned(),
        None => String::new(),
    };
    let rows = shown.into_iter().map(|n| row(part, n, note(n)));
    rows.collect()
}

fn row<M: Model>(part: &Part<'_, M>, number: usize, note: String) -> Row {
    let operation = part.operation(number);
    Row {
        client: operation.client,
        invoked: operation.invoked,
        ended: operation.ended(),
        label: label(part, number),
        note,
    }
}

fn overlap<M: Model>(part: &Part<'_, M>, one: usize, other: usize) -> bool {
    let (one, other) = (part.operation(one), part.operation(other));
    let begins_before = |time: usize, end: Option<usize>| end.is_none_or(|end| time < end);
    begins_before(one.invoked, other.ended()) && begins_before(other.invoked, one.ended())
}

/// Returns the text for an operation and its result.
fn label<M: Model>(part: &Part<'_, M>, number: usize) -> String {
    let operation = part.operation(number);
    let op = clip(&format!("{:?}", operation.op));
    match operation.ret() {
        Some(ret) => format!("{op} -> {}", clip(&format!("{ret:?}"))),
        None => format!("{op} (pending)"),
    }
}

/// Returns the text of a value, and cuts it off if it is long.
fn clip(value: &str) -> String {
    match value.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{}..", &value[..end]),
        None => value.to_owned(),
    }
}
