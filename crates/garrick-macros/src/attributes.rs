//! Selects the method attributes that are copied to the generated code.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Token, parse_quote};

use crate::dialect::Dialect;

/// The kind of generated code to which the attributes of a method are copied. The kind determines
/// which of the attributes are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A match arm, or code that rustc does not lint. Only `cfg` conditions are copied to this
    /// code.
    Bare,
    /// A generated item that has its own documentation. The `doc` attributes are not copied to this
    /// item.
    Item,
    /// The variant of the message type.
    Variant,
    /// The handle's method that sends the message.
    Send,
    /// The handle's method that returns an `Ask`.
    Ask,
    /// The handle's method by which another actor asks. This method returns nothing, because the
    /// asking actor receives the answer as a message. The documentation of this method refers to
    /// the method that returns an `Ask`.
    AskTo,
}

impl Place {
    fn is_linted(self) -> bool {
        self != Self::Bare
    }

    fn is_method(self) -> bool {
        matches!(self, Self::Send | Self::Ask | Self::AskTo)
    }

    /// Returns true if the attribute `doc` of a method is copied to this kind of generated code.
    fn is_documented_by(self, doc: &Meta) -> bool {
        match self {
            Self::Bare | Self::Item => false,
            Self::AskTo => matches!(doc, Meta::List(_)),
            Self::Variant | Self::Send | Self::Ask => true,
        }
    }
}

