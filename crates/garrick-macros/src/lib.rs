//! The macros of Garrick. The attributes `#[garrick::actor]` and `#[garrick::durable]` turn an
//! `impl` block into an actor. The derive macro `Stored` encodes the events of durable actors, and
//! the derive macro `Wire` encodes messages between nodes.
//!
//! Programs that use these macros need to depend on the crate `garrick`, which re-exports the
//! macros. The generated code uses the types of `garrick`.
//!
//! ```text
//!   tokens --parse--> Block, Message ..., each with the errors that `check` finds --expand--> tokens
//! ```
//!
//! All errors of an `impl` block are reported together, each at its position. The macro still
//! expands the rest of a block that has errors. Otherwise rustc would also report an error for
//! every use of the actor.
#![forbid(unsafe_code)]

mod dialect;
mod errors;

mod attributes;
mod names;
mod types;

mod options;

mod check;

mod parse;

mod expand;

mod stored;

mod wire;

use proc_macro::TokenStream;
use syn::parse_quote;

use dialect::Dialect;

#[cfg_attr(not(doctest), doc = include_str!("actor.md"))]
#[proc_macro_attribute]
pub fn actor(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::actor(options.into(), &item.into(), Dialect::Actor).into()
}

#[cfg_attr(not(doctest), doc = include_str!("durable.md"))]
#[proc_macro_attribute]
pub fn durable(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::actor(options.into(), &item.into(), Dialect::Durable).into()
}

#[cfg_attr(not(doctest), doc = include_str!("stored.md"))]
#[proc_macro_derive(Stored, attributes(stored))]
pub fn stored(item: TokenStream) -> TokenStream {
    stored::stored(item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("wire.md"))]
#[proc_macro_derive(Wire, attributes(wire))]
pub fn wire(item: TokenStream) -> TokenStream {
    wire::wire(item.into(), parse_quote!(::garrick::wire)).into()
}

/// The derive macro `Wire` for programs that use the crate `garrick-wire` without the crate
/// `garrick`.
#[cfg_attr(not(doctest), doc = include_str!("wire.md"))]
#[proc_macro_derive(WireAlone, attributes(wire))]
pub fn wire_alone(item: TokenStream) -> TokenStream {
    wire::wire(item.into(), parse_quote!(::garrick_wire)).into()
}
