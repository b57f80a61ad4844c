//! The lines that a process prints, so that its calls are known after its end.

use std::io::{self, Write};

use garrick_actor::Context;
use garrick_sim::history::models::key_value;

use crate::branch::{self, Books};
use crate::client::{Heard, News, Sink};
use crate::object::Object;

/// A value that is printed as several words.
pub(crate) trait Words: Sized {
    fn print(&self) -> String;

    /// Returns the value for which the words stand, or `None` if they stand for no value.
    fn parse(words: &[&str]) -> Option<Self>;
}

/// A receiver of reports that prints them, each with one write. So the lines are in the order of
/// the reports.
pub(super) struct Printed;

/// A line of the process.
pub(super) enum Line<O: Object> {
    /// The process begins to open the log.
    Opens,
    /// A report of the client with this number.
    Told(u64, News<O>),
}

impl<O: Object<Op: Words, Ret: Words>> Line<O> {
    pub(super) fn print(&self) {
        let line = match self {
            // Ends the line of the test runner.
            Self::Opens => "\nopens\n".to_owned(),
            Self::Told(client, News::Called(op)) => format!("called {client} {}\n", op.print()),
            Self::Told(client, News::Returned(ret)) => {
                format!("returned {client} {}\n", ret.print())
            }
            Self::Told(client, News::Refused) => format!("refused {client}\n"),
        };
        io::stdout().write_all(line.as_bytes()).unwrap();
    }

    pub(super) fn parse(line: &str) -> Option<Self> {
        let words: Vec<_> = line.split(' ').collect();
        let (client, news) = match &*words {
            ["opens"] => return Some(Self::Opens),
            ["called", client, op @ ..] => (client, News::Called(O::Op::parse(op)?)),
            ["returned", client, ret @ ..] => (client, News::Returned(O::Ret::parse(ret)?)),
            ["refused", client] => (client, News::Refused),
            _ => return None,
        };
        Some(Self::Told(client.parse().ok()?, news))
    }
}

impl<O: Object<Op: Words, Ret: Words>> Sink<O> for Printed {
    fn tell(&self, client: u64, news: News<O>, _: &Context<'_, Heard<O>>) {
        Line::Told(client, news).print();
    }
}

impl Words for Option<u64> {
    fn print(&self) -> String {
        self.map_or_else(|| "none".to_owned(), |number| number.to_string())
    }

    fn parse(words: &[&str]) -> Option<Self> {
        match words {
            ["none"] => Some(None),
            [number] => number.parse().ok().map(Some),
            _ => None,
        }
    }
}

impl Words for key_value::Op<usize, u64> {
    fn print(&self) -> String {
        match self {
            Self::Get(key) => format!("get {key}"),
            Self::Put(key, new) => format!("put {key} {new}"),
            Self::Delete(key) => format!("delete {key}"),
            Self::CompareAndSwap { key, expected, new } => {
                format!("swap {key} {new} {}", expected.print())
            }
        }
    }

    fn parse(words: &[&str]) -> Option<Self> {
        let (what, numbers) = words.split_first()?;
        let (key, new) = numbers.split_first()?;
        let key = key.parse().ok()?;
        Some(match (*what, new) {
            ("get", []) => Self::Get(key),
            ("put", [new]) => Self::Put(key, new.parse().ok()?),
            ("delete", []) => Self::Delete(key),
            ("swap", [new, expected @ ..]) => Self::CompareAndSwap {
                key,
                expected: Words::parse(expected)?,
                new: new.parse().ok()?,
            },
            _ => return None,
        })
    }
}

impl Words for key_value::Ret<u64> {
    fn print(&self) -> String {
        match self {
            Self::Value(number) => format!("value {}", number.print()),
            Self::Done => "done".to_owned(),
            Self::Swapped(swapped) => format!("swapped {swapped}"),
        }
    }

    fn parse(words: &[&str]) -> Option<Self> {
        match words {
            ["value", number @ ..] => Words::parse(number).map(Self::Value),
            ["done"] => Some(Self::Done),
            ["swapped", swapped] => swapped.parse().ok().map(Self::Swapped),
            _ => None,
        }
    }
}

impl Words for branch::Op {
    fn print(&self) -> String {
        match self {
            Self::Transfer {
                branch,
                from,
                to,
                cents,
            } => format!("transfer {branch} {from} {to} {cents}"),
            Self::Look(branch) => format!("look {branch}"),
        }
    }

    fn parse(words: &[&str]) -> Option<Self> {
        match words {
            ["transfer", branch, from, to, cents] => Some(Self::Transfer {
                branch: branch.parse().ok()?,
                from: from.parse().ok()?,
                to: to.parse().ok()?,
                cents: cents.parse().ok()?,
            }),
            ["look", branch] => branch.parse().ok().map(Self::Look),
            _ => None,
        }
    }
}

impl Words for branch::Ret {
    fn print(&self) -> String {
        match self {
            Self::Number(number) => format!("number {number}"),
            Self::Books(books) => {
                let accounts = books.accounts.map(|cents| cents.to_string());
                format!("books {} {}", books.transfers, accounts.join(" "))
            }
        }
    }

    fn parse(words: &[&str]) -> Option<Self> {
        match words {
            ["number", number] => number.parse().ok().map(Self::Number),
            ["books", transfers, accounts @ ..] => {
                let accounts: Option<Vec<u64>> =
                    accounts.iter().map(|cents| cents.parse().ok()).collect();
                Some(Self::Books(Books {
                    accounts: accounts?.try_into().ok()?,
                    transfers: transfers.parse().ok()?,
                }))
            }
            _ => None,
        }
    }
}
