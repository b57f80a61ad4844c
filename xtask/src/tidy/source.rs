//! One parsed source file: its tokens, which of them are test code, which are comments.
//!
//! Rules look at tokens rather than at the syntax tree, so that they also see inside macro calls.
//! The syntax tree is used once, to find which byte ranges belong to tests.

use std::ops::Range;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Meta, Token, punctuated::Punctuated};

use super::violation::Violation;

/// A source file, parsed.
pub(crate) struct Source {
    /// Where it is, relative to the workspace.
    pub(crate) path: PathBuf,
    /// Its module path inside its crate; empty for a crate root.
    pub(crate) modules: Vec<String>,
    /// All of it is test code.
    pub(crate) test: bool,
    /// It has tests that are compiled only under `cfg(garrick_loom)`.
    pub(crate) has_loom_tests: bool,
    /// The file as read.
    pub(crate) text: String,
    /// All tokens; a documentation comment is there as a `doc` attribute.
    pub(crate) tokens: TokenStream,
    /// The syntax tree of the same tokens.
    pub(crate) syntax: syn::File,
    /// The bytes of items compiled for tests only.
    test_ranges: Vec<Range<usize>>,
    /// The bytes of items compiled for loom only.
    loom_ranges: Vec<Range<usize>>,
}

impl Source {
    /// Parses `text`. Fails with the place of the syntax error.
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

    /// Is what stands at `span` compiled for tests only?
    pub(crate) fn in_test(&self, span: Span) -> bool {
        self.is_test_at(span.byte_range().start)
    }

    /// Is what stands at `byte` compiled for tests only?
    fn is_test_at(&self, byte: usize) -> bool {
        self.test || self.test_ranges.iter().any(|range| range.contains(&byte))
    }

    /// Is what stands at `byte` no part of what users build: compiled for tests or for loom only?
    pub(crate) fn is_scaffold_at(&self, byte: usize) -> bool {
        self.is_test_at(byte) || self.loom_ranges.iter().any(|range| range.contains(&byte))
    }

    /// Does `span` stand for a documentation comment?
    pub(crate) fn is_comment(&self, span: Span) -> bool {
        let text = self.text.get(span.byte_range()).unwrap_or("");
        text.starts_with("//") || text.starts_with("/*")
    }

    /// A violation at `span` of this file.
    pub(crate) fn violation(
        &self,
        span: Span,
        wrong: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Violation {
        Violation::new(&self.path, line_of(span), wrong, allowed)
    }

    /// Calls `look` with every run of sibling tokens and each position in it, outside in.
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

/// The line where `span` begins, from 1.
pub(crate) fn line_of(span: Span) -> usize {
    span.start().line
}

/// Is `tree` the identifier `name`?
pub(crate) fn is_ident(tree: Option<&TokenTree>, name: &str) -> bool {
    matches!(tree, Some(TokenTree::Ident(ident)) if ident == name)
}

/// Is `tree` the character `mark`?
pub(crate) fn is_punct(tree: Option<&TokenTree>, mark: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// Is `tree` a group between the given delimiters?
pub(crate) fn is_group(tree: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(tree, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

/// Do the attributes keep their item out of every build but a test's?
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| a.path().is_ident("test")) || requires(attributes, "test")
}

/// Do the `cfg` attributes demand `flag`?
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

/// Collects the byte ranges of test items, and whether any is for loom.
#[derive(Default)]
struct TestFinder {
    ranges: Vec<Range<usize>>,
    loom_ranges: Vec<Range<usize>>,
    /// How many test items enclose the one being visited.
    inside: usize,
    loom: bool,
}

impl TestFinder {
    /// Returns whether an item with these attributes is a test item.
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
