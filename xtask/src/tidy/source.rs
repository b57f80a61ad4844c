//! A parsed source file: its tokens, and the byte ranges of its tests.
//!
//! Rules check tokens rather than the syntax tree, so that they also see the arguments of macros.
//! The syntax tree is used once, to find the byte ranges of tests.

use std::ops::Range;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Meta, Token, punctuated::Punctuated};

use super::violation::Violation;

/// A parsed source file.
pub(crate) struct Source {
    /// Path of the file, relative to the workspace.
    pub(crate) path: PathBuf,
    /// Module path inside the crate. Empty for a crate root.
    pub(crate) modules: Vec<String>,
    /// True if the whole file is test code.
    pub(crate) test: bool,
    /// True if the file has tests that are compiled only under `cfg(garrick_loom)`.
    pub(crate) has_loom_tests: bool,
    /// Text of the file.
    pub(crate) text: String,
    /// All tokens. A documentation comment appears as a `doc` attribute.
    pub(crate) tokens: TokenStream,
    /// Syntax tree of the same tokens.
    pub(crate) syntax: syn::File,
    /// Byte ranges of items compiled for tests only.
    test_ranges: Vec<Range<usize>>,
    /// Byte ranges of items compiled for loom only.
    loom_ranges: Vec<Range<usize>>,
}

impl Source {
    /// Parses `text`. Returns a violation at the position of a syntax error.
    pub(crate) fn parse(
        path: &Path,
        modules: &[String],
        test: bool,
        text: String,
    ) -> Result<Self, Violation> {
        let failed = |line, error: &dyn std::fmt::Display| {
            Violation::new(path, line, format!("cannot be parsed: {error}"), "Rust")
        };
        let tokens: TokenStream = text
            .parse()
            .map_err(|error: proc_macro2::LexError| failed(line_of(error.span()), &error))?;
        let syntax: syn::File = syn::parse2(tokens.clone())
            .map_err(|error| failed(error.span().start().line, &error))?;
        let mut finder = TestFinder {
            inside: usize::from(test || is_test(&syntax.attrs)),
            ..TestFinder::default()
        };
        finder.look_at(&syntax.attrs);
        finder.visit_file(&syntax);
        Ok(Self {
            path: path.to_owned(),
            modules: modules.to_vec(),
            test: test || is_test(&syntax.attrs),
            has_loom_tests: finder.loom,
            text,
            tokens,
            syntax,
            test_ranges: finder.ranges,
            loom_ranges: finder.loom_ranges,
        })
    }

    /// Returns true if the code at `span` is compiled for tests only.
    pub(crate) fn in_test(&self, span: Span) -> bool {
        // The range of a span is costly, because it is counted from the start of the file.
        self.test || !self.test_ranges.is_empty() && self.is_test_at(span.byte_range().start)
    }

    /// Returns true if the code at `byte` is compiled for tests only.
    fn is_test_at(&self, byte: usize) -> bool {
        self.test || self.test_ranges.iter().any(|range| range.contains(&byte))
    }

    /// Returns true if the code at `byte` is compiled only for tests or for loom, so users do not
    /// build it.
    pub(crate) fn is_scaffold_at(&self, byte: usize) -> bool {
        self.is_test_at(byte) || self.loom_ranges.iter().any(|range| range.contains(&byte))
    }

    /// Returns true if `span` is a documentation comment.
    pub(crate) fn is_comment(&self, span: Span) -> bool {
        let text = self.text.get(span.byte_range()).unwrap_or("");
        text.starts_with("//") || text.starts_with("/*")
    }

