//! Rule: `unsafe` code is allowed in three crates. Every other crate forbids it.

use proc_macro2::TokenTree;
use syn::{Meta, Path as SynPath, Token, punctuated::Punctuated};

use super::source::Source;
use super::violation::Violation;

/// Crates that may contain `unsafe` code.
pub(super) const UNSAFE_CRATES: &[&str] = &["garrick-core", "garrick-steal", "garrick-sched"];

const ALLOWED: &str = "`unsafe` in garrick-core, garrick-steal and garrick-sched only";

/// Reports every `unsafe` in a file of `package`, unless the package may contain it.
pub(crate) fn check(package: &str, source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    if UNSAFE_CRATES.contains(&package) {
        return violations;
    }
    source.each_token(|trees, index| {
        if let TokenTree::Ident(ident) = &trees[index]
            && ident == "unsafe"
        {
            let wrong = format!("`unsafe` in `{package}`");
            violations.push(source.violation(ident.span(), wrong, ALLOWED));
        }
    });
    violations
}

/// Reports the root of a library or program that does not forbid `unsafe`.
pub(crate) fn check_root(package: &str, root: &Source) -> Option<Violation> {
    let forbidden = UNSAFE_CRATES.contains(&package) || forbids_unsafe(root);
    (!forbidden).then(|| {
        Violation::new(
            &root.path,
            1,
            format!("the crate root of `{package}` lacks `#![forbid(unsafe_code)]`"),
            ALLOWED,
        )
    })
}

fn forbids_unsafe(root: &Source) -> bool {
    root.syntax.attrs.iter().any(|attribute| {
        let Meta::List(list) = &attribute.meta else {
            return false;
        };
        list.path.is_ident("forbid")
            && list
                .parse_args_with(Punctuated::<SynPath, Token![,]>::parse_terminated)
                .is_ok_and(|lints| lints.iter().any(|lint| lint.is_ident("unsafe_code")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn source(text: &str) -> Source {
        Source::parse(Path::new("a.rs"), &[], false, text.to_owned()).expect("valid Rust")
    }

    #[test]
    fn unsafe_is_allowed_in_three_crates_only() {
        let code = source("fn a() {\n unsafe { b() } }");
        assert_eq!(check("garrick-core", &code), []);
        assert_eq!(check("garrick-steal", &code), []);
        assert_eq!(check("garrick-sched", &code), []);
        assert_eq!(check("garrick-actor", &code)[0].line, 2);
    }

    #[test]
    fn the_word_in_strings_comments_and_lint_names_is_not_code() {
        let code = source("// unsafe\n#![forbid(unsafe_code)]\nconst A: &str = \"unsafe\";");
        assert_eq!(check("garrick", &code), []);
    }

    #[test]
    fn other_roots_must_forbid_it() {
        assert_eq!(
            check_root("garrick", &source("#![forbid(unsafe_code)]")),
            None
        );
        assert_eq!(check_root("garrick-core", &source("")), None);
        assert!(check_root("garrick", &source("")).is_some());
        assert!(check_root("garrick", &source("#![deny(unsafe_code)]")).is_some());
    }
}
