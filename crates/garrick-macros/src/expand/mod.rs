//! Writing the code.
//!
//! Names that the code makes up have the hygiene of a macro's, so that they never meet the user's; their spans
//! point to what they come from, so that what rustc says about the code stands in the right place.

mod actor;
mod handle;
mod message;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Ident, Item, ItemImpl};

use crate::attributes::{Place, carried};
use crate::errors::Errors;
use crate::options::Options;
use crate::parse::{self, Block};

/// The expansion of `#[actor(options)] item`: the item, what is made of it, and what is wrong with it.
pub(crate) fn actor(options: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options: Options = errors.or_default(syn::parse2(options));
    match syn::parse2(item.clone()) {
        Ok(Item::Impl(item)) => block(options, item, errors),
        Ok(_) => {
            errors.at(item, "`#[actor]` goes on an `impl` block");
            with_errors(item, errors)
        }
        Err(error) => {
            errors.push(error);
            errors.into_compile_errors()
        }
    }
}

fn block(options: Options, mut item: ItemImpl, mut errors: Errors) -> TokenStream {
    let block = parse::block(options, &mut item, &mut errors);
    let made = block.map(|block| {
        let (message, handle) = (message::definition(&block), handle::definition(&block));
        let actor = actor::implementation(&block);
        quote!(#message #handle #actor)
    });
    with_errors(&quote!(#item #made), errors)
}

fn with_errors(code: &TokenStream, errors: Errors) -> TokenStream {
    let errors = errors.into_compile_errors();
    quote!(#code #errors)
}

/// A name of the macro's own that stands where `culprit` stands.
fn own(name: &str, culprit: Span) -> Ident {
    Ident::new(name, Span::mixed_site().located_at(culprit))
}

/// The path of `name` in the crate of the actors' types, standing where `culprit` does.
fn path_at(block: &Block, name: &str, culprit: &impl ToTokens) -> TokenStream {
    let krate = &block.krate;
    let name = own(name, culprit.span());
    quote!(#krate::#name)
}

/// The attributes of the block that hold for every item made of it.
fn for_items(block: &Block) -> Vec<Attribute> {
    let mut attributes = carried(&block.attributes, Place::Variant);
    attributes.retain(|attribute| !attribute.path().is_ident("doc"));
    attributes
}