/// Returns those of a method's `attributes` that are copied to generated code of the kind `place`.
pub(crate) fn carried(attributes: &[Attribute], place: Place) -> Vec<Attribute> {
    let mut carried: Vec<Attribute> = attributes
        .iter()
        .filter_map(|attribute| {
            let meta = carried_meta(&attribute.meta, place)?;
            Some(parse_quote!(#[#meta]))
        })
        .collect();
    if place == Place::Variant {
        cut_after_summary(&mut carried);
    }
    carried
}

fn carried_meta(meta: &Meta, place: Place) -> Option<TokenStream> {
    let name = meta.path().get_ident()?.to_string();
    match name.as_str() {
        "cfg" => Some(quote!(#meta)),
        "doc" if place.is_documented_by(meta) => Some(quote!(#meta)),
        "allow" | "warn" | "deny" if place.is_linted() => Some(quote!(#meta)),
        "expect" if place.is_linted() => allowed_instead(meta),
        "deprecated" if place.is_method() => Some(quote!(#meta)),
        // An `Ask` is already `#[must_use]`. Only a reason adds information.
        "must_use" if place == Place::Ask && !matches!(meta, Meta::Path(_)) => Some(quote!(#meta)),
        "cfg_attr" => carried_if(meta, place),
        _ => None,
    }
}

/// Replaces `expect` with `allow`, because the generated code possibly does not trigger the
/// expected lint.
fn allowed_instead(meta: &Meta) -> Option<TokenStream> {
    let lints = &meta.require_list().ok()?.tokens;
    Some(quote!(allow(#lints)))
}

/// Returns a copy of the `cfg_attr` in `meta` that contains only the attributes to copy to the
/// generated code.
fn carried_if(meta: &Meta, place: Place) -> Option<TokenStream> {
    let mut conditional = conditional(meta)?.into_iter();
    let condition = conditional.next()?;
    let carried: Vec<TokenStream> = conditional
        .filter_map(|meta| carried_meta(&meta, place))
        .collect();
    (!carried.is_empty()).then(|| quote!(cfg_attr(#condition, #(#carried),*)))
}

/// Returns the condition and the attributes of a `cfg_attr`.
fn conditional(meta: &Meta) -> Option<Punctuated<Meta, Token![,]>> {
    if !meta.path().is_ident("cfg_attr") {
        return None;
    }
    let list = meta.require_list().ok()?;
    list.parse_args_with(Punctuated::parse_terminated).ok()
}

/// Removes the `doc` attributes that come after the first paragraph of the documentation.
fn cut_after_summary(attributes: &mut Vec<Attribute>) {
    let mut over = false;
    attributes.retain(|attribute| {
        let Some(line) = doc_line(attribute) else {
            return true;
        };
        over |= line.trim().is_empty();
        !over
    });
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    match &pair.value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(line),
            ..
        }) if pair.path.is_ident("doc") => Some(line.value()),
        _ => None,
    }
}

/// Returns true if `attributes` contain documentation text, that is, a `#[doc = ".."]`.
pub(crate) fn has_docs(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = matches!(attribute.meta, Meta::NameValue(_));
        text && attribute.path().is_ident("doc")
    })
}

/// Returns true if a `cfg` may remove the annotated item.
pub(crate) fn is_conditional(attributes: &[Attribute]) -> bool {
    let is_cfg = |meta: &Meta| meta.path().is_ident("cfg");
    attributes.iter().any(|attribute| {
        is_cfg(&attribute.meta)
            || conditional(&attribute.meta).is_some_and(|metas| metas.iter().skip(1).any(is_cfg))
    })
}

/// Returns true if `attribute` is a `cfg_attr` that contains an attribute for this macro. The macro
/// cannot evaluate the condition of a `cfg_attr`.
pub(crate) fn is_conditional_mark(attribute: &Attribute, dialect: Dialect) -> bool {
    let is_mark = |meta: &Meta| is_mark(meta.path(), dialect);
    conditional(&attribute.meta).is_some_and(|metas| metas.iter().skip(1).any(is_mark))
}

/// Returns true if `path` is the path of the attribute `dialect`, such as `actor` or
/// `garrick::actor`.
pub(crate) fn is_mark(path: &syn::Path, dialect: Dialect) -> bool {
    path.segments
        .last()
        .is_some_and(|last| last.ident == dialect.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: Place, attributes: &[Attribute]) -> Vec<String> {
        let carried = carried(attributes, place);
        let text = |attribute: &Attribute| quote!(#attribute).to_string().replace(' ', "");
        carried.iter().map(text).collect()
    }

    #[test]
    fn a_variant_takes_the_summary_and_the_handle_all() {
        let attributes: Vec<Attribute> = parse_quote! {
            /// One.
            /// Two.
            ///
            /// Three.
            #[doc(hidden)]
            #[inline]
        };
        let summary = ["#[doc=r\"One.\"]", "#[doc=r\"Two.\"]", "#[doc(hidden)]"];
        assert_eq!(at(Place::Variant, &attributes), summary);
        assert_eq!(at(Place::Send, &attributes).len(), 5);
        assert_eq!(at(Place::AskTo, &attributes), ["#[doc(hidden)]"]);
        assert!(at(Place::Item, &attributes).is_empty());
        assert!(has_docs(&attributes));
    }

    #[test]
    fn conditions_go_everywhere() {
        let attributes: Vec<Attribute> = parse_quote! {
            #[cfg(unix)]
            #[cfg_attr(unix, inline, cfg(test), doc = "x")]
        };
        let bare = ["#[cfg(unix)]", "#[cfg_attr(unix,cfg(test))]"];
        assert_eq!(at(Place::Bare, &attributes), bare);
        let send = ["#[cfg(unix)]", "#[cfg_attr(unix,cfg(test),doc=\"x\")]"];
        assert_eq!(at(Place::Send, &attributes), send);
        assert!(is_conditional(&attributes[..1]) && is_conditional(&attributes[1..]));
    }

    #[test]
    fn lints_are_carried_and_expectations_are_not() {
        let attributes: Vec<Attribute> = parse_quote! {
            #[allow(a)]
            #[expect(b, reason = "c")]
            #[deprecated]
        };
        let variant = ["#[allow(a)]", "#[allow(b,reason=\"c\")]"];
        assert_eq!(at(Place::Variant, &attributes), variant);
        assert_eq!(at(Place::Item, &attributes), variant);
        assert_eq!(at(Place::Ask, &attributes).len(), 3);
        assert!(at(Place::Bare, &attributes).is_empty());
        assert!(!is_conditional(&attributes));
    }

    #[test]
    fn must_use_is_for_asks_and_with_a_reason() {
        let attributes: Vec<Attribute> = parse_quote!(#[must_use] #[must_use = "why"]);
        assert_eq!(at(Place::Ask, &attributes), ["#[must_use=\"why\"]"]);
        assert!(at(Place::Send, &attributes).is_empty());
    }

    #[test]
    fn a_mark_under_a_condition_is_found() {
        let attributes: Vec<Attribute> = parse_quote!(#[cfg_attr(unix, actor(skip))]);
        assert!(is_conditional_mark(&attributes[0], Dialect::Actor));
        let attributes: Vec<Attribute> = parse_quote!(#[cfg_attr(unix, inline)]);
        assert!(!is_conditional_mark(&attributes[0], Dialect::Actor));
    }
}
