//! The attribute `#[garrick::actor]`, which makes an actor of an `impl` block.
//!
//! Depend on `garrick`, which re-exports it; what it makes names the facade's types.
//!
//! ```text
//!   tokens --parse--> Block, Message ..., each with what `check` says against it --expand--> tokens
//! ```
//!
//! What is wrong anywhere in a block is reported at once, where it stands, and the rest of the block is
//! expanded all the same: otherwise every use of the actor would be reported as well.
#![forbid(unsafe_code)]

mod errors;

mod attributes;
mod names;
mod types;

mod options;

mod check;

mod parse;

mod expand;

use proc_macro::TokenStream;

#[cfg_attr(not(doctest), doc = include_str!("actor.md"))]
#[proc_macro_attribute]
pub fn actor(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::actor(options.into(), &item.into()).into()
}
