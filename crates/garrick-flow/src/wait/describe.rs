//! A wait in words, for those who look for the reason of a standstill.

use std::fmt::Write;

use super::{Condition, Kind, Lines, Wait};
use crate::channel::Line;

impl Wait {
    /// What it waits for, in words. `name_of` knows the names of the stages.
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
            Self::Readable { channel, count } => {
                let line = &lines[channel as usize];
                let readable = line.readable();
                let words = format!("{count} to read in channel {channel} ({readable} there");
                finish(words, line, 0, name_of)
            }
            Self::Free { channel, count } => {
                let line = &lines[channel as usize];
                let free = line.capacity - line.readable();
                let words = format!("{count} free in channel {channel} ({free} there");
                finish(words, line, 1, name_of)
            }
            Self::After(delay) => format!("{delay:?} to pass"),
            Self::Until(deadline) => format!("time {deadline} ns"),
        }
    }
}

/// Adds who uses the channel's other end, on `side`, if anybody was seen doing so.
fn finish(mut words: String, line: &Line, side: usize, name_of: &dyn Fn(u32) -> String) -> String {
    if let Some(user) = line.users()[side] {
        let role = ["sender", "receiver"][side];
        // Writing into a `String` cannot fail.
        let _ = write!(words, ", the {role} is \"{}\"", name_of(user));
    }
    words.push(')');
    words
}
