//! Tests that the code that `#[derive(Wire)]` generates passes every lint that a user can deny, and
//! needs nothing from the prelude. The generated paths begin with `garrick`.
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused
)]
#![no_implicit_prelude]

/// A generic message with a version, which contains one page of a list.
#[derive(Debug, Clone, PartialEq, ::garrick::wire::Wire)]
#[wire(version = 2)]
pub struct Page<T> {
    /// The items of the page.
    #[wire(2)]
    items: ::std::vec::Vec<T>,
    /// A field that serde encodes.
    #[wire(1, serde, default)]
    name: ::std::string::String,
    /// A field with a default.
    #[deprecated]
    #[wire(3, default = one)]
    count: u64,
}

fn one() -> u64 {
    1
}

/// A message with several variants.
#[derive(Debug, Clone, PartialEq, ::garrick::wire::Wire)]
pub enum Command {
    /// A variant without fields.
    Stop,
    /// A variant whose fields have the same names as variables in the generated code.
    Go {
        /// A field with the name `number`.
        number: u64,
        /// A field with the name `input`.
        input: u8,
        /// A field with the name `fields`.
        fields: u8,
        /// A field with the name `out`.
        out: u8,
        /// A field whose name is a keyword.
        r#type: u8,
    },
    /// A deprecated variant that contains another message.
    #[deprecated]
    Page(Page<u8>),
}

/// A type without values.
#[derive(Debug, Clone, PartialEq, ::garrick::wire::Wire)]
pub enum Never {}

/// A type without fields.
#[derive(Debug, Clone, PartialEq, ::garrick::wire::Wire)]
pub struct Unit;

/// A context that the encoder and the decoder pass to the code of [`Tuple`].
#[derive(Debug)]
pub struct Link;

/// A type with a context, for which the path of the crate is given.
#[derive(Debug, Clone, PartialEq, ::garrick::wire::Wire)]
#[wire(crate = ::garrick::wire, context = Link, name = "lints.tuple")]
pub struct Tuple(u8, ::std::option::Option<::std::boxed::Box<Tuple>>);

#[test]
fn messages_come_back() {
    use ::garrick::wire::{Limits, from_slice, to_vec};
    use ::std::{assert_eq, result::Result::Ok, vec, vec::Vec};

    let go = Command::Go {
        number: 7,
        input: 1,
        fields: 2,
        out: 3,
        r#type: 4,
    };
    let bytes = to_vec(::std::clone::Clone::clone(&go)).unwrap();
    assert_eq!(from_slice(&bytes), Ok(go));
    assert_eq!(from_slice(&[]), Ok(Unit));

    let tuple = Tuple(
        1,
        ::std::option::Option::Some(::std::boxed::Box::new(Tuple(
            2,
            ::std::option::Option::None,
        ))),
    );
    let mut bytes = Vec::new();
    let clone = ::std::clone::Clone::clone(&tuple);
    Limits::new()
        .encode_with(clone, &mut bytes, &mut Link)
        .unwrap();
    assert_eq!(Limits::new().decode_with(&bytes, &mut Link), Ok(tuple));
    let items: Page<u8> = from_slice(&[0b1_0111, 0b101, 1, 2]).unwrap();
    assert_eq!(items.items, vec![1, 2]);
}
