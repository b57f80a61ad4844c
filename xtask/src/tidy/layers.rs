//! Rule: inside a crate, a module uses only modules declared above it.
//!
//! The order of the `mod` lines in the crate root is the order of the layers. A name that the root
//! re-exports counts as the module that it comes from. Test code and the root are exempt.

use std::collections::HashMap;

use proc_macro2::Span;
use syn::{Item, UseTree};

use super::paths;
use super::source::{Source, is_test};
use super::violation::Violation;

/// Modules of one crate in their order.
#[derive(Debug)]
pub(crate) struct Layers {
    /// Module names, the lowest layer first.
    order: Vec<String>,
    /// Names that the root re-exports, each with its original module.
    aliases: HashMap<String, String>,
}

impl Layers {
    /// Reads the order from a crate root.
    pub(crate) fn of(root: &Source) -> Self {
        let mut layers = Self {
            order: Vec::new(),
            aliases: HashMap::new(),
        };
        for item in &root.syntax.items {
            match item {
                Item::Mod(module) if !is_test(&module.attrs) => {
                    layers.order.push(module.ident.to_string());
                }
                Item::Use(item) => layers.add_aliases(&item.tree, None),
                _ => {}
            }
        }
        layers
    }

    /// Records the names that `tree` imports into the root. `module` is the first word of the path
    /// so far.
    fn add_aliases(&mut self, tree: &UseTree, module: Option<&str>) {
        match tree {
            UseTree::Path(path) => {
                let word = path.ident.to_string();
                let first = match module {
                    None if word == "crate" || word == "self" => None,
                    None => Some(word.as_str()),
                    known => known,
                };
                self.add_aliases(&path.tree, first);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_aliases(tree, module);
                }
            }
            UseTree::Name(name) => self.add_alias(name.ident.to_string(), module),
            UseTree::Rename(name) => self.add_alias(name.rename.to_string(), module),
            UseTree::Glob(_) => {}
        }
    }

    fn add_alias(&mut self, name: String, module: Option<&str>) {
        if let Some(module) = module {
            self.aliases.insert(name, module.to_owned());
        }
    }

    /// Returns the layer of the module with this name in the crate root, or of the module that the
    /// name comes from.
    fn layer(&self, name: &str) -> Option<usize> {
        let position = |name: &str| self.order.iter().position(|module| module == name);
        position(name).or_else(|| position(self.aliases.get(name)?))
    }

    /// Checks one file of the crate.
    pub(crate) fn check(&self, source: &Source) -> Vec<Violation> {
        let Some(own) = source.modules.first().and_then(|name| self.layer(name)) else {
            return Vec::new();
        };
        paths::find(&source.tokens, &["crate", "super"])
            .iter()
            .filter(|path| !source.in_test(path.span))
            .filter_map(|path| {
                let name = name_in_root(path, source.modules.len())?;
                (self.layer(name)? > own).then(|| self.violation(source, path.span, own, name))
            })
            .collect()
    }

    fn violation(&self, source: &Source, span: Span, own: usize, name: &str) -> Violation {
        source.violation(
            span,
            format!(
                "module `{}` uses `crate::{name}`, which is declared below it in the crate root",
                self.order[own]
            ),
            format!("`crate::` {}", self.order[..=own].join(", ")),
        )
    }
}

/// Returns the word of `path` that is resolved in the crate root, if the path reaches that far up.
fn name_in_root(path: &paths::FoundPath, depth_of_file: usize) -> Option<&str> {
    let ups = match path.segments[0].as_str() {
        "crate" => 1,
        _ => {
            let supers = path.segments.iter().take_while(|s| *s == "super").count();
            (supers == depth_of_file + path.depth).then_some(supers)?
        }
    };
    path.segments.get(ups).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const ROOT: &str = "mod low; mod middle; mod high; #[cfg(test)] mod support;
        pub use high::Tower; pub use crate::low::{Floor as Ground};";

    fn parse(modules: &[&str], text: &str) -> Source {
        let modules: Vec<String> = modules.iter().map(|m| (*m).to_owned()).collect();
        Source::parse(Path::new("m.rs"), &modules, false, text.to_owned()).expect("valid Rust")
    }

    fn check(modules: &[&str], text: &str) -> Vec<Violation> {
        Layers::of(&parse(&[], ROOT)).check(&parse(modules, text))
    }

    #[test]
    fn a_module_may_use_itself_and_what_is_above() {
        assert_eq!(
            check(
                &["middle"],
                "use crate::{low, middle::x}; use super::low::y;"
            ),
            []
        );
        assert_eq!(
            check(&["high", "part"], "use super::helper; use crate::Ground;"),
            []
        );
    }

    #[test]
    fn a_module_may_not_use_what_is_below() {
        let found = check(&["middle"], "use std::fmt;\nuse crate::{low, high::Tower};");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
        assert_eq!(found[0].allowed, "`crate::` low, middle");
    }

    #[test]
    fn re_exports_super_and_macros_hide_nothing() {
        assert_eq!(check(&["low"], "use crate::Tower;").len(), 1);
        assert_eq!(
            check(&["low", "part"], "use super::super::high::x;").len(),
            1
        );
        assert_eq!(
            check(&["low"], "mod inner { use super::super::high; }").len(),
            1
        );
        assert_eq!(
            check(&["low"], "fn f() { vec![crate::high::x()]; }").len(),
            1
        );
    }

    #[test]
    fn tests_comments_and_strings_are_exempt() {
        assert_eq!(
            check(&["low"], "#[cfg(test)] mod tests { use crate::high; }"),
            []
        );
        assert_eq!(
            check(&["low"], "// crate::high\nconst S: &str = \"crate::high\";"),
            []
        );
    }

    #[test]
    fn the_root_and_visibilities_are_exempt() {
        assert_eq!(check(&[], "use crate::high;"), []);
        assert_eq!(check(&["low"], "pub(crate) fn f() {}"), []);
    }
}