    /// Returns a violation at `span` of this file.
    pub(crate) fn violation(
        &self,
        span: Span,
        wrong: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Violation {
        Violation::new(&self.path, line_of(span), wrong, allowed)
    }

    /// Calls `look` for each token, with the list of its siblings and its index in the list. Outer
    /// tokens come before inner ones.
    pub(crate) fn each_token(&self, mut look: impl FnMut(&[TokenTree], usize)) {
        each_token_in(&self.tokens, &mut look);
    }
}

fn each_token_in(tokens: &TokenStream, look: &mut impl FnMut(&[TokenTree], usize)) {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    for (index, tree) in trees.iter().enumerate() {
        look(&trees, index);
        if let TokenTree::Group(group) = tree {
            each_token_in(&group.stream(), look);
        }
    }
}

/// Returns the line of the start of `span`, from 1.
pub(crate) fn line_of(span: Span) -> usize {
    span.start().line
}

/// Returns true if `tree` is the identifier `name`.
pub(crate) fn is_ident(tree: Option<&TokenTree>, name: &str) -> bool {
    matches!(tree, Some(TokenTree::Ident(ident)) if ident == name)
}

/// Returns true if `tree` is the character `mark`.
pub(crate) fn is_punct(tree: Option<&TokenTree>, mark: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// Returns true if `tree` is a group with the given delimiters.
pub(crate) fn is_group(tree: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(tree, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

/// Returns true if the attributes exclude their item from all builds except those of tests.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| a.path().is_ident("test")) || requires(attributes, "test")
}

/// Returns true if the `cfg` attributes require `flag`.
fn requires(attributes: &[Attribute], flag: &str) -> bool {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .filter_map(|attribute| attribute.parse_args::<Meta>().ok())
        .any(|condition| demands(&condition, flag))
}

fn demands(condition: &Meta, flag: &str) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident(flag),
        Meta::List(list) => {
            let parts = list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .unwrap_or_default();
            if list.path.is_ident("all") {
                parts.iter().any(|part| demands(part, flag))
            } else {
                list.path.is_ident("any")
                    && !parts.is_empty()
                    && parts.iter().all(|part| demands(part, flag))
            }
        }
        Meta::NameValue(_) => false,
    }
}

/// Collects the byte ranges of test items, and records if one of them is compiled only for loom.
#[derive(Default)]
struct TestFinder {
    ranges: Vec<Range<usize>>,
    loom_ranges: Vec<Range<usize>>,
    /// Number of test items that enclose the visited item.
    inside: usize,
    loom: bool,
}

impl TestFinder {
    /// Returns true if an item with these attributes is a test item.
    fn look_at(&mut self, attributes: &[Attribute]) -> bool {
        let test = is_test(attributes);
        self.loom |= requires(attributes, "garrick_loom") && (test || self.inside > 0);
        test
    }
}

macro_rules! visit_attributed {
    ($($method:ident: $node:ident,)*) => {
        $(fn $method(&mut self, node: &'ast syn::$node) {
            let test = self.look_at(&node.attrs);
            if test {
                self.ranges.push(node.span().byte_range());
            }
            if requires(&node.attrs, "garrick_loom") {
                self.loom_ranges.push(node.span().byte_range());
            }
            self.inside += usize::from(test);
            visit::$method(self, node);
            self.inside -= usize::from(test);
        })*
    };
}

impl<'ast> Visit<'ast> for TestFinder {
    visit_attributed! {
        visit_item_const: ItemConst,
        visit_item_enum: ItemEnum,
        visit_item_fn: ItemFn,
        visit_item_impl: ItemImpl,
        visit_item_macro: ItemMacro,
        visit_item_mod: ItemMod,
        visit_item_static: ItemStatic,
        visit_item_struct: ItemStruct,
        visit_item_trait: ItemTrait,
        visit_item_type: ItemType,
        visit_item_use: ItemUse,
        visit_impl_item_fn: ImplItemFn,
        visit_field: Field,
        visit_variant: Variant,
        visit_local: Local,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::parse(Path::new("a.rs"), &[], false, text.to_owned()).expect("valid Rust")
    }

    fn test_idents(text: &str) -> Vec<String> {
        let source = source(text);
        let mut found = Vec::new();
        source.each_token(|trees, index| {
            if let TokenTree::Ident(ident) = &trees[index]
                && source.in_test(ident.span())
            {
                found.push(ident.to_string());
            }
        });
        found
    }

    #[test]
    fn test_code_is_what_a_cfg_keeps_for_tests() {
        let found = test_idents(
            "#[cfg(all(test, not(garrick_loom)))] mod a { }
             #[cfg(not(test))] mod b { }
             #[cfg(any(test, garrick_loom))] mod c { }
             #[test] fn d() { }",
        );
        assert!(found.contains(&"a".to_owned()) && found.contains(&"d".to_owned()));
        assert!(!found.contains(&"b".to_owned()) && !found.contains(&"c".to_owned()));
    }

    #[test]
    fn loom_tests_are_found_directly_and_nested() {
        assert!(source("#[cfg(all(test, garrick_loom))] mod l { }").has_loom_tests);
        assert!(source("#[cfg(test)] mod t { #[cfg(garrick_loom)] mod l { } }").has_loom_tests);
        assert!(!source("#[cfg(garrick_loom)] mod imp { }").has_loom_tests);
        assert!(!source("#[cfg(all(test, not(garrick_loom)))] mod t { }").has_loom_tests);
    }

    #[test]
    fn what_only_models_have_is_scaffold() {
        let text = "#[cfg(garrick_loom)] mod a { fn b() {} } #[cfg(not(garrick_loom))] mod c {}";
        let source = source(text);
        assert!(source.is_scaffold_at(text.find("fn b").unwrap()));
        assert!(!source.is_scaffold_at(text.find("mod c").unwrap()));
    }

    #[test]
    fn a_syntax_error_is_a_violation_with_its_line() {
        let error = Source::parse(Path::new("a.rs"), &[], false, "fn a() {}\nfn {}".into());
        assert_eq!(error.map(|_| ()).unwrap_err().line, 2);
    }

    #[test]
    fn documentation_is_comment() {
        let source = source("/// Words.\nstruct A;");
        let first = source.tokens.clone().into_iter().next().expect("a token");
        assert!(source.is_comment(first.span()));
    }
}
