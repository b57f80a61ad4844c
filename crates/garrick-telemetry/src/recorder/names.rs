//! Converts names, labels and descriptions of metrics into forms that Prometheus accepts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use garrick_core::text::beginning;

use super::refusals::{LABELS_MAX, NAME_MAX, Refusal};

/// Maximum length of the value of a label in bytes. Longer values are truncated.
const VALUE_MAX: usize = 256;

/// Maximum length of a description in bytes. Longer descriptions are truncated.
const HELP_MAX: usize = 1024;

/// Prefixes of the metrics that telemetry itself exports. Metrics of the program must not have
/// these prefixes.
const RESERVED: [&str; 2] = ["garrick_", "process_"];

/// Names and values of labels, sorted by name.
pub(crate) type Labels = BTreeMap<String, String>;

/// Returns the name of a metric with each forbidden character replaced by `_`.
///
/// # Errors
///
/// Returns [`Refusal::Name`] if the name is empty, too long or reserved.
pub(super) fn metric(name: &str) -> Result<Cow<'_, str>, Refusal> {
    let mended = identifier(name)?;
    if RESERVED.iter().any(|start| mended.starts_with(start)) {
        return Err(Refusal::Name);
    }
    Ok(mended)
}

/// Converts labels, so that Prometheus accepts them, and truncates long values. If several names
/// become equal, the last value is used. Omits labels with empty values, because Prometheus treats
/// an empty label and a missing one alike.
///
/// # Errors
///
/// Returns [`Refusal::Labels`] if there are too many labels, or if a name is empty or too long.
pub(super) fn labels<'a>(
    labels: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Labels, Refusal> {
    let mut mended = Labels::new();
    for (name, value) in labels {
        let name = label(name).map_err(|_| Refusal::Labels)?;
        mended.insert(name.into_owned(), label_value(value));
        if mended.len() > LABELS_MAX {
            return Err(Refusal::Labels);
        }
    }
    mended.retain(|_, value| !value.is_empty());
    Ok(mended)
}

/// Replaces NUL characters, which Prometheus does not accept, with U+FFFD, and truncates the result
/// to [`VALUE_MAX`] bytes.
fn label_value(value: &str) -> String {
    let mended = value.replace('\0', "\u{fffd}");
    beginning(&mended, VALUE_MAX).to_owned()
}

/// Returns a description, truncated if it is too long.
pub(super) fn help(text: &str) -> &str {
    beginning(text, HELP_MAX)
}

/// Returns the name of a label in a form that Prometheus accepts. Changes the names that Prometheus
/// reserves: `le`, `quantile`, and names that begin with two underscores.
fn label(name: &str) -> Result<Cow<'_, str>, Refusal> {
    let mended = identifier(name)?;
    Ok(match &*mended {
        "le" | "quantile" => format!("{mended}_").into(),
        reserved if reserved.starts_with("__") => {
            format!("_{}", reserved.trim_start_matches('_')).into()
        }
        _ => mended,
    })
}

/// Replaces each character that is not an ASCII letter, a digit or `_` with `_`. Adds `_` before a
/// digit at the beginning.
fn identifier(name: &str) -> Result<Cow<'_, str>, Refusal> {
    if name.is_empty() || name.len() > NAME_MAX {
        return Err(Refusal::Name);
    }
    let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins_with_digit = name.starts_with(|c: char| c.is_ascii_digit());
    if !begins_with_digit && name.chars().all(is_fit) {
        return Ok(name.into());
    }
    let mut mended = String::with_capacity(name.len() + 1);
    if begins_with_digit {
        mended.push('_');
    }
    mended.extend(name.chars().map(|c| if is_fit(c) { c } else { '_' }));
    Ok(mended.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_of_labels_are_mended() {
        let given = [
            ("path", "/\0"),
            ("shop", ""),
            ("le", "x"),
            ("a", "1"),
            ("a", ""),
        ];
        let mended = labels(given.into_iter()).unwrap();
        let mended: Vec<_> = mended.iter().collect();
        let expected = [("le_", "x"), ("path", "/\u{fffd}")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(
            mended,
            expected.iter().map(|(n, v)| (n, v)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn names_are_mended_or_refused() {
        for (name, mended) in [
            ("orders_total", "orders_total"),
            ("orders.taken-now", "orders_taken_now"),
            ("2fast", "_2fast"),
            ("größe", "gr__e"),
            ("a:b", "a_b"),
            ("Garrick_x", "Garrick_x"),
        ] {
            assert_eq!(metric(name).as_deref(), Ok(mended));
        }
        let long = "x".repeat(NAME_MAX + 1);
        for name in ["", "garrick_turns", "process.cpu", &long] {
            assert_eq!(metric(name), Err(Refusal::Name), "{name}");
        }
    }

    #[test]
    fn labels_are_mended_or_refused() {
        let given = [("a.b", "1"), ("le", "2"), ("__name__", "3"), ("a_b", "4")];
        let mended = labels(given.into_iter()).expect("they can be mended");
        let mended: Vec<(&str, &str)> = mended.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(mended, [("_name__", "3"), ("a_b", "4"), ("le_", "2")]);
        assert_eq!(labels([("", "1")].into_iter()), Err(Refusal::Labels));
        let names: Vec<String> = (0..=LABELS_MAX).map(|n| format!("l{n}")).collect();
        let many = names.iter().map(|name| (name.as_str(), ""));
        assert_eq!(labels(many.clone()), Err(Refusal::Labels));
        assert!(labels(many.take(LABELS_MAX)).is_ok());
    }

    proptest! {
        #[test]
        fn mended_names_are_names_of_prometheus(name in ".{0,60}", value in ".{0,300}") {
            let is_name = |name: &str| {
                let fit = |c: char| c.is_ascii_alphanumeric() || c == '_';
                name.chars().all(fit) && !name.starts_with(|c: char| c.is_ascii_digit())
            };
            if let Ok(name) = metric(&name) {
                prop_assert!(is_name(&name) && !name.is_empty());
                prop_assert_eq!(metric(&name), Ok(name.clone()), "mending again changes nothing");
            }
            if let Ok(labels) = labels([(&*name, &*value)].into_iter()) {
                for (name, cut) in &labels {
                    prop_assert!(is_name(name) && !name.starts_with("__") && name != "le");
                    let clean = value.replace('\0', "\u{fffd}");
                    prop_assert!(clean.starts_with(&**cut) && cut.len() <= VALUE_MAX);
                    prop_assert!(!cut.is_empty() && !cut.contains('\0'));
                }
            }
        }
    }
}
