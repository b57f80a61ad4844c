//! The project's own rules, which neither rustc nor clippy checks. They are checked in the whole
//! workspace.
//!
//! | module | rules |
//! | --- | --- |
//! | [`layers`] | a module uses only modules declared above it in the same file |
//! | [`crates`] | a crate depends only on crates of a lower rank |
//! | [`length`] | a function has at most 70 lines, a file has fewer than 500 lines of code |
//! | [`documents`] | README and ARCHITECTURE name every crate, ARCHITECTURE every module of a crate root |
//! | [`links`] | each relative link of a page leads to a file or a heading, and the index lists each guide |
//! | [`packages`] | a public crate has what its package needs |
//! | [`english`] | no doc comment opens with a word that refers to another place |
//! | [`unsafety`] | `unsafe` is allowed in three crates, and forbidden in the roots of all others |
//! | [`contracts`] | `docs/unsafe.md` has a row for each `unsafe fn` and `unsafe impl` |
//! | [`names`] | the root of the facade has at most 45 names |
//! | [`unfinished`] | there is no mark of unfinished work, and no test that is skipped or sleeps |
//! | [`imports`] | atomics are imported through `prim`, and no `lib.rs` has a glob re-export |
//! | [`includes`] | no `#[path]` points to a file outside of its package |
//! | [`orders`] | the actor model uses no collection whose order differs from run to run |
//! | [`tree`] | a `mod` line leads to every file under `src/` |

mod violation;

mod source;

mod paths;
mod tree;

mod crates;
mod documents;
mod english;
mod imports;
mod includes;
mod layers;
mod length;
mod links;
mod names;
mod orders;
mod packages;
mod unfinished;
mod unsafety;

mod contracts;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

pub(crate) use names::of_root as names_of_root;
pub(crate) use source::{Source, is_ident, is_punct};
pub(crate) use violation::Violation;

use crate::workspace::{Kind, Package, Target, Workspace};
use layers::Layers;
use tree::Tree;

/// The results of tidy.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Number of source files read.
    pub(crate) files: usize,
    /// Violations of the rules, sorted by their positions.
    pub(crate) violations: BTreeSet<Violation>,
}

/// Checks every rule over the whole workspace.
pub(crate) fn check(workspace: &Workspace) -> Result<Findings> {
    let read = |path: &Path| fs::read_to_string(workspace.root.join(path)).ok();
    let mut findings = Findings::default();
    findings.violations.extend(crates::check(workspace, &read));
    findings
        .violations
        .extend(documents::check(workspace, &read));
    findings
        .violations
        .extend(packages::check(workspace, &read));
    findings
        .violations
        .extend(contracts::check(workspace, &read));
    let exists = |path: &Path| workspace.root.join(path).exists();
    findings
        .violations
        .extend(links::check(&workspace.pages()?, &read, &exists));
    for package in &workspace.packages {
        findings.check_package(workspace, package, &read)?;
    }
    Ok(findings)
}

/// Returns the targets of the given kinds whose sources contain `word`, with their packages.
/// Excludes this package, which contains the word only because it searches for it.
pub(crate) fn targets_that_mention<'a>(
    workspace: &'a Workspace,
    kinds: &[Kind],
    word: &str,
) -> Vec<(&'a Package, &'a Target)> {
    let read = |path: &Path| fs::read_to_string(workspace.root.join(path)).ok();
    // The files of a target are in the folder of its package. Few packages contain the word, and
    // reading all files is quicker than parsing them.
    let in_files = |package: &Package| {
        let files = workspace.rust_files(&package.dir).unwrap_or_default();
        let mut texts = files.iter().filter_map(|path| read(path));
        texts.any(|text| text.contains(word))
    };
    let packages: BTreeSet<&str> = workspace
        .packages
        .iter()
        .filter(|package| package.name != env!("CARGO_PKG_NAME") && in_files(package))
        .map(|package| &*package.name)
        .collect();
    let mentions = |(_, target): &(&Package, &Target)| {
        let tree = Tree::load(&target.path, target.kind == Kind::Test, &read);
        tree.sources.iter().any(|source| source.text.contains(word))
    };
    kinds
        .iter()
        .flat_map(|kind| workspace.targets(*kind))
        .filter(|(package, _)| packages.contains(&*package.name))
        .filter(mentions)
        .collect()
}

