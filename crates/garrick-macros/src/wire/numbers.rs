//! The assignment of numbers to fields and variants.

use syn::Ident;

use super::attribute::Number;
use crate::errors::Errors;

/// A field or a variant to which a number is assigned.
pub(super) struct Numbered<'a> {
    /// Number that identifies the field or variant, if its attribute contains one.
    pub(super) number: Option<Number>,
    /// True if the attribute has an error, so that a missing number is not reported as well.
    pub(super) is_wrong: bool,
    /// Name of the field or variant, used in error messages.
    pub(super) name: String,
    /// Tokens at whose position errors are reported.
    pub(super) at: &'a dyn quote::ToTokens,
}

/// Returns the numbers of the fields or variants in `items`. `what` is `field` or `variant`, for
/// error messages. If the type has version 1 and no item has a number, the items are numbered from
/// 1 in their order. In all other cases, an item without a number is an error, and the position of
/// this item, counted from 1, is used as its number.
pub(super) fn assign(
    items: &[Numbered<'_>],
    what: &str,
    of: &Ident,
    version: u16,
    errors: &mut Errors,
) -> Vec<u32> {
    let is_numbered = items.iter().any(|item| item.number.is_some());
    let mut numbers: Vec<u32> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(number) = &item.number else {
            if (version > 1 || is_numbered) && !item.is_wrong {
                errors.at(item.at, missing(item, what, of, version));
            }
            numbers.push(index as u32 + 1);
            continue;
        };
        let rival = items[..index]
            .iter()
            .find(|other| other.number.as_ref().map(|n| n.value) == Some(number.value));
        if let Some(rival) = rival {
            errors.at(
                &number.at,
                format!(
                    "the {what}s `{}` and `{}` have the same number; give the newer one a number that no {what} of \
                     `{of}` has ever had",
                    rival.name, item.name
                ),
            );
        }
        numbers.push(number.value);
    }
    numbers
}

fn missing(item: &Numbered<'_>, what: &str, of: &Ident, version: u16) -> String {
    let name = &item.name;
    let why = if version > 1 {
        format!(
            "`{of}` has the version {version}, so the order of its {what}s no longer tells their numbers"
        )
    } else {
        format!("other {what}s of `{of}` have one, so the order does not tell it")
    };
    format!(
        "the {what} `{name}` has no number, such as `#[wire(3)]`: {why}; `wire.lock` has the numbers of those that \
         older versions know, and a new {what} has one that was never used"
    )
}
