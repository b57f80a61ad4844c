//! Rule: `docs/unsafe.md` has a row for each `unsafe fn` and `unsafe impl` in the crates that may
//! contain `unsafe` code. The document has no other rows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use proc_macro2::{Delimiter, Span, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Signature, Type};

use super::source::{Source, is_group, is_ident};
use super::tree::{Read, Tree};
use super::unsafety::UNSAFE_CRATES;
use super::violation::Violation;
use crate::workspace::{Kind, Package, Workspace};

/// The document with the contracts.
const DOCUMENT: &str = "docs/unsafe.md";

/// Reports every contract without a row and every row without a contract.
pub(crate) fn check(workspace: &Workspace, read: &Read<'_>) -> Vec<Violation> {
    let document = Path::new(DOCUMENT);
    let Some(text) = read(document) else {
        return vec![Violation::new(
            document,
            1,
            "the document is missing",
            "a table of the `unsafe` contracts of each crate that has some",
        )];
    };
    let (rows, mut violations) = rows(document, &text);
    for package in UNSAFE_CRATES {
        let found = workspace.packages.iter().find(|p| p.name == *package);
        let sources = found.map_or_else(Vec::new, |package| library(package, read));
        violations.extend(compare(package, document, &sources, &rows));
    }
    violations
}

fn library(package: &Package, read: &Read<'_>) -> Vec<Source> {
    let is_lib = |target: &&crate::workspace::Target| target.kind == Kind::Lib;
    let libraries = package.targets.iter().filter(is_lib);
    libraries
        .flat_map(|target| Tree::load(&target.path, false, read).sources)
        .collect()
}

/// A row of the document.
struct Row<'a> {
    /// Crate in whose section the row is.
    package: &'a str,
    /// Name of the function or implementation.
    name: &'a str,
    line: usize,
}

