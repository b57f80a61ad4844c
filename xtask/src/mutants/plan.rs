//! All mutants, each with the edit that creates it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::logic::{self, Logic};
use super::reasons::{self, Reason};
use super::rewrite::{Edit, find_loosely};
use super::site::{self, Site};
use super::weaker::{Access, NONE};
use crate::tidy::{self, Source, Violation};
use crate::workspace::Workspace;

/// Packages whose code is mutated, in the order of their layers.
pub(super) const PACKAGES: &[&str] = &["garrick-core", "garrick-steal", "garrick-sched"];

/// A mutant.
#[derive(Debug)]
pub(super) struct Mutant {
    /// Number that selects the mutant in the programs, from 1.
    pub(super) number: usize,
    /// Id of the mutant, which consists of its position and its change.
    pub(super) id: String,
    /// Package of the mutant.
    pub(super) package: &'static str,
    /// File of the mutant, relative to the workspace.
    pub(super) path: PathBuf,
    /// Entry of the table of logic mutants, if this is a logic mutant.
    pub(super) logic: Option<&'static Logic>,
    /// True if the mutant leaves out a fence.
    pub(super) is_no_fence: bool,
    /// Reason why running the mutant is useless. `None` if it is useful.
    pub(super) beyond: Option<Reason>,
    edit: Edit,
}

/// A file with mutants.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) package: &'static str,
    pub(super) text: String,
}

/// All mutants, in the order of their files.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) mutants: Vec<Mutant>,
    pub(super) files: Vec<File>,
}

impl Mutant {
    /// Returns the module below the crate root that contains the mutant.
    pub(super) fn module(&self) -> &str {
        let file = self.id.split(':').next().unwrap_or_default();
        let module = file.split('/').nth(1).unwrap_or_default();
        module.strip_suffix(".rs").unwrap_or(module)
    }

    /// Returns the crate and module of the mutant, as in the headings of the page's tables.
    pub(super) fn part(&self) -> String {
        format!("{}/{}", short(self.package), self.module())
    }

    /// Returns the reason for the mutant's survival, if there is one.
    pub(super) fn reason(&self) -> Option<Reason> {
        self.beyond.or_else(|| reasons::of(&self.id))
    }
}

impl Plan {
    /// Reads the sources.
    ///
    /// # Errors
    /// Returns a violation for each entry of the tables whose text is missing or ambiguous in the
    /// sources.
    pub(super) fn load(workspace: &Workspace) -> Result<Self, Vec<Violation>> {
        let (mut plan, mut violations) = (Self::default(), Vec::new());
        for package in PACKAGES {
            let mut files = HashSet::new();
            for known in workspace.packages.iter().filter(|p| p.name == *package) {
                for source in tidy::library_sources(workspace, known) {
                    let path = below_src(&source.path);
                    violations.extend(plan.add_file(package, &path, &source));
                    files.insert(path);
                }
            }
            for (_, logic) in logic::all().filter(|(owner, _)| owner == package) {
                if !files.contains(logic.file) {
                    let wrong = format!(
                        "the mutant `{}` is for a file that does not exist",
                        logic.name
                    );
                    violations.push(of_tables(wrong, "a file of the crate"));
                }
            }
        }
        violations.extend(plan.check_ids());
        if violations.is_empty() {
            Ok(plan)
        } else {
            Err(violations)
        }
    }

    fn add_file(&mut self, package: &'static str, path: &str, source: &Source) -> Vec<Violation> {
        let mut violations = Vec::new();
        let sites = site::find(source).unwrap_or_else(|violation| {
            violations.push(violation);
            Vec::new()
        });
        let file = format!("{}/{path}", short(package));
        let before = self.mutants.len();
        let mut seen = HashMap::new();
        for site in sites {
            let Site {
                function,
                operation,
                strength,
                ..
            } = &site;
            let name = format!("{file}:{function}:{operation}:{}", strength.name());
            let count = seen.entry(name.clone()).or_insert(0);
            *count += 1;
            let name = if *count > 1 {
                format!("{name}#{count}")
            } else {
                name
            };
            for weaker in strength.weaker(site.access) {
                self.add_ordering(package, source, &site, format!("{name}->{weaker}"), weaker);
            }
        }
        for (owner, logic) in logic::all() {
            if (owner, logic.file) == (package, path) {
                violations.extend(self.add_logic(package, source, &file, logic).err());
            }
        }
        if self.mutants.len() > before {
            self.files.push(File {
                path: source.path.clone(),
                package,
                text: source.text.clone(),
            });
        }
        violations
    }

    fn add_ordering(
        &mut self,
        package: &'static str,
        source: &Source,
        site: &Site,
        id: String,
        weaker: &str,
    ) {
        let (bytes, put) = if weaker == NONE {
            (&site.call, "if MUTANT {} else { ORIGINAL }".to_owned())
        } else {
            let weaker = format!("::core::sync::atomic::Ordering::{weaker}");
            (
                &site.ordering,
                format!("if MUTANT {{ {weaker} }} else {{ ORIGINAL }}"),
            )
        };
        let beyond = if site.operation == "compiler_fence" {
            Some(reasons::COMPILER_FENCE)
        } else if site.strength.name() == "SeqCst"
            && matches!(site.access, Access::Load | Access::Store | Access::Change)
            && weaker != "Relaxed"
        {
            Some(reasons::SEQ_CST)
        } else {
            None
        };
        let mutant = self.add(package, source, id, bytes.clone(), put);
        mutant.is_no_fence = weaker == NONE && site.access == Access::Fence;
        mutant.beyond = beyond;
    }

