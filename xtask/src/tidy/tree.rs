//! The files of a target. Like the compiler, the search follows the `mod` lines.

use std::path::{Path, PathBuf};

use syn::{Expr, ExprLit, Item, ItemMod, Lit, Meta};

use super::source::{Source, is_test, line_of};
use super::violation::Violation;

/// A function that returns the text of a file, or `None` if the file does not exist.
pub(crate) type Read<'a> = dyn Fn(&Path) -> Option<String> + 'a;

/// The sources of one target, beginning with its root, and the violations found while reading them.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) sources: Vec<Source>,
    pub(crate) violations: Vec<Violation>,
}

/// A file that has not been read yet.
struct Pending {
    path: PathBuf,
    modules: Vec<String>,
    test: bool,
}

/// The position of a `mod` line.
struct Scope<'a> {
    file: &'a Path,
    /// Folder with the files of the modules that are declared at this position.
    dir: PathBuf,
    modules: Vec<String>,
    test: bool,
}

impl Tree {
    /// Reads the target with the root file `root`. `test` is true if the whole target is test code.
    pub(crate) fn load(root: &Path, test: bool, read: &Read<'_>) -> Self {
        let mut tree = Self::default();
        let mut pending = vec![Pending {
            path: root.to_owned(),
            modules: Vec::new(),
            test,
        }];
        while let Some(file) = pending.pop() {
            let Some(text) = read(&file.path) else {
                tree.fail(
                    &file.path,
                    1,
                    "the file does not exist",
                    "a target whose root file exists",
                );
                continue;
            };
            match Source::parse(&file.path, &file.modules, file.test, text) {
                Ok(source) => {
                    tree.follow(&source, &mut pending, read);
                    tree.sources.push(source);
                }
                Err(violation) => tree.violations.push(violation),
            }
        }
        tree
    }

    fn follow(&mut self, source: &Source, pending: &mut Vec<Pending>, read: &Read<'_>) {
        let scope = Scope {
            file: &source.path,
            dir: folder_of_modules(source),
            modules: source.modules.clone(),
            test: source.test,
        };
        self.follow_items(&source.syntax.items, &scope, pending, read);
    }

    fn follow_items(
        &mut self,
        items: &[Item],
        scope: &Scope<'_>,
        pending: &mut Vec<Pending>,
        read: &Read<'_>,
    ) {
        for item in items {
            let Item::Mod(module) = item else { continue };
            let name = module.ident.to_string();
            let inner = Scope {
                file: scope.file,
                dir: scope.dir.join(&name),
                modules: [&scope.modules[..], &[name]].concat(),
                test: scope.test || is_test(&module.attrs),
            };
            if let Some((_, items)) = &module.content {
                self.follow_items(items, &inner, pending, read);
            } else if let Some(path) = file_of(module, scope, read) {
                pending.push(Pending {
                    path,
                    modules: inner.modules,
                    test: inner.test,
                });
            } else {
                let line = line_of(module.ident.span());
                let wrong = format!("`mod {};` has no file", module.ident);
                self.fail(scope.file, line, &wrong, "a file for every `mod` line");
            }
        }
    }

    fn fail(&mut self, path: &Path, line: usize, wrong: &str, allowed: &str) {
        self.violations
            .push(Violation::new(path, line, wrong, allowed));
    }
}

/// Returns the folder of the modules that a file declares: `src/` for `src/lib.rs` and every other
/// root, `a/` for `a/mod.rs`, `a/b/` for `a/b.rs`.
fn folder_of_modules(source: &Source) -> PathBuf {
    let parent = source.path.parent().unwrap_or(Path::new(""));
    let stem = source.path.file_stem().unwrap_or_default();
    if source.modules.is_empty() || stem == "mod" {
        parent.to_owned()
    } else {
        parent.join(stem)
    }
}

fn file_of(module: &ItemMod, scope: &Scope<'_>, read: &Read<'_>) -> Option<PathBuf> {
    let candidates = match path_attribute(module) {
        Some(path) => vec![scope.file.parent()?.join(path)],
        None => vec![
            scope.dir.join(format!("{}.rs", module.ident)),
            scope.dir.join(module.ident.to_string()).join("mod.rs"),
        ],
    };
    candidates.into_iter().find(|path| read(path).is_some())
}

/// Returns the value of `#[path = ".."]`.
fn path_attribute(module: &ItemMod) -> Option<String> {
    module.attrs.iter().find_map(|attribute| {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("path")
            && let Expr::Lit(ExprLit {
                lit: Lit::Str(path),
                ..
            }) = &pair.value
        {
            Some(path.value())
        } else {
            None
        }
    })
}

/// Returns a violation for each of `files` that is not among the `reached` files of all targets.
pub(crate) fn dead_files(files: &[PathBuf], reached: &[&Path]) -> Vec<Violation> {
    files
        .iter()
        .filter(|file| !reached.contains(&file.as_path()))
        .map(|file| {
            Violation::new(
                file,
                1,
                "no `mod` line leads to this file, so nothing compiles it",
                "a `mod` line for the file: add it, or delete the file",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(files: &[(&str, &str)]) -> Tree {
        Tree::load(Path::new("src/lib.rs"), false, &|path| {
            files
                .iter()
                .find(|(name, _)| Path::new(name) == path)
                .map(|(_, text)| (*text).to_owned())
        })
    }

    fn paths(tree: &Tree) -> Vec<&str> {
        let mut paths: Vec<_> = tree
            .sources
            .iter()
            .filter_map(|s| s.path.to_str())
            .collect();
        paths.sort_unstable();
        paths
    }

    #[test]
    fn follows_files_folders_inline_modules_and_path_attributes() {
        let tree = load(&[
            (
                "src/lib.rs",
                "mod a; mod b { mod c; } #[path = \"x/y.rs\"] mod d;",
            ),
            ("src/a/mod.rs", "mod e;"),
            ("src/a/e.rs", "mod f;"),
            ("src/a/e/f.rs", ""),
            ("src/b/c.rs", ""),
            ("src/x/y.rs", ""),
        ]);
        assert_eq!(tree.violations, Vec::new());
        assert_eq!(
            paths(&tree),
            [
                "src/a/e.rs",
                "src/a/e/f.rs",
                "src/a/mod.rs",
                "src/b/c.rs",
                "src/lib.rs",
                "src/x/y.rs"
            ]
        );
    }

    #[test]
    fn a_test_module_makes_its_files_test_code() {
        let tree = load(&[
            ("src/lib.rs", "#[cfg(test)] mod tests;"),
            ("src/tests.rs", "mod inner;"),
            ("src/tests/inner.rs", ""),
        ]);
        assert!(tree.sources[1..].iter().all(|source| source.test));
        assert!(!tree.sources[0].test);
    }

    #[test]
    fn a_mod_line_without_a_file_is_reported_where_it_stands() {
        let tree = load(&[("src/lib.rs", "\nmod a;")]);
        assert_eq!(tree.violations[0].line, 2);
    }

    #[test]
    fn a_file_that_nothing_reaches_is_dead() {
        let files = [PathBuf::from("src/a.rs"), PathBuf::from("src/b.rs")];
        let dead = dead_files(&files, &[Path::new("src/a.rs")]);
        assert_eq!(dead.len(), 1);
        assert_eq!(dead[0].path, Path::new("src/b.rs"));
    }
}
