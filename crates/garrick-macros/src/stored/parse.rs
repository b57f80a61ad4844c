//! Parsing of a type with `#[derive(Stored)]` into its variants.

use syn::{
    Attribute, Data, DeriveInput, Field, Fields, Generics, Ident, Index, Member, Meta, Path, Type,
    parse_quote,
};

use super::attribute::{Attributes, Number, Older};
use crate::errors::Errors;

/// Attributes of serde that change the encoding of a field. The derive macro rejects these
/// attributes, because it serializes each field separately, and serde would ignore them.
const OF_SERDE: &[&str] = &[
    "default",
    "deserialize_with",
    "flatten",
    "serialize_with",
    "skip",
    "skip_deserializing",
    "skip_serializing",
    "skip_serializing_if",
    "with",
];

/// A parsed type with `#[derive(Stored)]`.
pub(super) struct Stored {
    /// Path of the module that contains the trait `Stored`.
    pub(super) krate: Path,
    pub(super) ident: Ident,
    pub(super) generics: Generics,
    /// The variants of the enum, or the struct as the only element.
    pub(super) kinds: Vec<Kind>,
    /// True if a variant of the enum was omitted because of an error.
    pub(super) is_partial: bool,
}

/// A variant of an enum, or a struct.
pub(super) struct Kind {
    /// The name of the variant, or `None` for a struct.
    pub(super) variant: Option<Ident>,
    pub(super) tag: u16,
    pub(super) version: u16,
    /// Conversions of older versions into the current version, newest version first.
    pub(super) upcasts: Vec<Older>,
    pub(super) fields: Vec<(Member, Type)>,
}

/// Parses `input`. Omits variants that cannot be stored. Returns `None` if the type cannot be
/// stored.
pub(super) fn input(input: &DeriveInput, errors: &mut Errors) -> Option<Stored> {
    for lifetime in input.generics.lifetimes() {
        errors.at(
            lifetime,
            "a stored type must own its data, because it is decoded; remove the lifetime",
        );
    }
    let (of_type, is_right) = Attributes::read(&input.attrs, errors);
    let krate = of_type.krate.clone();
    let krate = krate.unwrap_or_else(|| parse_quote!(::garrick::journal));
    let kinds = match &input.data {
        Data::Enum(data) => {
            of_enum(&of_type, errors);
            variants(data.variants.iter(), errors)
        }
        Data::Struct(data) => {
            let kind = is_right.then(|| kind(&input.ident, None, of_type, &data.fields, errors));
            kind.flatten().into_iter().collect()
        }
        Data::Union(data) => {
            errors.at(
                data.union_token,
                "a union cannot be stored, because its fields are not known; use an enum",
            );
            return None;
        }
    };
    let count = match &input.data {
        Data::Enum(data) => data.variants.len(),
        _ => 1,
    };
    let is_owned = input.generics.lifetimes().next().is_none();
    is_owned.then(|| Stored {
        krate,
        ident: input.ident.clone(),
        generics: input.generics.clone(),
        is_partial: kinds.len() < count,
        kinds,
    })
}

fn of_enum(of_type: &Attributes, errors: &mut Errors) {
    let tags = of_type.tag.iter().chain(&of_type.version);
    let older = of_type.upcasts.iter().map(|older| &older.version);
    for number in tags.chain(older) {
        errors.at(
            &number.at,
            "each variant of an enum has a tag and a version of its own; write `#[stored(..)]` above the variant",
        );
    }
}

