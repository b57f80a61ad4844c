//! Generation of the trait implementation for `#[derive(Wire)]`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Generics, Ident, Path, Type, parse_quote};

use super::attribute::Missing;
use super::parse::{Body, FieldOf, Message, OPTION_WITH_DEFAULT, VariantOf, text};

/// Generates `impl Wire for ...`. If the type has errors, the generated functions only panic.
/// Without these functions, rustc would report another error for each use of the type.
pub(super) fn implementation(message: &Message, is_right: bool) -> TokenStream {
    let Message {
        krate,
        ident,
        version,
        ..
    } = message;
    let context = context(message);
    let generics = bounded(message, &context);
    let (impl_generics, _, clause) = generics.split_for_impl();
    let (_, arguments, _) = message.generics.split_for_impl();
    let name = name(message, &context);
    let functions = if is_right {
        let functions = [
            encode(message, &context),
            decode(message, &context),
            describe(message, &context),
        ];
        quote!(#(#functions)*)
    } else {
        empty(krate, &context)
    };
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Wire<#context> for #ident #arguments #clause {
            const NAME: &'static str = #name;
            const VERSION: u16 = #version;
            const SHAPE: #krate::Shape = #krate::Shape::Bytes;

            #functions
        }
    }
}

/// Returns the type of the context: the type that the attribute names, or else the type parameter
/// `__Context`.
fn context(message: &Message) -> TokenStream {
    match &message.context {
        Some(context) => context.to_token_stream(),
        None => quote!(__Context),
    }
}

