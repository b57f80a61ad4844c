//! Descriptions of types: the contents of the lock file.

use std::collections::{BTreeMap, BTreeSet};

use crate::shape::Shape;

/// Descriptions of all types that are used in messages. [`Wire::describe`] adds the description of
/// a type.
///
/// [`Wire::describe`]: crate::Wire::describe
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Schema {
    pub(crate) types: BTreeMap<String, Type>,
    /// Error texts, one for each name that two different types share. Each text contains the name
    /// and the paths of the two types.
    pub(crate) clashes: BTreeSet<String>,
    /// Rust paths of the types in this program. The keys are the names of the types in the wire
    /// format.
    paths: BTreeMap<String, &'static str>,
}

/// Reason why a type is in a lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// The type is sent as a message.
    Root,
    /// The type is not sent itself, but is used in a message, for example as the type of a field.
    Part,
    /// The type is no longer used, but an older version of the program used it.
    Past,
}

/// Description of a struct or an enum in a lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) used: Use,
    pub(crate) version: u16,
    pub(crate) body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Struct(Group),
    Enum {
        variants: BTreeMap<u32, Variant>,
        /// Names of removed variants. The keys are the numbers of the variants.
        removed: BTreeMap<u32, String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) name: String,
    pub(crate) group: Group,
}

/// Description of the fields of a struct or of a variant in a lock file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) fields: BTreeMap<u32, Field>,
    /// Names and types of removed fields. The keys are the numbers of the fields.
    pub(crate) removed: BTreeMap<u32, Removed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Name of the field's type.
    pub(crate) of: String,
    pub(crate) shape: Shape,
    pub(crate) has_default: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Removed {
    pub(crate) name: String,
    pub(crate) of: String,
}

/// A description of a field, which the derive macro generates.
#[doc(hidden)]
#[derive(Debug)]
pub struct FieldSpec {
    pub number: u32,
    pub name: &'static str,
    pub of: &'static str,
    pub shape: Shape,
    pub has_default: bool,
}

/// A description of a variant, which the derive macro generates.
#[doc(hidden)]
#[derive(Debug)]
pub struct VariantSpec<'a> {
    pub number: u32,
    pub name: &'static str,
    pub fields: &'a [FieldSpec],
}

impl Schema {
    /// Adds a struct. Returns true if the struct is new, so that the types of its fields must be
    /// described as well.
    #[doc(hidden)]
    pub fn add_struct(
        &mut self,
        name: &str,
        version: u16,
        path: &'static str,
        fields: &[FieldSpec],
    ) -> bool {
        self.add(name, version, path, || Body::Struct(group(fields)))
    }

    /// Adds an enum. Returns true if the enum is new, so that the types of its fields must be
    /// described as well.
    #[doc(hidden)]
    pub fn add_enum(
        &mut self,
        name: &str,
        version: u16,
        path: &'static str,
        variants: &[VariantSpec<'_>],
    ) -> bool {
        self.add(name, version, path, || Body::Enum {
            variants: variants.iter().map(variant).collect(),
            removed: BTreeMap::new(),
        })
    }

    fn add(
        &mut self,
        name: &str,
        version: u16,
        path: &'static str,
        body: impl FnOnce() -> Body,
    ) -> bool {
        if let Some(known) = self.paths.get(name) {
            if *known != path {
                self.clashes
                    .insert(format!("`{known}` and `{path}` have the name `{name}`"));
            }
            return false;
        }
        self.paths.insert(name.to_owned(), path);
        let described = Type {
            used: Use::Part,
            version,
            body: body(),
        };
        self.types.insert(name.to_owned(), described);
        true
    }
}

fn group(fields: &[FieldSpec]) -> Group {
    let field = |spec: &FieldSpec| {
        let field = Field {
            name: spec.name.to_owned(),
            of: spec.of.to_owned(),
            shape: spec.shape,
            has_default: spec.has_default,
        };
        (spec.number, field)
    };
    Group {
        fields: fields.iter().map(field).collect(),
        removed: BTreeMap::new(),
    }
}

fn variant(spec: &VariantSpec<'_>) -> (u32, Variant) {
    let variant = Variant {
        name: spec.name.to_owned(),
        group: group(spec.fields),
    };
    (spec.number, variant)
}
