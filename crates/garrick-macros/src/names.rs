//! The names of the items that the attributes generate.

use syn::ext::IdentExt;
use syn::{Error, Ident, Result};

use crate::dialect::Dialect;

/// The names of the methods that every generated handle has.
const OF_HANDLES: &[&str] = &["new", "address"];

/// Returns the name of the variant that is generated for a method: the method's name in camel case,
/// such as `GetAll` for `get_all`.
pub(crate) fn variant_of(method: &Ident, dialect: Dialect) -> Result<Ident> {
    let name = camel_case(&method.unraw().to_string());
    let mut variant: Ident =
        syn::parse_str(&name).map_err(|_| no_variant(method, &name, dialect))?;
    variant.set_span(method.span());
    Ok(variant)
}

fn no_variant(method: &Ident, name: &str, dialect: Dialect) -> Error {
    let mark = dialect.name();
    let message = format!(
        "the method `{method}` would generate the variant `{name}`, which is not a valid name; rename the \
         method, or mark it `#[{mark}(skip)]` to exclude it from the actor"
    );
    Error::new_spanned(method, message)
}

fn camel_case(name: &str) -> String {
    name.split('_').map(capitalized).collect()
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// Returns the name of the handle's method by which another actor asks, such as `get_to` for `get`.
pub(crate) fn asking_of(method: &Ident) -> Ident {
    quote::format_ident!("{}_to", method.unraw(), span = method.span())
}

/// Returns true if every handle has a method of this name.
pub(crate) fn is_of_handles(method: &Ident) -> bool {
    OF_HANDLES.iter().any(|name| method == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::format_ident;

    fn variant(method: &str) -> String {
        variant_of(&syn::parse_str(method).unwrap(), Dialect::Actor)
            .unwrap()
            .to_string()
    }

    #[test]
    fn variants_are_in_camel_case() {
        assert_eq!(variant("add"), "Add");
        assert_eq!(variant("get_all"), "GetAll");
        assert_eq!(variant("__private_"), "Private");
        assert_eq!(variant("add_2"), "Add2");
        assert_eq!(variant("öffne"), "Öffne");
    }

    #[test]
    fn a_raw_identifier_is_as_any_other() {
        let method: Ident = syn::parse_quote!(r#type);
        assert_eq!(variant_of(&method, Dialect::Actor).unwrap(), "Type");
        assert_eq!(asking_of(&method), "type_to");
    }

    #[test]
    fn what_cannot_be_a_variant_is_said() {
        for method in ["self_", "__", "_2"] {
            let error = variant_of(&format_ident!("{method}"), Dialect::Durable).unwrap_err();
            assert!(error.to_string().contains(method));
        }
    }

    #[test]
    fn names_of_handles_are_taken() {
        assert!(is_of_handles(&format_ident!("address")));
        assert!(!is_of_handles(&format_ident!("add")));
    }
}
