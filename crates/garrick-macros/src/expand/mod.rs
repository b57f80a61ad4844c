//! Generation of the code for the attributes `#[garrick::actor]` and `#[garrick::durable]`.
//!
//! Generated variables have mixed-site hygiene, so they never collide with the user's variables.
//! Generated type parameters have no hygiene, so their names begin with two underscores. The span
//! of a generated name points to the user's code from which the name was generated. So rustc
//! reports errors in the generated code at the position of the user's code.

mod handle;
mod message;

mod actor;

mod durable;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Ident, Item, ItemImpl};

use crate::attributes::{Place, carried};
use crate::dialect::Dialect;
use crate::errors::Errors;
use crate::options::Options;
use crate::parse::{self, Block};

/// Expands `#[actor(options)] item` or `#[durable(options)] item`. Returns the item, the generated
/// code, and all errors.
pub(crate) fn actor(options: TokenStream, item: &TokenStream, dialect: Dialect) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::parse(options, dialect).unwrap_or_else(|error| {
        errors.push(error);
        Options::new(dialect)
    });
    match syn::parse2(item.clone()) {
        Ok(Item::Impl(item)) => block(options, item, errors),
        Ok(_) => {
            let name = dialect.name();
            errors.at(
                item,
                format!("`#[{name}]` can only be used on an `impl` block"),
            );
            with_errors(item, errors)
        }
        Err(error) => {
            errors.push(error);
            errors.into_compile_errors()
        }
    }
}

fn block(options: Options, mut item: ItemImpl, mut errors: Errors) -> TokenStream {
    let dialect = options.dialect();
    let block = parse::block(options, &mut item, &mut errors);
    let made = block.map(|block| {
        let (message, handle) = (message::definition(&block), handle::definition(&block));
        let actor = match dialect {
            Dialect::Actor => actor::implementation(&block),
            Dialect::Durable => durable::implementation(&block).unwrap_or_default(),
        };
        quote!(#message #handle #actor)
    });
    with_errors(&quote!(#item #made), errors)
}

fn with_errors(code: &TokenStream, errors: Errors) -> TokenStream {
    let errors = errors.into_compile_errors();
    quote!(#code #errors)
}

/// Returns an identifier with mixed-site hygiene and the position of `culprit`.
fn own(name: &str, culprit: Span) -> Ident {
    Ident::new(name, Span::mixed_site().located_at(culprit))
}

/// Moves `tokens` to the position of `culprit`, without a change of their hygiene.
fn located(tokens: TokenStream, culprit: Span) -> TokenStream {
    let moved = tokens.into_iter().map(|mut token| {
        token.set_span(token.span().located_at(culprit));
        token
    });
    moved.collect()
}

/// Returns the path of the item `name` in the crate that contains the actor types. Errors about
/// this path are reported at the position of `culprit`.
fn path_at(block: &Block, name: &str, culprit: &impl ToTokens) -> TokenStream {
    let krate = &block.krate;
    let name = own(name, culprit.span());
    quote!(#krate::#name)
}

/// Returns the attributes of the `impl` block that apply to every generated item.
fn for_items(block: &Block) -> Vec<Attribute> {
    carried(&block.attributes, Place::Item)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a short description of each generated item, such as `struct CounterHandle`.
    fn items(options: TokenStream, item: &TokenStream) -> Vec<String> {
        let file: syn::File = syn::parse2(actor(options, item, Dialect::Actor)).unwrap();
        let names = file.items.iter().map(|item| match item {
            Item::Enum(item) => format!("enum {}", item.ident),
            Item::Struct(item) => format!("struct {}", item.ident),
            Item::Macro(item) => item.mac.path.to_token_stream().to_string().replace(' ', ""),
            Item::Impl(item) => match &item.trait_ {
                Some((_, of, _)) => format!("impl {}", of.segments.last().unwrap().ident),
                None => format!("impl {}", item.self_ty.to_token_stream()),
            },
            _ => "another".to_owned(),
        });
        names.collect()
    }

    const OF_HANDLE: [&str; 8] = [
        "impl CounterHandle",
        "impl Clone",
        "impl PartialEq",
        "impl Eq",
        "impl Hash",
        "impl Debug",
        "impl From",
        "impl From",
    ];

    #[test]
    fn a_block_becomes_a_message_a_handle_and_an_actor() {
        let block = quote!(impl Counter { fn add(&mut self) {} });
        let items = items(TokenStream::new(), &block);
        assert_eq!(
            items[..3],
            ["impl Counter", "enum CounterMsg", "impl Debug"]
        );
        assert_eq!(items[3], "struct CounterHandle");
        assert_eq!(items[4..12], OF_HANDLE);
        assert_eq!(items[12..], ["impl Actor"]);
    }

    #[test]
    fn what_is_wrong_does_not_stop_the_rest() {
        let block = quote!(impl Counter { fn add(self) {} async fn get(&self) {} });
        let items = items(quote!(color = 1), &block);
        assert!(items.contains(&"impl Actor".to_owned()));
        let wrong = items.iter().filter(|item| item.ends_with("compile_error"));
        assert_eq!(wrong.count(), 3);
    }

    #[test]
    fn a_durable_block_becomes_a_durable_actor() {
        let block = quote!(
            impl Counter {
                fn add(&self) {}
                #[durable(apply)]
                fn apply(&mut self, event: &Event) {}
                #[durable(due)]
                fn message_of(due: Due) -> Option<CounterMsg> {}
                #[durable(letter)]
                fn letter(letter: Letter) -> Option<CounterMsg> {}
            }
        );
        let code = actor(quote!(save), &block, Dialect::Durable).to_string();
        let code = code.replace(' ', "");
        for part in [
            "impl::garrick::journal::DurableActorforCounter",
            "typeEvent=Event;",
            "Self::apply(state,event)",
            "fnsave(",
            "fndue(duty:::garrick::journal::Due)->",
            "Self::message_of(duty)",
            "fnletter(duty:::garrick::journal::Letter)->",
            "Self::letter(duty)",
        ] {
            assert!(code.contains(part), "{part} is missing in {code}");
        }
        assert!(!code.contains("SAVE_EVERY"));
    }

    #[test]
    fn what_is_no_block_stays_what_it_is() {
        let items = items(
            TokenStream::new(),
            &quote!(
                struct Counter;
            ),
        );
        assert_eq!(items, ["struct Counter", "::core::compile_error"]);
    }
}
