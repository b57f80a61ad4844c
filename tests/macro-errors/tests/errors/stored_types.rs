//! Fields that cannot be serialized, and functions that do not convert an older version.

use garrick::journal::Stored;

struct Plain;

#[derive(Stored)]
#[stored(tag = 1)]
struct State {
    plain: Plain,
}

#[derive(Stored)]
enum Event {
    #[stored(tag = 1, version = 2, upcast(1 = to_text))]
    Named(String),
}

fn to_text(old: u64) -> String {
    old.to_string()
}

fn main() {}
