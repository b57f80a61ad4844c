//! Rule: a module uses only modules declared above it in the same file.
//!
//! The order of the `mod` lines in a crate root is the order of the crate's layers. The order in a
//! `mod.rs` is the order of the layers in its folder. A name that a file re-exports counts as the
//! module that the name comes from. A file may use all modules that it declares. Test code is
//! exempt.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use syn::{Item, UseTree};

use super::paths::{self, FoundPath};
use super::source::{Source, is_test};
use super::violation::Violation;

/// A ring: a package, a folder in the package, and modules of the folder that may use one another.
type Ring = (&'static str, &'static str, &'static [&'static str]);

/// The rings that still exist. They should be removed, so no ring is added to this list.
const RINGS: &[Ring] = &[
    ("garrick-actor", "future", &["gate", "shared"]),
    ("garrick-actor", "route", &["policy", "router"]),
    ("garrick-actor", "supervise", &["face", "member", "note"]),
    ("garrick-actor", "supervise::crew", &["plan", "slot"]),
    (
        "garrick-core",
        "ring",
        &["consumer", "map", "peek", "poke", "producer"],
    ),
    (
        "garrick-examples",
        "sessions::actors",
        &["lobby", "room", "session"],
    ),
    ("garrick-rivals", "latency", &["garrick", "peers"]),
    (
        "garrick-sched",
        "cell",
        &["envelope", "header", "homes", "inbox", "refs", "state"],
    ),
    (
        "garrick-sched",
        "runtime",
        &[
            "address", "current", "pass", "purse", "room", "sponsor", "stage", "timer", "worker",
        ],
    ),
    (
        "garrick-sched",
        "runtime::sponsor",
        &["crew", "idle", "lent_timers", "looks", "partners", "rescue"],
    ),
    (
        "garrick-sched",
        "runtime::sponsor",
        &["builder", "here", "thread"],
    ),
    ("garrick-sched", "runtime::timer", &["handle", "owners"]),
    (
        "garrick-secure",
        "link",
        &["buffer", "keeper", "reader", "scribe", "source"],
    ),
    ("garrick-steal", "deque", &["stealer", "worker"]),
];

/// The modules of one target, in their order in each folder.
#[derive(Debug)]
pub(crate) struct Layers {
    package: String,
    /// The folders, by their paths in the crate. The path of the root is empty.
    folders: HashMap<Vec<String>, Folder>,
    /// Indices in [`RINGS`] of the rings for which a use of a higher layer was found.
    found: RefCell<BTreeSet<usize>>,
}

/// The modules that one file declares.
#[derive(Debug, Default)]
struct Folder {
    /// Module names, the lowest layer first.
    order: Vec<String>,
    /// Names that the file re-exports, with the module that each name comes from.
    aliases: HashMap<String, String>,
}

impl Layers {
    /// Reads the order of the modules from the sources of a target of `package`.
    pub(crate) fn of(package: &str, sources: &[Source]) -> Self {
        let folder = |source: &Source| (source.modules.clone(), Folder::of(source));
        Self {
            package: package.to_owned(),
            folders: sources.iter().map(folder).collect(),
            found: RefCell::default(),
        }
    }

    /// Checks one file of the target.
    pub(crate) fn check(&self, source: &Source) -> Vec<Violation> {
        paths::find(&source.tokens, &["crate", "super"])
            .iter()
            .filter(|path| !source.in_test(path.span))
            .filter_map(|path| self.check_path(source, path))
            .collect()
    }

    fn check_path(&self, source: &Source, path: &FoundPath) -> Option<Violation> {
        let used = from_root(path, &source.modules)?;
        let own = &source.modules;
        let shared = own.iter().zip(&used).take_while(|(a, b)| a == b).count();
        // A file may use the modules that it declares.
        let here = own.get(shared)?;
        let name = used.get(shared)?;
        let folder = self.folders.get(&own[..shared])?;
        let layer = folder.layer(here)?;
        let is_below = folder.layer(name)? > layer;
        (is_below && !self.is_ring(&own[..shared], here, folder.module(name)?)).then(|| {
            let place = crate_path(&own[..shared]);
            source.violation(
                path.span,
                format!("module `{here}` uses `{place}{name}`, which is declared below it"),
                format!("`{place}` {}", folder.order[..=layer].join(", ")),
            )
        })
    }

    /// Returns true if two modules of a folder are in one ring of [`RINGS`].
    fn is_ring(&self, folder: &[String], one: &str, other: &str) -> bool {
        let folder = folder.join("::");
        let place = RINGS.iter().position(|(package, place, ring)| {
            *package == self.package
                && *place == folder
                && ring.contains(&one)
                && ring.contains(&other)
        });
        self.found.borrow_mut().extend(place);
        place.is_some()
    }

    /// Returns a violation for each listed ring of the package that no longer exists, or that
    /// contains a missing module. Must be called after all files of the target have been checked.
    pub(crate) fn check_rings(&self) -> Vec<Violation> {
        let found = self.found.borrow();
        let mut violations = Vec::new();
        for (at, (package, place, ring)) in RINGS.iter().enumerate() {
            if *package != self.package {
                continue;
            }
            let words: Vec<String> = place.split("::").map(str::to_owned).collect();
            let folder = self.folders.get(&words);
            let is_there =
                |module: &&str| folder.is_some_and(|folder| folder.layer(module).is_some());
            if found.contains(&at) && ring.iter().all(is_there) {
                continue;
            }
            violations.push(Violation::new(
                Path::new("xtask/src/tidy/layers.rs"),
                1,
                format!(
                    "the ring {} in `{place}` of `{package}` no longer exists",
                    ring.join(", ")
                ),
                "a list of the rings that still exist, with existing modules",
            ));
        }
        violations
    }
}