fn variants<'a>(
    variants: impl Iterator<Item = &'a syn::Variant>,
    errors: &mut Errors,
) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for variant in variants {
        let (of_variant, is_right) = Attributes::read(&variant.attrs, errors);
        if let Some(path) = &of_variant.krate {
            errors.at(path, "write `#[stored(crate = ..)]` above the enum");
        }
        let tag = of_variant.tag.as_ref().map(|tag| tag.at.clone());
        let ident = &variant.ident;
        if !is_right {
            continue;
        }
        let kind = kind(ident, Some(ident), of_variant, &variant.fields, errors);
        let Some(kind) = kind else { continue };
        let rival = kinds.iter().find(|other| other.tag == kind.tag);
        match rival.and_then(|rival| rival.variant.as_ref()) {
            Some(rival) => errors.at(
                tag,
                format!(
                    "the variants `{rival}` and `{ident}` have the same tag; give the newer one a tag that no \
                     event has ever had"
                ),
            ),
            None => kinds.push(kind),
        }
    }
    kinds
}

/// Returns the parsed variant `variant` of the enum, or the parsed struct `ident` if `variant` is
/// `None`.
fn kind(
    ident: &Ident,
    variant: Option<&Ident>,
    attributes: Attributes,
    fields: &Fields,
    errors: &mut Errors,
) -> Option<Kind> {
    let members = members(fields, errors);
    let Some(tag) = attributes.tag else {
        errors.at(
            ident,
            format!(
                "`{ident}` has no tag; write `#[stored(tag = 1)]` above it, with a number that no other type of the \
                 journal has or has had, because the tag stays in the log forever"
            ),
        );
        return None;
    };
    let version = attributes.version.map_or(1, |version| version.value);
    Some(Kind {
        variant: variant.cloned(),
        tag: tag.value,
        version,
        upcasts: upcasts(attributes.upcasts, version, errors),
        fields: members,
    })
}

/// Returns the conversions of versions below `newest`, in descending order of the versions. Reports
/// an error for a version that is not below `newest`, and for a version that is converted twice.
fn upcasts(mut upcasts: Vec<Older>, newest: u16, errors: &mut Errors) -> Vec<Older> {
    upcasts.sort_by_key(|older| std::cmp::Reverse(older.version.value));
    let mut known: Vec<u16> = Vec::new();
    upcasts.retain(|older| {
        let Number { value, at } = &older.version;
        let is_old = *value < newest;
        if !is_old {
            errors.at(
                at,
                format!("only a version before the current one, {newest}, can be converted; write `version = ..`"),
            );
        }
        let is_new = !known.contains(value);
        if !is_new {
            errors.at(at, format!("the version {value} is converted twice"));
        }
        known.push(*value);
        is_old && is_new
    });
    upcasts
}

fn members(fields: &Fields, errors: &mut Errors) -> Vec<(Member, Type)> {
    for field in fields {
        check_field(field, errors);
    }
    let fields = fields.iter().enumerate();
    let member = |(index, field): (usize, &Field)| {
        let member = match &field.ident {
            Some(ident) => Member::Named(ident.clone()),
            None => Member::Unnamed(Index::from(index)),
        };
        (member, field.ty.clone())
    };
    fields.map(member).collect()
}

fn check_field(field: &Field, errors: &mut Errors) {
    for attribute in &field.attrs {
        if attribute.path().is_ident("stored") {
            errors.at(
                attribute,
                "a field has no options; write `#[stored(..)]` above the variant or the struct",
            );
        }
        if let Some(option) = of_serde(attribute) {
            errors.at(
                attribute,
                format!(
                    "`#[derive(Stored)]` serializes the value of each field, and ignores `{option}`; give the field a \
                     type of its own, whose `Serialize` and `Deserialize` do what you need"
                ),
            );
        }
    }
}

/// Returns the first option in a serde attribute that changes the encoding of a field. Returns
/// `None` if there is no such option, or if the attribute does not belong to serde.
fn of_serde(attribute: &Attribute) -> Option<String> {
    let Meta::List(list) = &attribute.meta else {
        return None;
    };
    if !list.path.is_ident("serde") {
        return None;
    }
    let mut words = list.tokens.clone().into_iter().map(|tree| tree.to_string());
    words.find(|word| OF_SERDE.contains(&word.as_str()))
}