/// Returns the generic parameters of the type, with the bound `Wire` on each type parameter. Adds a
/// type parameter for the context, unless the attribute names the type of the context.
fn bounded(message: &Message, context: &TokenStream) -> Generics {
    let krate = &message.krate;
    let mut generics = message.generics.clone();
    let parameters: Vec<Ident> = generics.type_params().map(|p| p.ident.clone()).collect();
    if message.context.is_none() {
        generics
            .params
            .push(parse_quote!(__Context: ?::core::marker::Sized));
    }
    if !parameters.is_empty() {
        let clause = generics.make_where_clause();
        for parameter in parameters {
            let bound = parse_quote!(#parameter: #krate::Wire<#context>);
            clause.predicates.push(bound);
        }
    }
    generics
}

/// Generates the name of the message type, followed by the names of its type arguments. If the
/// attribute contains no name, the name consists of the package name and the type name.
fn name(message: &Message, context: &TokenStream) -> TokenStream {
    let krate = &message.krate;
    let own = match &message.name {
        Some(name) => quote!(#name),
        None => {
            let name = message.ident.unraw().to_string();
            quote!(::core::concat!(::core::env!("CARGO_PKG_NAME"), ".", #name))
        }
    };
    let mut parts = Vec::new();
    for parameter in message.generics.type_params() {
        let parameter = &parameter.ident;
        let separator = if parts.is_empty() { "<" } else { "," };
        parts.push(quote!(#separator));
        parts.push(quote!(<#parameter as #krate::Wire<#context>>::NAME));
    }
    if parts.is_empty() {
        return own;
    }
    quote!(const { &#krate::derived::join(&[#own, #(#parts,)* ">"]) }.as_str())
}

fn empty(krate: &Path, context: &TokenStream) -> TokenStream {
    quote! {
        fn encode(
            self,
            _: &mut #krate::Encoder<'_, #context>,
        ) -> ::core::result::Result<(), #krate::WireError> {
            ::core::unreachable!()
        }

        fn decode(
            _: &mut #krate::Decoder<'_, #context>,
        ) -> ::core::result::Result<Self, #krate::WireError> {
            ::core::unreachable!()
        }
    }
}

fn encode(message: &Message, context: &TokenStream) -> TokenStream {
    let krate = &message.krate;
    let out = own("out");
    let body = match &message.body {
        Body::Struct(fields) => {
            let (bound, put) = encoded(krate, fields);
            quote! {
                let Self { #bound } = self;
                #out.message(|#out| { #put ::core::result::Result::Ok(()) })
            }
        }
        Body::Enum(variants) => {
            let arms = variants.iter().map(|variant| {
                let VariantOf { ident, number, .. } = variant;
                let (bound, put) = encoded(krate, &variant.fields);
                quote! {
                    Self::#ident { #bound } => #out.variant(#number, |#out| {
                        #put
                        ::core::result::Result::Ok(())
                    }),
                }
            });
            quote!(match self { #(#arms)* })
        }
    };
    quote! {
        #[inline]
        #[allow(deprecated, unused_variables)]
        fn encode(
            self,
            #out: &mut #krate::Encoder<'_, #context>,
        ) -> ::core::result::Result<(), #krate::WireError> {
            #body
        }
    }
}

/// Generates the pattern that binds the fields of a value, and the code that encodes these fields.
fn encoded(krate: &Path, fields: &[FieldOf]) -> (TokenStream, TokenStream) {
    let out = own("out");
    let mut bound = Vec::new();
    let mut put = Vec::new();
    for field in fields {
        let FieldOf { member, number, .. } = field;
        // The span makes rustc report errors at the type.
        let span = Span::mixed_site().located_at(field.ty.span());
        let place = Ident::new(&format!("field_{}", field.index), span);
        bound.push(quote!(#member: #place));
        put.push(match &field.serde {
            Some(_) => quote!(#out.field(#number, #krate::derived::Serde(#place))?;),
            None => quote!(#out.field(#number, #place)?;),
        });
    }
    (quote!(#(#bound),*), quote!(#(#put)*))
}

fn decode(message: &Message, context: &TokenStream) -> TokenStream {
    let krate = &message.krate;
    let (input, fields, number) = (own("input"), own("fields"), own("number"));
    let name = quote!(<Self as #krate::Wire<#context>>::NAME);
    let body = match &message.body {
        Body::Struct(members) => {
            let members = members.iter().map(|field| decoded(krate, context, field));
            quote! {
                #input.message(#name, |#fields| {
                    ::core::result::Result::Ok(Self { #(#members),* })
                })
            }
        }
        Body::Enum(variants) => {
            let arms = variants.iter().map(|variant| {
                let ident = &variant.ident;
                let of = u64::from(variant.number);
                let members = variant
                    .fields
                    .iter()
                    .map(|field| decoded(krate, context, field));
                quote!(#of => ::core::result::Result::Ok(Self::#ident { #(#members),* }),)
            });
            quote! {
                #input.variant(#name, |#number, #fields| match #number {
                    #(#arms)*
                    _ => ::core::result::Result::Err(#fields.unknown_variant(#number)),
                })
            }
        }
    };
    quote! {
        #[inline]
        #[allow(deprecated, unused_variables)]
        fn decode(
            #input: &mut #krate::Decoder<'_, #context>,
        ) -> ::core::result::Result<Self, #krate::WireError> {
            #body
        }
    }
}

/// Generates the code that decodes a field.
fn decoded(krate: &Path, context: &TokenStream, field: &FieldOf) -> TokenStream {
    let FieldOf {
        member, ty, number, ..
    } = field;
    let fields = own("fields");
    let name = text(member);
    let is_serde = field.serde.is_some();
    let ty = if is_serde {
        quote!(#krate::derived::Serde<#ty>)
    } else {
        quote!(#ty)
    };
    let missing = field.missing.as_ref().map(|missing| {
        let value = match missing {
            Missing::OfType => quote!(::core::default::Default::default()),
            Missing::Function(path) => quote!(#path()),
        };
        if is_serde {
            quote!(|| #krate::derived::Serde(#value))
        } else {
            quote!(|| #value)
        }
    });
    let inner = is_serde.then(|| quote!(.0));
    // The type may be an option under another name.
    let check = match &field.missing {
        Some(Missing::Function(_)) => quote! {
            const {
                ::core::assert!(
                    !<#ty as #krate::Wire<#context>>::OPTIONAL,
                    #OPTION_WITH_DEFAULT
                );
            }
        },
        Some(Missing::OfType) | None => TokenStream::new(),
    };
    match missing {
        None => quote!(#member: #fields.required::<#ty>(#number, #name)?#inner),
        Some(missing) => {
            let read = quote!(#fields.optional::<#ty>(#number, #name, #missing)?#inner);
            match check.is_empty() {
                true => quote!(#member: #read),
                false => quote!(#member: { #check #read }),
            }
        }
    }
}

fn describe(message: &Message, context: &TokenStream) -> TokenStream {
    let krate = &message.krate;
    let schema = own("schema");
    let mut types = Vec::new();
    let (add, parts) = match &message.body {
        Body::Struct(fields) => (quote!(add_struct), specs(message, fields, &mut types)),
        Body::Enum(variants) => {
            let variants = variants.iter().map(|variant| {
                let name = variant.ident.unraw().to_string();
                let number = variant.number;
                let fields = specs(message, &variant.fields, &mut types);
                quote! {
                    #krate::derived::VariantSpec { number: #number, name: #name, fields: #fields }
                }
            });
            (quote!(add_enum), quote!(&[#(#variants),*]))
        }
    };
    quote! {
        fn describe(#schema: &mut #krate::Schema) {
            let is_new = #schema.#add(
                <Self as #krate::Wire<#context>>::NAME,
                <Self as #krate::Wire<#context>>::VERSION,
                ::core::any::type_name::<Self>(),
                #parts,
            );
            if is_new {
                #(<#types as #krate::Wire<#context>>::describe(#schema);)*
            }
        }
    }
}

/// Generates the descriptions of the fields. If the type of a field needs a description of its own,
/// adds this type to `types`.
fn specs(message: &Message, fields: &[FieldOf], types: &mut Vec<Type>) -> TokenStream {
    let krate = &message.krate;
    let context = context(message);
    let specs = fields.iter().map(|field| {
        let FieldOf { ty, number, .. } = field;
        let name = text(&field.member);
        let has_default = field.missing.is_some();
        let (of, shape, optional) = match &field.serde {
            Some(name) => (quote!(#name), quote!(#krate::Shape::Bytes), quote!(false)),
            None => {
                types.push(ty.clone());
                let of_type = quote!(<#ty as #krate::Wire<#context>>);
                (
                    quote!(#of_type::NAME),
                    quote!(#of_type::FIELD_SHAPE),
                    quote!(#of_type::OPTIONAL),
                )
            }
        };
        quote! {
            #krate::derived::FieldSpec {
                number: #number,
                name: #name,
                of: #of,
                shape: #shape,
                has_default: #has_default || #optional,
            }
        }
    });
    quote!(&[#(#specs),*])
}

/// Returns an identifier with mixed-site hygiene, which cannot collide with the user's identifiers.
fn own(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
