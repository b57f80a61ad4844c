//! Generation of the handle, which wraps an actor's address and has a method for each message.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Ident, Type, parse_quote};

use super::{for_items, own, path_at};
use crate::attributes::{Place, carried, has_docs};
use crate::names;
use crate::parse::{Block, Field, Message, Rejected};
use crate::types;

/// Generates the struct of the handle, its methods, and its trait implementations.
pub(super) fn definition(block: &Block) -> TokenStream {
    let Block {
        krate,
        visibility,
        message,
        handle,
        generics,
        ..
    } = block;
    let attributes = for_items(block);
    let doc = format!(
        "A handle to a `{}` actor: its address, with a method for each message.",
        block.ident
    );
    let (impl_generics, arguments, clause) = generics.split_for_impl();
    let methods = block.messages.iter().map(|message| methods(block, message));
    let rejected = block.rejected.iter().map(|method| rejected(block, method));
    let traits = traits(block);
    quote! {
        #(#attributes)*
        #[doc = #doc]
        #[allow(dead_code)]
        #visibility struct #handle #generics #clause {
            address: #krate::Address<#message #arguments>,
        }
        #(#attributes)*
        #[allow(
            dead_code,
            clippy::result_large_err,
            clippy::too_many_arguments,
            clippy::used_underscore_binding
        )]
        impl #impl_generics #handle #arguments #clause {
            /// Creates a handle for the actor to which `address` leads.
            #[must_use]
            #visibility fn new(address: #krate::Address<#message #arguments>) -> Self {
                Self { address }
            }
            /// Returns the address of the actor.
            #[must_use]
            #visibility fn address(&self) -> &#krate::Address<#message #arguments> {
                &self.address
            }
            #(#methods)*
            #(#rejected)*
        }
        #traits
    }
}

fn methods(block: &Block, message: &Message) -> TokenStream {
    match &message.answer {
        None => send(block, message),
        Some(answer) => {
            let (ask, ask_to) = (ask(block, message, answer), ask_to(block, message, answer));
            quote!(#ask #ask_to)
        }
    }
}

fn send(block: &Block, message: &Message) -> TokenStream {
    let Block {
        krate, generics, ..
    } = block;
    let (_, arguments, _) = generics.split_for_impl();
    let (visibility, method) = (&message.visibility, &message.method);
    let attributes = attributes(block, message, Place::Send, "Sends a message that calls");
    let parameters = message.fields().map(parameter);
    let sent = sent(block, message, None);
    let name = &block.message;
    quote! {
        #attributes
        #visibility fn #method(
            &self,
            #(#parameters),*
        ) -> ::core::result::Result<(), #krate::SendError<#name #arguments>> {
            self.address.send(#sent)
        }
    }
}

fn ask(block: &Block, message: &Message, answer: &Type) -> TokenStream {
    let (visibility, method) = (&message.visibility, &message.method);
    let attributes = attributes(
        block,
        message,
        Place::Ask,
        "Asks a question that is answered by",
    );
    let parameters = message.fields().map(parameter);
    let reply = own("reply", Span::mixed_site());
    let sent = sent(block, message, Some(&reply));
    let returned = path_at(block, "Ask", answer);
    // The span makes rustc report errors of the answer's type at that type.
    let asked = quote_spanned!(span_of(answer)=> self.address.ask(|#reply| #sent));
    quote! {
        #attributes
        #visibility fn #method(&self, #(#parameters),*) -> #returned<#answer> {
            #asked
        }
    }
}

fn ask_to(block: &Block, message: &Message, answer: &Type) -> TokenStream {
    let krate = &block.krate;
    let (visibility, method) = (&message.visibility, names::asking_of(&message.method));
    let attributes = carried(&message.attributes, Place::AskTo);
    let other = message.method.unraw();
    let doc = format!(
        "Asks the same question as [`{other}`](Self::{other}), for the actor whose context is `cx`. The actor receives \
         the answer as a message, which `convert` creates. The values that `convert` captures must be `Copy`."
    );
    let parameters = message.fields().map(parameter);
    let own = |name| own(name, Span::mixed_site());
    let (reply, cx, convert) = (own("reply"), own("cx"), own("convert"));
    let sent = sent(block, message, Some(&reply));
    // The span makes rustc report errors of the answer's type at that type.
    let asked = quote_spanned! {span_of(answer)=>
        #cx.ask(&self.address, |#reply| #sent, #convert);
    };
    quote! {
        #(#attributes)*
        #[doc = #doc]
        #visibility fn #method<__Asker: ::core::marker::Send + 'static>(
            &self,
            #(#parameters,)*
            #cx: &#krate::Context<'_, __Asker>,
            #convert: impl ::core::ops::FnOnce(
                ::core::result::Result<#answer, #krate::NoReply>,
            ) -> __Asker + ::core::marker::Copy + ::core::marker::Send + 'static,
        ) {
            #asked
        }
    }
}

