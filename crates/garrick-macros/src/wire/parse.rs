//! Parsing of a type with `#[derive(Wire)]` into numbered fields and variants.

use quote::ToTokens;
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{
    Data, DeriveInput, Fields, GenericArgument, GenericParam, Generics, Ident, Index, Member, Path,
    PathArguments, Type, TypePath, Variant,
};

use super::attribute::{Attributes, Missing, Place};
use super::numbers::{Numbered, assign};
use crate::errors::Errors;

/// Error for an option with a function that returns its default. A reader could not distinguish
/// `None` from a missing field, and would replace it.
pub(super) const OPTION_WITH_DEFAULT: &str = "an option cannot have this default, because `None` travels as a missing field, and would \
     become the default; remove the default, or use `#[wire(serde)]`";

/// A parsed type with `#[derive(Wire)]`.
pub(super) struct Message {
    /// Path of the module that contains the trait `Wire`.
    pub(super) krate: Path,
    pub(super) ident: Ident,
    pub(super) generics: Generics,
    /// Name by which other nodes know the type, if given.
    pub(super) name: Option<String>,
    pub(super) version: u16,
    /// Type of the context, if the attribute names a type.
    pub(super) context: Option<Type>,
    pub(super) body: Body,
}

pub(super) enum Body {
    Struct(Vec<FieldOf>),
    Enum(Vec<VariantOf>),
}

pub(super) struct VariantOf {
    pub(super) ident: Ident,
    pub(super) number: u32,
    pub(super) fields: Vec<FieldOf>,
}

/// A field of a struct or of a variant. The fields of a struct or variant are sorted by their
/// numbers.
pub(super) struct FieldOf {
    pub(super) member: Member,
    /// Index of the field in the declaration.
    pub(super) index: usize,
    pub(super) ty: Type,
    pub(super) number: u32,
    pub(super) missing: Option<Missing>,
    /// Name of the field's type in the lock file, if serde encodes the field. Otherwise `None`.
    pub(super) serde: Option<String>,
}

/// Parses `input`. Returns `None` if the macro cannot implement `Wire` for the type.
pub(super) fn input(input: &DeriveInput, krate: Path, errors: &mut Errors) -> Option<Message> {
    for parameter in &input.generics.params {
        match parameter {
            GenericParam::Lifetime(lifetime) => errors.at(
                lifetime,
                "a message must own its data, because it is decoded; remove the lifetime",
            ),
            GenericParam::Const(parameter) => errors.at(
                parameter,
                "the name of a message cannot contain a constant; use an array as a field",
            ),
            GenericParam::Type(_) => {}
        }
    }
    let of_type = Attributes::read(&input.attrs, Place::Type, errors);
    let version = of_type.version.unwrap_or(1);
    let ident = &input.ident;
    let body = match &input.data {
        Data::Struct(data) => Body::Struct(fields(&data.fields, ident, version, errors)),
        Data::Enum(data) => {
            let declared: Vec<&Variant> = data.variants.iter().collect();
            Body::Enum(variants(&declared, ident, version, errors))
        }
        Data::Union(data) => {
            errors.at(
                data.union_token,
                "a union cannot travel, because its fields are not known; use an enum",
            );
            return None;
        }
    };
    Some(Message {
        krate: of_type.krate.unwrap_or(krate),
        ident: ident.clone(),
        generics: input.generics.clone(),
        name: of_type.name.map(|name| name.value()),
        version,
        context: of_type.context,
        body,
    })
}

fn variants(
    declared: &[&Variant],
    of: &Ident,
    version: u16,
    errors: &mut Errors,
) -> Vec<VariantOf> {
    let mut items = Vec::new();
    for variant in declared {
        let attributes = Attributes::read(&variant.attrs, Place::Variant, errors);
        items.push(Numbered {
            number: attributes.number,
            is_wrong: attributes.is_wrong,
            name: variant.ident.unraw().to_string(),
            at: &variant.ident,
        });
    }
    let numbers = assign(&items, "variant", of, version, errors);
    let numbered = declared.iter().zip(numbers);
    numbered
        .map(|(variant, number)| VariantOf {
            ident: variant.ident.clone(),
            number,
            fields: fields(&variant.fields, of, version, errors),
        })
        .collect()
}

fn fields(declared: &Fields, of: &Ident, version: u16, errors: &mut Errors) -> Vec<FieldOf> {
    let mut items = Vec::new();
    let mut parsed = Vec::new();
    for (index, field) in declared.iter().enumerate() {
        let attributes = Attributes::read(&field.attrs, Place::Field, errors);
        let member = match &field.ident {
            Some(ident) => Member::Named(ident.clone()),
            None => Member::Unnamed(Index::from(index)),
        };
        if attributes.serde.is_none() {
            Machine(errors).visit_type(&field.ty);
            if let Some(Missing::Function(path)) = &attributes.missing
                && is_option(&field.ty)
            {
                errors.at(path, OPTION_WITH_DEFAULT);
            }
        }
        items.push(Numbered {
            number: attributes.number,
            is_wrong: attributes.is_wrong,
            name: text(&member),
            at: match &field.ident {
                Some(ident) => ident,
                None => &field.ty,
            },
        });
        parsed.push(FieldOf {
            member,
            index,
            ty: field.ty.clone(),
            number: 0,
            missing: attributes.missing,
            serde: attributes.serde.map(|name| match name {
                Some(name) => format!("serde:{}", name.value()),
                None => format!("serde:{}", without_spaces(&field.ty)),
            }),
        });
    }
    let numbers = assign(&items, "field", of, version, errors);
    for (field, number) in parsed.iter_mut().zip(numbers) {
        field.number = number;
    }
    parsed.sort_by_key(|field| field.number);
    parsed
}

/// Returns the name of a field, or its index in a tuple.
pub(super) fn text(member: &Member) -> String {
    match member {
        Member::Named(ident) => ident.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

/// Returns true if the type is written as an option, or as a `Box` or an `Arc` of an option.
fn is_option(ty: &Type) -> bool {
    let Type::Path(TypePath { qself: None, path }) = ty else {
        return false;
    };
    let Some(last) = path.segments.last() else {
        return false;
    };
    let is_pointer = ["Box", "Arc"].iter().any(|name| last.ident == name);
    let in_pointer = || match &last.arguments {
        PathArguments::AngleBracketed(of) => of.args.iter().any(|argument| match argument {
            GenericArgument::Type(ty) => is_option(ty),
            _ => false,
        }),
        PathArguments::None | PathArguments::Parenthesized(_) => false,
    };
    last.ident == "Option" || is_pointer && in_pointer()
}

fn without_spaces(ty: &Type) -> String {
    let mut text = ty.to_token_stream().to_string();
    text.retain(|c| !c.is_whitespace());
    text
}

/// A visitor that reports an error for `usize` and `isize` in a field, because their size depends
/// on the machine.
struct Machine<'a>(&'a mut Errors);

impl<'ast> Visit<'ast> for Machine<'_> {
    fn visit_type_path(&mut self, path: &'ast TypePath) {
        for (bad, good) in [("usize", "u64"), ("isize", "i64")] {
            let last = path.path.segments.last();
            if path.qself.is_none() && last.is_some_and(|last| last.ident == bad) {
                self.0.at(
                    path,
                    format!("`{bad}` differs between machines; use `{good}`"),
                );
            }
        }
        visit::visit_type_path(self, path);
    }
}
