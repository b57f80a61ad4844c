//! Describes in words what a stage waits for, to show why a graph makes no progress.

use std::fmt::Write;

use super::{Condition, Kind, Lines, Wait};
use crate::channel::Side;

impl Wait {
    /// Describes the [`Wait`] in words. `name_of` returns the name of a stage.
    pub(crate) fn describe(&self, lines: &Lines, name_of: &dyn Fn(u32) -> String) -> String {
        let terms = match &self.0 {
            Kind::Again => return "nothing".to_owned(),
            Kind::Done => return "its end".to_owned(),
            Kind::For(terms) => terms,
        };
        let term = |conditions: &[Condition]| {
            let words: Vec<_> = conditions
                .iter()
                .map(|condition| condition.describe(lines, name_of))
                .collect();
            words.join(" and ")
        };
        let terms: Vec<_> = terms.terms().map(term).collect();
        terms.join(", or ")
    }
}

impl Condition {
    fn describe(&self, lines: &Lines, name_of: &dyn Fn(u32) -> String) -> String {
        match *self {
            Self::Ends {
                side,
                first,
                len,
                need,
                count,
                ..
            } => {
                let channels = first..first + len;
                let each = channels.map(|channel| end(side, channel, count, lines, name_of));
                let each = each.collect::<Vec<_>>().join("; ");
                if len == 1 {
                    each
                } else {
                    format!("{need} of these {len} conditions: {each}")
                }
            }
            Self::Rung { channel, .. } => {
                format!("one of its futures (registered at channel {channel})")
            }
            Self::After(delay) => format!("{delay:?} to pass"),
            Self::Until(deadline) => format!("its clock to reach {deadline} ns"),
        }
    }
}

/// Describes how many values or free slots the end on `side` of a channel waits for. Names the
/// stage at the other end, if this stage is known.
fn end(
    side: Side,
    channel: u32,
    count: u64,
    lines: &Lines,
    name_of: &dyn Fn(u32) -> String,
) -> String {
    let line = &lines[channel as usize];
    let readable = line.readable();
    let (wanted, there, role) = match side {
        Side::Receiver => ("messages", readable, "sender"),
        Side::Sender => ("free slots", line.capacity - readable, "receiver"),
    };
    let mut words = format!("{count} {wanted} in channel {channel} (it has {there}");
    if let Some(user) = line.users()[side.other() as usize] {
        // Writing into a `String` cannot fail.
        let _ = write!(words, ", its {role} is \"{}\"", name_of(user));
    }
    words.push(')');
    words
}