/// Returns the sources of a package's library, in the order of their paths.
pub(crate) fn library_sources(workspace: &Workspace, package: &Package) -> Vec<Source> {
    let read = |path: &Path| fs::read_to_string(workspace.root.join(path)).ok();
    let mut sources: Vec<Source> = package
        .targets
        .iter()
        .filter(|target| target.kind == Kind::Lib)
        .flat_map(|target| Tree::load(&target.path, false, &read).sources)
        .collect();
    sources.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// Returns the packages with tests that run only under loom.
pub(crate) fn packages_with_loom_tests(workspace: &Workspace) -> Vec<&Package> {
    let read = |path: &Path| fs::read_to_string(workspace.root.join(path)).ok();
    let has_loom_tests = |package: &&Package| {
        package
            .targets
            .iter()
            .filter(|target| target.kind == Kind::Lib)
            .flat_map(|target| Tree::load(&target.path, false, &read).sources)
            .any(|source| source.has_loom_tests)
    };
    workspace.packages.iter().filter(has_loom_tests).collect()
}

impl Findings {
    fn check_package(
        &mut self,
        workspace: &Workspace,
        package: &Package,
        read: &tree::Read<'_>,
    ) -> Result<()> {
        let mut reached = BTreeSet::new();
        for target in &package.targets {
            let test = target.kind == Kind::Test || package.name == "garrick-tests";
            let tree = Tree::load(&target.path, test, read);
            reached.extend(tree.sources.iter().map(|source| source.path.clone()));
            if let Some(root) = tree.sources.first() {
                self.check_root(package, target.kind, root);
                self.check_sources(package, target.kind, &tree.sources);
            }
            if target.kind == Kind::Lib {
                self.check_library(package, &tree.sources);
                if let Some(root) = tree.sources.first()
                    && package.dir.starts_with("crates")
                {
                    self.violations
                        .extend(documents::check_modules(&package.name, root, read));
                }
            }
            self.violations.extend(tree.violations);
        }
        self.files += reached.len();
        let files = workspace.rust_files(&package.dir.join("src"))?;
        let reached: Vec<&Path> = reached.iter().map(PathBuf::as_path).collect();
        self.violations.extend(tree::dead_files(&files, &reached));
        Ok(())
    }

    fn check_root(&mut self, package: &Package, kind: Kind, root: &Source) {
        if matches!(kind, Kind::Lib | Kind::Bin) {
            self.violations
                .extend(unsafety::check_root(&package.name, root));
        }
        if kind == Kind::Lib {
            self.violations.extend(imports::globs(root));
            self.violations.extend(names::check(&package.name, root));
        }
    }

    /// Checks the rules that apply only to libraries. The rule about atomics does so because only
    /// libraries are modelled with loom. The rule about the order of collections does so because
    /// only the effects of libraries need a fixed order.
    fn check_library(&mut self, package: &Package, sources: &[Source]) {
        for source in sources {
            self.violations
                .extend(imports::atomics(&package.name, source));
            self.violations.extend(orders::check(&package.name, source));
        }
    }

    fn check_sources(&mut self, package: &Package, kind: Kind, sources: &[Source]) {
        let layers = Layers::of(&package.name, sources);
        for source in sources {
            self.violations.extend(layers.check(source));
            self.violations
                .extend(includes::check(&package.dir, source));
            self.violations.extend(length::functions(source));
            self.violations.extend(length::file(source));
            self.violations
                .extend(unsafety::check(&package.name, source));
            self.violations.extend(unfinished::check(source));
            self.violations.extend(english::check(source));
            self.violations.extend(english::widths(source));
        }
        let has_library = package
            .targets
            .iter()
            .any(|target| target.kind == Kind::Lib);
        if kind == Kind::Lib || kind == Kind::Bin && !has_library {
            self.violations.extend(layers.check_rings());
        }
    }
}