/// Generates methods of the handle for an actor's method that cannot handle a message. The program
/// does not compile in any case. But without the generated methods, rustc would report a further
/// error at each call of one of them. Generates nothing if the type of the answer has no name.
fn rejected(block: &Block, rejected: &Rejected) -> Option<TokenStream> {
    let Block { krate, message, .. } = block;
    let (_, arguments, _) = block.generics.split_for_impl();
    let (generics, rejected) = (&rejected.generics, &rejected.message);
    let attributes = carried(&rejected.attributes, Place::Bare);
    let (visibility, method) = (&rejected.visibility, &rejected.method);
    let types = rejected.fields().map(|field| &field.ty);
    let parameters = quote!(&self, #(_: #types,)*);
    let clause = &generics.where_clause;
    let Some(answer) = &rejected.answer else {
        return Some(quote! {
            #(#attributes)*
            #visibility fn #method #generics(
                #parameters
            ) -> ::core::result::Result<(), #krate::SendError<#message #arguments>> #clause {
                ::core::unreachable!()
            }
        });
    };
    let (answer, asking) = (types::owned(answer)?, names::asking_of(method));
    let mut with_asker = generics.clone();
    with_asker.params.push(parse_quote!(__Asker));
    Some(quote! {
        #(#attributes)*
        #visibility fn #method #generics(#parameters) -> #krate::Ask<#answer> #clause {
            ::core::unreachable!()
        }
        #(#attributes)*
        #visibility fn #asking #with_asker(
            #parameters
            _: &#krate::Context<'_, __Asker>,
            _: impl ::core::ops::FnOnce(::core::result::Result<#answer, #krate::NoReply>) -> __Asker,
        ) #clause {}
    })
}

/// Returns the attributes of one of the handle's methods. Adds a one-line documentation if the
/// actor's method has none.
fn attributes(block: &Block, message: &Message, place: Place, does: &str) -> TokenStream {
    let attributes = carried(&message.attributes, place);
    let doc = (!has_docs(&attributes)).then(|| {
        let text = format!("{does} `{}::{}`.", block.ident, message.method);
        quote!(#[doc = #text])
    });
    quote!(#(#attributes)* #doc)
}

fn parameter(field: &Field) -> TokenStream {
    let Field { name, ty } = field;
    quote!(#name: #ty)
}

/// Generates the expression that creates the message from the arguments of the handle's method.
fn sent(block: &Block, message: &Message, reply: Option<&Ident>) -> TokenStream {
    let (name, variant) = (&block.message, &message.variant);
    let fields = message.fields().map(|field| &field.name).chain(reply);
    let fields: Vec<&Ident> = fields.collect();
    let fields = (!fields.is_empty()).then(|| quote!((#(#fields),*)));
    quote!(#name::#variant #fields)
}

fn span_of(ty: &Type) -> Span {
    Span::call_site().located_at(ty.span())
}

/// Generates the implementations of `Clone`, comparison, hashing, `Debug` and conversions for the
/// handle. The implementations use only the address, so they need no bounds on the type parameters.
fn traits(block: &Block) -> TokenStream {
    let Block {
        krate,
        message,
        handle,
        generics,
        ..
    } = block;
    let attributes = for_items(block);
    let (impl_generics, arguments, clause) = generics.split_for_impl();
    let text = handle.to_string();
    let address = quote!(#krate::Address<#message #arguments>);
    let implement = |of: TokenStream, body: TokenStream| {
        quote! {
            #(#attributes)*
            #[automatically_derived]
            impl #impl_generics #of #clause { #body }
        }
    };
    let this = quote!(#handle #arguments);
    [
        implement(
            quote!(::core::clone::Clone for #this),
            quote!(fn clone(&self) -> Self {
                Self { address: ::core::clone::Clone::clone(&self.address) }
            }),
        ),
        implement(
            quote!(::core::cmp::PartialEq for #this),
            quote!(fn eq(&self, other: &Self) -> bool { self.address == other.address }),
        ),
        implement(quote!(::core::cmp::Eq for #this), TokenStream::new()),
        implement(
            quote!(::core::hash::Hash for #this),
            quote!(fn hash<__Hasher: ::core::hash::Hasher>(&self, state: &mut __Hasher) {
                ::core::hash::Hash::hash(&self.address, state);
            }),
        ),
        implement(
            quote!(::core::fmt::Debug for #this),
            quote!(fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                formatter.debug_tuple(#text).field(&self.address).finish()
            }),
        ),
        implement(
            quote!(::core::convert::From<#address> for #this),
            quote!(fn from(address: #address) -> Self { Self { address } }),
        ),
        implement(
            quote!(::core::convert::From<#this> for #address),
            quote!(fn from(handle: #this) -> Self { handle.address }),
        ),
    ]
    .into_iter()
    .collect()
}
