//! Types that cannot travel, and options of `#[wire(..)]` that do not exist.

use garrick::wire::Wire;

#[derive(Wire)]
#[wire(version = 2)]
struct WithoutNumbers {
    account: u64,
    #[wire(2)]
    cents: u64,
}

#[derive(Wire)]
#[wire(version = 2)]
enum VariantsWithoutNumbers {
    First,
    #[wire(2)]
    Second(u8),
}

#[derive(Wire)]
struct SomeNumbers {
    account: u64,
    #[wire(7)]
    cents: u64,
}

#[derive(Wire)]
struct Twice {
    #[wire(1)]
    account: u64,
    #[wire(1)]
    cents: u64,
}

#[derive(Wire)]
enum VariantsTwice {
    #[wire(3)]
    First,
    #[wire(3)]
    Second,
}

#[derive(Wire)]
struct Numbers(
    #[wire(0)] u64,
    #[wire(536_870_912)] u64,
    #[wire(-1)] u64,
    #[wire("1")] u64,
    #[wire(1, 2)] u64,
);

#[derive(Wire)]
struct Machine {
    index: usize,
    offsets: Vec<Option<isize>>,
}

#[derive(Wire)]
union Union {
    cents: u64,
}

#[derive(Wire)]
struct Borrowing<'a> {
    text: &'a str,
}

#[derive(Wire)]
struct Constant<const N: usize> {
    bytes: [u8; N],
}

#[derive(Wire)]
#[wire(tag = 1)]
struct OtherOptions {
    #[wire(bytes)]
    bytes: Vec<u8>,
    #[wire(default, default)]
    twice: u8,
    #[wire(version = 2)]
    version: u8,
    #[wire]
    none: u8,
}

#[derive(Wire)]
enum OptionsOfVariants {
    #[wire(default)]
    First,
    #[wire(name = "second")]
    Second,
}

#[derive(Wire)]
#[wire(name = "a name", version = 0)]
struct Named;

#[derive(Wire)]
#[wire(name = "")]
struct Unnamed;

#[derive(Wire)]
#[wire(3)]
struct Numbered;

#[derive(Wire)]
struct Options {
    #[wire(1, default = one)]
    plain: Option<u8>,
    #[wire(2, default = one)]
    boxed: Box<std::option::Option<u8>>,
    #[wire(3, default)]
    is_none: Option<u8>,
    #[wire(4, default = one, serde)]
    by_serde: Option<u8>,
}

fn one<T: From<Option<u8>>>() -> T {
    Some(1).into()
}

fn main() {
    // Types with errors cause no further ones.
    let _ = garrick::wire::to_vec(Machine { index: 1, offsets: Vec::new() });
}