/// Returns the rows of all tables in sections whose heading names a crate, and the violations in
/// these rows.
fn rows<'a>(document: &Path, text: &'a str) -> (Vec<Row<'a>>, Vec<Violation>) {
    let (mut rows, mut violations) = (Vec::<Row<'_>>::new(), Vec::new());
    let mut package = "";
    for (index, line) in text.lines().enumerate() {
        let mut fail = |wrong: String, allowed: &str| {
            violations.push(Violation::new(document, index + 1, wrong, allowed));
        };
        if let Some(heading) = line.strip_prefix("## ") {
            package = heading.trim_matches('`');
        }
        let Some(cells) = line.strip_prefix("| `") else {
            continue;
        };
        let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
        let [name, holds, checked, ""] = cells[..] else {
            fail(
                "a row without three cells".to_owned(),
                "`what`, contract, check",
            );
            continue;
        };
        let name = name.trim_end_matches('`');
        if holds.is_empty() || checked.is_empty() {
            fail(
                format!("the row of `{name}` leaves a cell empty"),
                "the obligation of the caller, and how it is checked, or why it cannot be checked",
            );
        }
        if let Some(before) = rows.last()
            && before.package == package
            && before.name >= name
        {
            fail(
                format!(
                    "the row of `{name}` comes after the row of `{}`",
                    before.name
                ),
                "one row for each item, sorted by the first cell",
            );
        }
        rows.push(Row {
            package,
            name,
            line: index + 1,
        });
    }
    (rows, violations)
}

/// Compares the contracts in the sources of one crate with its rows.
fn compare(package: &str, document: &Path, sources: &[Source], rows: &[Row<'_>]) -> Vec<Violation> {
    let (mut contracts, mut violations) = (BTreeMap::new(), Vec::new());
    for source in sources {
        let (found, unseen) = contracts_of(source);
        violations.extend(unseen);
        for (name, span) in found {
            let place = source.violation(
                span,
                format!("`{name}` has no row in {DOCUMENT}"),
                format!(
                    "a row of `{package}` with the obligation of the caller and how it is checked, \
                     or code without `unsafe`"
                ),
            );
            contracts.entry(name).or_insert(place);
        }
    }
    let rows: Vec<&Row<'_>> = rows.iter().filter(|row| row.package == package).collect();
    let named: BTreeSet<&str> = rows.iter().map(|row| row.name).collect();
    for row in rows {
        if !contracts.contains_key(row.name) {
            let wrong = format!("`{}` is not an `unsafe` item of `{package}`", row.name);
            let allowed = "rows of existing items: delete the row, or rename it like its item";
            violations.push(Violation::new(document, row.line, wrong, allowed));
        }
    }
    let missing = contracts.into_iter();
    violations.extend(
        missing
            .filter(|(name, _)| !named.contains(name.as_str()))
            .map(|(_, place)| place),
    );
    violations
}

/// Returns the contracts in the non-test code of one file, and violations for contracts that have
/// no name.
fn contracts_of(source: &Source) -> (Vec<(String, Span)>, Vec<Violation>) {
    let mut finder = Finder {
        path: source.modules.clone(),
        ..Finder::default()
    };
    finder.visit_file(&source.syntax);
    let mut unseen = Vec::new();
    source.each_token(|trees, index| {
        if !is_ident(trees.get(index), "unsafe") || !is_item(&trees[index + 1..]) {
            return;
        }
        let span = trees[index].span();
        if !finder.seen.contains(&span.byte_range().start) && !source.in_test(span) {
            unseen.push(source.violation(
                span,
                "an `unsafe` item that the list of contracts cannot name",
                "an `unsafe fn` or `unsafe impl` that is written out, and not created by a macro",
            ));
        }
    });
    let mut found = finder.found;
    found.retain(|(_, span)| !source.in_test(*span));
    (found, unseen)
}

/// Returns true if the tokens after the word `unsafe` show that the word is part of an item.
/// Blocks, attributes and function types have no contract in the document.
fn is_item(rest: &[TokenTree]) -> bool {
    let rest = if is_ident(rest.first(), "extern") {
        let abi = matches!(rest.get(1), Some(TokenTree::Literal(_)));
        &rest[1 + usize::from(abi)..]
    } else {
        rest
    };
    if is_ident(rest.first(), "fn") {
        return !is_group(rest.get(1), Delimiter::Parenthesis);
    }
    ["impl", "trait", "auto"]
        .iter()
        .any(|word| is_ident(rest.first(), word))
}

/// Collects contracts with their paths.
#[derive(Default)]
struct Finder {
    /// Names of the modules, types and functions that enclose the visited node.
    path: Vec<String>,
    found: Vec<(String, Span)>,
    /// Positions of the word `unsafe` of each contract.
    seen: BTreeSet<usize>,
}

impl Finder {
    fn find(&mut self, name: &str, span: Span) {
        let path = [&self.path[..], &[name.to_owned()]].concat();
        self.found.push((path.join("::"), span));
        let Range { start, .. } = span.byte_range();
        self.seen.insert(start);
    }

    fn find_function(&mut self, signature: &Signature) {
        if let Some(word) = &signature.unsafety {
            self.find(&signature.ident.to_string(), word.span());
        }
    }

    fn inside(&mut self, name: String, visit: impl FnOnce(&mut Self)) {
        self.path.push(name);
        visit(self);
        self.path.pop();
    }
}

/// Returns a type's name, without its path and parameters.
fn name_of(of: &Type) -> String {
    match of {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    }
    .unwrap_or_else(|| of.to_token_stream().to_string())
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        self.inside(node.ident.to_string(), |this| {
            visit::visit_item_mod(this, node);
        });
    }

    fn visit_item_impl(&mut self, node: &'ast syn::ItemImpl) {
        let name = name_of(&node.self_ty);
        if let Some(word) = &node.unsafety {
            let of = node
                .trait_
                .as_ref()
                .and_then(|(_, path, _)| path.segments.last());
            let of = of.map(|last| last.ident.to_string()).unwrap_or_default();
            self.find(&format!("{name}: {of}"), word.span());
        }
        self.inside(name, |this| visit::visit_item_impl(this, node));
    }

    fn visit_item_trait(&mut self, node: &'ast syn::ItemTrait) {
        let name = node.ident.to_string();
        if let Some(word) = &node.unsafety {
            self.find(&name, word.span());
        }
        self.inside(name, |this| visit::visit_item_trait(this, node));
    }

    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.find_function(&node.sig);
        self.inside(node.sig.ident.to_string(), |this| {
            visit::visit_item_fn(this, node);
        });
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.find_function(&node.sig);
        self.inside(node.sig.ident.to_string(), |this| {
            visit::visit_impl_item_fn(this, node);
        });
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        self.find_function(&node.sig);
        self.inside(node.sig.ident.to_string(), |this| {
            visit::visit_trait_item_fn(this, node);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        let modules = ["a".to_owned()];
        Source::parse(Path::new("src/a.rs"), &modules, false, text.to_owned()).expect("valid Rust")
    }

    fn names(text: &str) -> Vec<String> {
        let (found, unseen) = contracts_of(&source(text));
        assert_eq!(unseen, []);
        found.into_iter().map(|(name, _)| name).collect()
    }

    fn compared(code: &str, document: &str) -> Vec<(String, usize)> {
        let path = Path::new(DOCUMENT);
        let (rows, mut violations) = rows(path, document);
        violations.extend(compare("garrick-core", path, &[source(code)], &rows));
        let place = |violation: Violation| (violation.path.display().to_string(), violation.line);
        violations.into_iter().map(place).collect()
    }

    #[test]
    fn contracts_are_named_by_module_type_and_function() {
        let found = names(
            "unsafe fn b() { unsafe fn c() {} }
             impl<T> x::D<T> { const unsafe fn e(&self) { unsafe { f() } } }
             unsafe impl<T: Send> Send for D<T> {}
             mod g { unsafe trait H { unsafe fn i(); } }
             unsafe extern \"C\" fn j() {}",
        );
        let names = [
            "a::b",
            "a::b::c",
            "a::D::e",
            "a::D: Send",
            "a::g::H",
            "a::g::H::i",
            "a::j",
        ];
        assert_eq!(found, names);
    }

    #[test]
    fn blocks_types_of_functions_and_tests_have_no_contract() {
        let text = "struct B { c: unsafe fn(u8), d: unsafe extern \"C\" fn() }
             fn e() { unsafe { f() } }
             #[unsafe(no_mangle)] fn g() {}
             #[cfg(test)] mod tests { unsafe impl Send for B {} unsafe fn h() {} }";
        assert_eq!(names(text), Vec::<String>::new());
    }

    #[test]
    fn a_contract_made_by_a_macro_is_reported_where_it_stands() {
        let code = source("\nmacro_rules! b { ($t:ty) => { unsafe impl Send for $t {} } }");
        let (found, unseen) = contracts_of(&code);
        assert_eq!((found.len(), unseen.len(), unseen[0].line), (0, 1, 2));
    }

    #[test]
    fn a_contract_needs_a_row_and_a_row_a_contract() {
        let code = "\nunsafe fn b() {}";
        let row = "## `garrick-core`\n\n| `a::b` | Holds c. | By d. |\n";
        assert_eq!(compared(code, row), []);
        assert_eq!(compared(code, ""), [("src/a.rs".to_owned(), 2)]);
        assert_eq!(compared("", row), [(DOCUMENT.to_owned(), 3)]);
        let elsewhere = row.replace("core", "sched");
        assert_eq!(compared(code, &elsewhere), [("src/a.rs".to_owned(), 2)]);
    }

    #[test]
    fn rows_are_sorted_have_three_cells_and_none_is_empty() {
        let code = "unsafe fn b() {} unsafe fn c() {}";
        let rows = |rows: &str| compared(code, &format!("## `garrick-core`\n{rows}"));
        let line = |line| vec![(DOCUMENT.to_owned(), line)];
        assert_eq!(rows("| `a::b` | x | y |\n| `a::c` | x | y |"), []);
        assert_eq!(rows("| `a::c` | x | y |\n| `a::b` | x | y |"), line(3));
        assert_eq!(
            rows("| `a::b` | x | y |\n| `a::b` | x | y |\n| `a::c` | x | y |"),
            line(3)
        );
        assert_eq!(rows("| `a::b` | x |  |\n| `a::c` | x | y |"), line(2));
        assert_eq!(rows("| `a::b` | x |\n| `a::c` | x | y |")[0], line(2)[0]);
    }
}
