//! Generation of the message type, an enum with a variant for each method.

use proc_macro2::{TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::{Ident, Path};

use super::{for_items, path_at};
use crate::attributes::{Place, carried, has_docs, is_conditional};
use crate::parse::{Block, Message};

/// Generates the enum of the messages, and its `Debug` implementation unless the options derive
/// `Debug`.
pub(super) fn definition(block: &Block) -> TokenStream {
    let Block {
        visibility,
        message,
        generics,
        derives,
        ..
    } = block;
    let attributes = for_items(block);
    let doc = format!("A message to a `{}` actor.", block.ident);
    let derive = (!derives.is_empty()).then(|| quote!(#[derive(#(#derives),*)]));
    let clause = &generics.where_clause;
    let variants = block.messages.iter().map(|m| variant(block, m));
    let unused = unused(block);
    let derived = derives.iter().any(is_debug);
    let debug = (!derived).then(|| debug_of(block));
    quote! {
        #(#attributes)*
        #[doc = #doc]
        #derive
        #visibility enum #message #generics #clause {
            #(#variants,)*
            #unused
        }
        #debug
    }
}

fn variant(block: &Block, message: &Message) -> TokenStream {
    let attributes = carried(&message.attributes, Place::Variant);
    let name = &message.variant;
    let doc = (!has_docs(&attributes)).then(|| {
        let text = format!("Calls `{}::{}`.", block.ident, message.method);
        quote!(#[doc = #text])
    });
    let mut fields: Vec<TokenStream> = Vec::new();
    for field in message.fields() {
        let ty = &field.ty;
        fields.push(quote!(#ty));
    }
    if let Some(answer) = &message.answer {
        let reply = path_at(block, "Reply", answer);
        fields.push(quote!(#reply<#answer>));
    }
    let fields = (!fields.is_empty()).then(|| quote!((#(#fields),*)));
    quote!(#(#attributes)* #doc #name #fields)
}

/// Generates an additional variant, which uses the type parameters that no message uses: Rust
/// requires that an enum use all of its parameters. The variant cannot be constructed. Returns
/// `None` if the messages use all type parameters.
fn unused(block: &Block) -> Option<TokenStream> {
    let unused = unused_parameters(block);
    (!unused.is_empty()).then(|| {
        quote! {
            #[doc(hidden)]
            __Unused(
                ::core::convert::Infallible,
                #(::core::marker::PhantomData<fn() -> #unused>),*
            ),
        }
    })
}

/// Returns the type parameters that no message uses. A message that a `cfg` may remove does not
/// count as a use.
fn unused_parameters(block: &Block) -> Vec<&Ident> {
    let messages = block.messages.iter();
    let certain = messages.filter(|message| !is_conditional(&message.attributes));
    let variants: TokenStream = certain.map(|m| variant(block, m)).collect();
    let parameters = block.generics.type_params().map(|p| &p.ident);
    parameters
        .filter(|parameter| !mentions(variants.clone(), parameter))
        .collect()
}

/// Generates the match arm for the variant that cannot be constructed, if the enum has such a
/// variant. `of` is the message type.
pub(super) fn arm_of_unused(block: &Block, of: &TokenStream) -> Option<TokenStream> {
    let is_used = unused_parameters(block).is_empty();
    (!is_used).then(|| quote!(#of::__Unused(ref never, ..) => match *never {},))
}

fn mentions(tokens: TokenStream, word: &Ident) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == *word,
        TokenTree::Group(group) => mentions(group.stream(), word),
        _ => false,
    })
}

fn is_debug(path: &Path) -> bool {
    path.segments
        .last()
        .is_some_and(|last| last.ident == "Debug")
}

/// Generates a `Debug` implementation for the message type. The implementation prints the name of
/// the variant without its fields.
fn debug_of(block: &Block) -> TokenStream {
    let Block {
        message, generics, ..
    } = block;
    let attributes = for_items(block);
    let (impl_generics, arguments, clause) = generics.split_for_impl();
    let arms = block.messages.iter().map(|message| {
        let attributes = carried(&message.attributes, Place::Bare);
        let name = &message.variant;
        let text = name.to_string();
        let finish = match fields(message) {
            0 => format_ident!("finish"),
            _ => format_ident!("finish_non_exhaustive"),
        };
        quote!(#(#attributes)* Self::#name { .. } => formatter.debug_tuple(#text).#finish(),)
    });
    let unused = arm_of_unused(block, &quote!(Self));
    quote! {
        #(#attributes)*
        #[automatically_derived]
        impl #impl_generics ::core::fmt::Debug for #message #arguments #clause {
            #[allow(unused_variables)]
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match *self { #(#arms)* #unused }
            }
        }
    }
}

fn fields(message: &Message) -> usize {
    message.fields().count() + usize::from(message.answer.is_some())
}
