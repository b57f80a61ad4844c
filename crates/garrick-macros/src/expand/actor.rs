//! Generation of the implementation of `Actor`, which calls a method for each message.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;

use super::message::arm_of_unused;
use super::{for_items, located, own};
use crate::attributes::{Place, carried};
use crate::parse::{Argument, Block, Message, Started};
use crate::types::Returned;

/// Generates the implementation of `Actor` for the type of the `impl` block.
pub(super) fn implementation(block: &Block) -> TokenStream {
    let Block {
        krate,
        actor,
        message,
        generics,
        ..
    } = block;
    let attributes = for_items(block);
    let (impl_generics, arguments, clause) = generics.split_for_impl();
    let arms = block.messages.iter().map(|m| arm(block, m, &quote!(self)));
    let started = block.started.iter().map(|s| started(block, s));
    let kinds = kinds(block);
    let name = block
        .name
        .as_ref()
        .map(|name| quote!(fn name() -> &'static str { #name }));
    let starts = !block.started.is_empty();
    let cx = own("cx", Span::mixed_site());
    quote! {
        #(#attributes)*
        #[automatically_derived]
        impl #impl_generics #krate::Actor for #actor #clause {
            type Msg = #message #arguments;
            type Outcome = #krate::Next;
            const STARTS: bool = #starts;

            #(#started)*

            #[inline]
            #[allow(deprecated, unused_variables, unreachable_code)]
            fn receive(
                &mut self,
                message: Self::Msg,
                #cx: &mut #krate::Context<'_, Self::Msg>,
            ) -> #krate::Next {
                match message { #(#arms)* }
            }

            #kinds
            #name
        }
    }
}

/// Generates the match arm for a message. The arm calls the method for this message on the value
/// `this`.
pub(super) fn arm(block: &Block, message: &Message, this: &TokenStream) -> TokenStream {
    let attributes = carried(&message.attributes, Place::Bare);
    let (name, variant) = (&block.message, &message.variant);
    let mut bound = Vec::new();
    let mut passed = Vec::new();
    for (index, argument) in message.arguments.iter().enumerate() {
        passed.push(match argument {
            Argument::Context(span) => own("cx", *span),
            Argument::Reply(span) => own("reply", *span),
            Argument::Field(field) => {
                let field = own(&format!("field_{index}"), field.ty.span());
                bound.push(field.clone());
                field
            }
        });
    }
    bound.extend(message.answer.as_ref().map(|ty| own("reply", ty.span())));
    let pattern = (!bound.is_empty()).then(|| quote!((#(#bound),*)));
    let method = &message.method;
    let body = called(
        block,
        &quote!(Self::#method(#this, #(#passed),*)),
        &message.returned,
    );
    quote!(#(#attributes)* #name::#variant #pattern => { #body })
}

/// Generates the list of the variants' names, and the function that returns the index of a
/// message's name in this list.
///
/// A `cfg` may remove a variant, but its name stays in the list, because the macro cannot evaluate
/// conditions. No message has the index of such a name.
pub(super) fn kinds(block: &Block) -> TokenStream {
    let names = block.messages.iter().map(|m| m.variant.to_string());
    let arms = block.messages.iter().enumerate().map(|(index, message)| {
        let attributes = carried(&message.attributes, Place::Bare);
        let (name, variant) = (&block.message, &message.variant);
        quote!(#(#attributes)* #name::#variant { .. } => #index,)
    });
    let unused = arm_of_unused(block, &block.message.to_token_stream());
    quote! {
        const MESSAGES: &'static [&'static str] = &[#(#names),*];

        #[inline]
        fn message_kind(message: &Self::Msg) -> usize {
            match *message { #(#arms)* #unused }
        }
    }
}

/// Generates the method call `call`, and code that converts the result of the call into a `Next`.
fn called(block: &Block, call: &TokenStream, returned: &Returned) -> TokenStream {
    let krate = &block.krate;
    match returned {
        Returned::Nothing => quote!(#call; #krate::Next::Continue),
        Returned::Next => quote!(#call),
        Returned::Fallible(span) => {
            // The spans make rustc report errors of the error's type at that type.
            let result = own("result", *span);
            let into_next = located(quote!(#krate::Outcome::into_next), *span);
            quote!(let #result = #call; #into_next(#result))
        }
        Returned::Answer(ty) => {
            let reply = own("reply", ty.span());
            quote!(#reply.send(#call); #krate::Next::Continue)
        }
    }
}

fn started(block: &Block, started: &Started) -> TokenStream {
    let krate = &block.krate;
    let attributes = carried(&started.attributes, Place::Bare);
    let method = &started.method;
    let passed = started.context.map(|span| own("cx", span));
    let body = called(
        block,
        &quote!(Self::#method(self, #passed)),
        &started.returned,
    );
    let cx = own("cx", Span::mixed_site());
    quote! {
        #(#attributes)*
        #[allow(deprecated, unused_variables)]
        fn started(&mut self, #cx: &mut #krate::Context<'_, Self::Msg>) -> #krate::Next {
            #body
        }
    }
}
