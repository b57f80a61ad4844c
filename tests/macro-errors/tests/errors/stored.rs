//! Types that cannot be stored, and options of `#[stored(..)]` that do not exist.

use garrick::journal::Stored;

#[derive(Stored)]
enum Event {
    NoTag,
    #[stored(version = 1)]
    OnlyVersion,
    #[stored(tag = 1)]
    First(u8),
    #[stored(tag = 1)]
    Again { by: u8 },
    #[stored(tag = 65_280)]
    TooLarge,
    #[stored(tag = -1)]
    Negative,
    #[stored(tag = "3")]
    Text,
    #[stored(tag = TAG)]
    Constant,
    #[stored(tag = 4, tag = 5)]
    Twice,
    #[stored(number = 6)]
    Unknown,
    #[stored(tag = 7, crate = garrick)]
    Path,
}

#[derive(Stored)]
enum Versions {
    #[stored(tag = 1, version = 2, upcast(2 = convert))]
    Current,
    #[stored(tag = 2, upcast(3 = convert))]
    Newer,
    #[stored(tag = 3, version = 2, upcast(1 = convert, 1 = convert))]
    Twice,
    #[stored(tag = 4, version = 70_000)]
    TooLarge,
    #[stored(tag = 5, version = 2, upcast(1))]
    NoFunction,
}

fn convert(_: u8) -> Versions {
    Versions::Current
}

#[derive(Stored)]
#[stored(tag = 1)]
enum TagOfEnum {
    #[stored(tag = 1)]
    One,
}

#[derive(Stored)]
struct NoTag {
    cents: u64,
}

#[derive(Stored)]
#[stored(tag = 1)]
struct Borrowing<'a> {
    text: &'a str,
}

#[derive(Stored)]
#[stored(tag = 1)]
union Union {
    cents: u64,
}

#[derive(Stored, serde::Serialize)]
#[stored(tag = 1)]
struct Fields {
    #[stored(tag = 1)]
    tagged: u64,
    #[serde(skip)]
    skipped: u64,
    #[serde(rename = "other")]
    renamed: u64,
}

fn main() {}
