//! Generation of the trait implementation for `#[derive(Stored)]`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Generics, Ident, Path, parse_quote};

use super::parse::{Kind, Stored};

/// Generates the implementation of `Stored` for the type.
pub(super) fn implementation(stored: &Stored) -> TokenStream {
    let Stored {
        krate,
        ident,
        kinds,
        ..
    } = stored;
    let generics = bounded(&stored.generics, krate);
    let (impl_generics, arguments, clause) = generics.split_for_impl();
    let encoded = kinds.iter().map(|kind| encoded(stored, kind));
    let decoded = kinds.iter().map(decoded);
    let known = kinds.iter().map(|kind| known(stored, kind));
    let missing = stored
        .is_partial
        .then(|| quote!(_ => ::core::unreachable!(),));
    let (bytes, kind, fields) = (own("bytes"), own("kind"), own("fields"));
    let of = ident.to_string();
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Stored for #ident #arguments #clause {
            #[allow(deprecated, unused_variables)]
            fn encode(&self, #bytes: &mut ::std::vec::Vec<u8>) -> #krate::EventKind {
                match *self { #(#encoded)* #missing }
            }

            #[allow(deprecated, unused_mut)]
            fn decode(
                #kind: #krate::EventKind,
                #bytes: &[u8],
            ) -> ::core::result::Result<Self, #krate::BoxError> {
                const KNOWN: &[#krate::derived::Known] = &[#(#known),*];
                let mut #fields = #krate::derived::Fields::new(#of, KNOWN, #kind, #bytes);
                match (#kind.tag, #kind.version) {
                    #(#decoded)*
                    _ => ::core::result::Result::Err(#fields.unknown()),
                }
            }
        }
    }
}

/// Returns the generic parameters of the type, with the trait bounds that are needed to encode
/// values of the type parameters.
fn bounded(generics: &Generics, krate: &Path) -> Generics {
    let mut generics = generics.clone();
    let parameters: Vec<Ident> = generics.type_params().map(|p| p.ident.clone()).collect();
    if !parameters.is_empty() {
        let clause = generics.make_where_clause();
        for parameter in parameters {
            clause
                .predicates
                .push(parse_quote!(#parameter: #krate::derived::Value));
        }
    }
    generics
}

/// Generates the match arm that encodes a value of one variant.
fn encoded(stored: &Stored, kind: &Kind) -> TokenStream {
    let krate = &stored.krate;
    let (constructor, name) = (constructor(kind), name(stored, kind));
    let (tag, version, bytes) = (kind.tag, kind.version, own("bytes"));
    let mut bound = Vec::new();
    let mut put = Vec::new();
    for (index, (member, ty)) in kind.fields.iter().enumerate() {
        // The span makes rustc report errors at the type.
        let span = Span::mixed_site().located_at(ty.span());
        let field = Ident::new(&format!("field_{index}"), span);
        let text = member.to_token_stream().to_string();
        put.push(quote!(#krate::derived::put(#name, #text, #field, #bytes);));
        bound.push(quote!(#member: ref #field));
    }
    quote! {
        #constructor { #(#bound),* } => {
            #(#put)*
            #krate::EventKind { tag: #tag, version: #version }
        }
    }
}

/// Generates the match arms that decode the current version and the older versions of one variant.
fn decoded(kind: &Kind) -> TokenStream {
    let constructor = constructor(kind);
    let (tag, version) = (kind.tag, kind.version);
    let (fields, value) = (own("fields"), own("value"));
    let members = kind.fields.iter().map(|(member, ty)| {
        let text = member.to_token_stream().to_string();
        quote!(#member: #fields.next::<#ty>(#text)?)
    });
    let older = kind.upcasts.iter().map(|older| {
        let (version, convert) = (older.version.value, &older.convert);
        let upcast = Ident::new("upcast", convert.span());
        quote!((#tag, #version) => #fields.#upcast::<Self, _, _>(#convert),)
    });
    quote! {
        (#tag, #version) => {
            let #value = #constructor { #(#members),* };
            #fields.end(#value)
        }
        #(#older)*
    }
}

/// Generates the description of a variant or struct: its name, its tag and its versions.
fn known(stored: &Stored, kind: &Kind) -> TokenStream {
    let (krate, name, tag) = (&stored.krate, name(stored, kind), kind.tag);
    let older = kind.upcasts.iter().map(|older| older.version.value);
    let versions = std::iter::once(kind.version).chain(older);
    quote!(#krate::derived::Known { name: #name, tag: #tag, versions: &[#(#versions),*] })
}

fn constructor(kind: &Kind) -> Path {
    match &kind.variant {
        Some(variant) => parse_quote!(Self::#variant),
        None => parse_quote!(Self),
    }
}

/// Returns the name of a variant or struct for error messages.
fn name(stored: &Stored, kind: &Kind) -> String {
    match &kind.variant {
        Some(variant) => format!("{}::{variant}", stored.ident),
        None => stored.ident.to_string(),
    }
}

/// Returns an identifier with mixed-site hygiene, which cannot collide with the user's identifiers.
fn own(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
