//! Generation of the implementation of `DurableActor` for a type that is both the actor and its
//! state.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::actor::{arm, kinds};
use super::{for_items, own};
use crate::attributes::{Place, carried};
use crate::options::Save;
use crate::parse::{Block, Conversion};

/// Generates `impl DurableActor for ...`. Generates nothing if no method applies events, because
/// the parser has already reported an error.
pub(super) fn implementation(block: &Block) -> Option<TokenStream> {
    let Block {
        krate,
        actor,
        message,
        generics,
        ..
    } = block;
    let (apply, event) = block.apply.as_ref().map(|a| (&a.method, &a.event))?;
    let attributes = for_items(block);
    let (impl_generics, arguments, clause) = generics.split_for_impl();
    let name = |name| own(name, Span::mixed_site());
    let (cx, state) = (name("cx"), name("state"));
    let arms = block
        .messages
        .iter()
        .map(|m| arm(block, m, &quote!(#state)));
    let saving = block.save.as_ref().map(|save| saving(block, save));
    let conversions = block.conversions.iter().map(|c| conversion(block, c));
    let kinds = kinds(block);
    let name = block
        .name
        .as_ref()
        .map(|name| quote!(fn name() -> &'static str { #name }));
    Some(quote! {
        #(#attributes)*
        #[automatically_derived]
        impl #impl_generics #krate::journal::DurableActor for #actor #clause {
            type Msg = #message #arguments;
            type State = #actor;
            type Event = #event;
            type Outcome = #krate::Next;

            #[inline]
            #[allow(deprecated, unused_variables, unreachable_code)]
            fn decide(
                &self,
                #state: &Self,
                message: Self::Msg,
                #cx: &mut #krate::journal::Decide<'_, '_, Self>,
            ) -> #krate::Next {
                match message { #(#arms)* }
            }

            #[allow(deprecated)]
            fn apply(#state: &mut Self, event: &Self::Event) {
                Self::#apply(#state, event);
            }

            #(#conversions)*
            #saving
            #kinds
            #name
        }
    })
}

/// Generates the function of `DurableActor` that converts duties of one kind into messages.
fn conversion(block: &Block, conversion: &Conversion) -> TokenStream {
    let krate = &block.krate;
    let attributes = carried(&conversion.attributes, Place::Bare);
    let name = Ident::new(conversion.duty.name(), Span::call_site());
    let ty = Ident::new(conversion.duty.type_name(), Span::call_site());
    let duty = own("duty", conversion.argument);
    let mut function = conversion.function.clone();
    // The spans make rustc report a wrong type at this type in the signature of the function.
    let returned = Span::call_site().located_at(conversion.returned);
    function.set_span(function.span().located_at(conversion.returned));
    let converted = quote_spanned!(returned=> Self::#function(#duty));
    quote! {
        #(#attributes)*
        #[allow(deprecated)]
        fn #name(#duty: #krate::journal::#ty) -> ::core::option::Option<Self::Msg> {
            #converted
        }
    }
}

/// Generates the functions that save and load the state of a durable actor.
fn saving(block: &Block, save: &Save) -> TokenStream {
    let krate = &block.krate;
    let every = save
        .every
        .as_ref()
        .map(|every| quote!(const SAVE_EVERY: u64 = #every;));
    let name = |name| own(name, Span::mixed_site());
    let (state, bytes, kind) = (name("state"), name("bytes"), name("kind"));
    // The span makes rustc report at the option that the state is not stored.
    let word = Span::mixed_site().located_at(save.word.span());
    let encode = quote_spanned!(word=> <Self as #krate::journal::Stored>::encode);
    let decode = quote_spanned!(word=> <Self as #krate::journal::Stored>::decode);
    quote! {
        #every

        fn save(
            #state: &Self,
            #bytes: &mut ::std::vec::Vec<u8>,
        ) -> ::core::option::Option<#krate::journal::EventKind> {
            ::core::option::Option::Some(#encode(#state, #bytes))
        }

        fn load(
            #kind: #krate::journal::EventKind,
            #bytes: &[u8],
        ) -> ::core::result::Result<Self, #krate::journal::BoxError> {
            #decode(#kind, #bytes)
        }
    }
}