    fn add_logic(
        &mut self,
        package: &'static str,
        source: &Source,
        file: &str,
        logic: &'static Logic,
    ) -> Result<(), Violation> {
        let id = format!("{file}:{}", logic.name);
        let mut found = find_loosely(&source.text, logic.find);
        found.retain(|bytes| !source.is_scaffold_at(bytes.start));
        let [bytes] = found.as_slice() else {
            let wrong = format!("the text of the mutant `{id}` occurs {} times", found.len());
            let allowed = "exactly once: see `xtask/src/mutants/logic`";
            return Err(Violation::new(&source.path, 1, wrong, allowed));
        };
        let put = logic.put.to_owned();
        self.add(package, source, id, bytes.clone(), put).logic = Some(logic);
        Ok(())
    }

    /// Adds a mutant that replaces these bytes of the file.
    fn add(
        &mut self,
        package: &'static str,
        source: &Source,
        id: String,
        bytes: Range<usize>,
        put: String,
    ) -> &mut Mutant {
        let number = self.mutants.len() + 1;
        self.mutants.push_mut(Mutant {
            number,
            id,
            package,
            path: source.path.clone(),
            logic: None,
            is_no_fence: false,
            beyond: None,
            edit: Edit { number, bytes, put },
        })
    }

    /// Reports duplicate ids, and reasons without a mutant.
    fn check_ids(&self) -> Vec<Violation> {
        let mut known = HashSet::new();
        let twice = self
            .mutants
            .iter()
            .filter(|mutant| !known.insert(mutant.id.as_str()));
        let mut violations: Vec<Violation> = twice
            .map(|mutant| {
                let wrong = format!("two mutants have the id `{}`", mutant.id);
                Violation::new(&mutant.path, 1, wrong, "a different name for each mutant")
            })
            .collect();
        let unknown = reasons::REASONS
            .iter()
            .filter(|(id, _)| !known.contains(id));
        violations.extend(unknown.map(|(id, _)| {
            let wrong = format!("there is a reason for `{id}`, which is not a mutant");
            of_tables(wrong, "an id that `cargo xtask mutants --list` shows")
        }));
        violations
    }

    /// Returns the edits of one file.
    pub(super) fn edits(&self, path: &Path) -> Vec<Edit> {
        let of_file = self.mutants.iter().filter(|mutant| mutant.path == path);
        of_file.map(|mutant| mutant.edit.clone()).collect()
    }
}

/// Returns a violation in the tables of mutants.
fn of_tables(wrong: String, allowed: &str) -> Violation {
    Violation::new(Path::new("xtask/src/mutants"), 1, wrong, allowed)
}

/// Returns `core` for `garrick-core`.
pub(super) fn short(package: &str) -> &str {
    package.strip_prefix("garrick-").unwrap_or(package)
}

/// Returns the path below `src`, with slashes.
fn below_src(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let src = parts
        .iter()
        .position(|part| part == "src")
        .map_or(0, |at| at + 1);
    parts[src..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Plan {
        let path = Path::new("crates/garrick-core/src/a/b.rs");
        let source = Source::parse(path, &[], false, text.to_owned()).expect("valid Rust");
        let mut plan = Plan::default();
        let violations = plan.add_file("garrick-core", &below_src(path), &source);
        assert_eq!(violations, [], "every ordering is an operation's");
        plan
    }

    fn ids(text: &str) -> Vec<String> {
        plan(text)
            .mutants
            .into_iter()
            .map(|mutant| mutant.id)
            .collect()
    }

    const USE: &str = "use std::sync::atomic::Ordering::{AcqRel, Acquire, SeqCst};";

    #[test]
    fn ids_name_file_function_operation_and_change() {
        let text = format!("{USE} fn f() {{ x.load(Acquire); x.swap(1, AcqRel); }}");
        assert_eq!(
            ids(&text),
            [
                "core/a/b.rs:f:load:Acquire->Relaxed",
                "core/a/b.rs:f:swap:AcqRel->Acquire",
                "core/a/b.rs:f:swap:AcqRel->Release",
            ]
        );
    }

    #[test]
    fn the_second_of_two_alike_is_numbered() {
        let text = format!("{USE} fn f() {{ x.load(Acquire); y.load(Acquire); }}");
        assert_eq!(ids(&text)[1], "core/a/b.rs:f:load:Acquire#2->Relaxed");
    }

    #[test]
    fn what_loom_cannot_tell_is_not_run() {
        let text = format!("{USE} fn f() {{ x.swap(1, SeqCst); fence(SeqCst); }}");
        let beyond = |mutant: &Mutant| mutant.beyond.is_some();
        let beyond: Vec<bool> = plan(&text).mutants.iter().map(beyond).collect();
        assert_eq!(beyond, [true, false, false, false]);
    }

    #[test]
    fn parts_are_modules() {
        let text = format!("{USE} fn f() {{ x.load(Acquire); }}");
        assert_eq!(plan(&text).mutants[0].part(), "core/a");
    }
}