impl Folder {
    fn of(source: &Source) -> Self {
        let mut folder = Self::default();
        for item in &source.syntax.items {
            match item {
                Item::Mod(module) if !is_test(&module.attrs) => {
                    folder.order.push(module.ident.to_string());
                }
                Item::Use(item) => folder.add_aliases(&item.tree, None),
                _ => {}
            }
        }
        folder
    }

    /// Records the names that `tree` imports into the file. `module` is the first word of the path
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

    /// Returns the layer of a module. `name` is the name of the module, or a name that the file
    /// re-exports from it.
    fn layer(&self, name: &str) -> Option<usize> {
        let position = |name: &str| self.order.iter().position(|module| module == name);
        position(name).or_else(|| position(self.aliases.get(name)?))
    }

    /// Returns the name of a module. `name` is the name of the module, or a name that the file
    /// re-exports from it.
    fn module(&self, name: &str) -> Option<&str> {
        self.layer(name).map(|layer| self.order[layer].as_str())
    }
}

/// Returns the words of a path, beginning at the crate root. `modules` is the path of the module
/// whose file contains `path`. Returns `None` if the path leads out of the crate.
fn from_root(path: &FoundPath, modules: &[String]) -> Option<Vec<String>> {
    if path.segments[0] == "crate" {
        return Some(path.segments[1..].to_vec());
    }
    let supers = path.segments.iter().take_while(|s| *s == "super").count();
    // The first `super`s leave inline modules of the file.
    let ups = supers.checked_sub(path.depth)?;
    let kept = modules.len().checked_sub(ups)?;
    let mut words = modules[..kept].to_vec();
    words.extend_from_slice(&path.segments[supers..]);
    Some(words)
}

/// Returns the path of a module as it is written in code, with `::` at its end.
fn crate_path(modules: &[String]) -> String {
    let words = ["crate"]
        .into_iter()
        .chain(modules.iter().map(String::as_str));
    words.map(|word| format!("{word}::")).collect()
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
        check_in(&[parse(&[], ROOT)], modules, text)
    }

    fn check_in(others: &[Source], modules: &[&str], text: &str) -> Vec<Violation> {
        Layers::of("garrick-sched", others).check(&parse(modules, text))
    }

    fn folder() -> [Source; 2] {
        let front = "mod first; mod second; pub(crate) use second::Name; pub(crate) struct Shared;";
        [parse(&[], ROOT), parse(&["middle"], front)]
    }

    #[test]
    fn a_listed_ring_that_is_cut_is_found() {
        let timer = ("garrick-sched", "runtime::timer", ["handle", "owners"]);
        let front = "pub(crate) mod handle; mod owners;";
        let own = [parse(&["runtime", "timer"], front)];
        let layers = Layers::of(timer.0, &own);
        let wrong = |layers: &Layers| -> Vec<String> {
            let found = layers.check_rings().into_iter();
            found.map(|violation| violation.wrong).collect()
        };
        let about = |wrong: &[String]| wrong.iter().any(|wrong| wrong.contains(timer.1));
        assert!(about(&wrong(&layers)), "nothing uses what is below it");
        let source = parse(&["runtime", "timer", "handle"], "use super::owners::x;");
        assert!(layers.check(&source).is_empty());
        assert!(!about(&wrong(&layers)));
        let without = [parse(&["runtime", "timer"], "pub(crate) mod handle;")];
        assert!(
            about(&wrong(&Layers::of(timer.0, &without))),
            "a module is gone"
        );
    }

    #[test]
    fn the_order_holds_inside_a_folder_too() {
        let check = |modules: &[&str], text: &str| check_in(&folder(), modules, text);
        for text in [
            "use super::second::x;",
            "use crate::middle::second::x;",
            "use super::Name;",
            "mod inner { use super::super::second; }",
        ] {
            let found = check(&["middle", "first"], text);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].allowed, "`crate::middle::` first");
        }
        assert_eq!(
            check(&["middle", "first", "part"], "use super::super::Name;").len(),
            1
        );
    }

    #[test]
    fn a_ring_is_free_inside_and_holds_to_the_order_outside() {
        let front = "mod first; mod owners; mod handle; mod last;";
        let folder = [
            parse(&[], "mod runtime;"),
            parse(&["runtime"], "mod timer;"),
            parse(&["runtime", "timer"], front),
        ];
        let check =
            |file: &str, text: &str| check_in(&folder, &["runtime", "timer", file], text).len();
        assert_eq!(check("owners", "use super::handle;"), 0);
        assert_eq!(check("owners", "use super::last;"), 1);
        assert_eq!(check("first", "use super::handle;"), 1);
    }

    #[test]
    fn inside_a_folder_what_is_above_and_what_the_front_file_has_is_free() {
        let check = |modules: &[&str], text: &str| check_in(&folder(), modules, text);
        assert_eq!(
            check(
                &["middle", "second"],
                "use super::first; use super::Shared;"
            ),
            []
        );
        assert_eq!(
            check(
                &["middle", "first"],
                "use super::Shared; use super::first::x;"
            ),
            []
        );
        assert_eq!(check(&["middle"], "use crate::middle::second;"), []);
        assert_eq!(check(&["middle", "first"], "use crate::low;"), []);
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
