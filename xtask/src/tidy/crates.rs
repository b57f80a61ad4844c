//! Rule: a crate depends only on crates of a lower rank.

use std::path::Path;

use super::violation::Violation;
use crate::workspace::{Package, Workspace};

/// The rank of each crate. A crate may depend only on crates of a lower rank, so two crates of the
/// same rank never use each other.
const RANKS: &[(&str, u32)] = &[
    ("garrick-core", 0),
    ("garrick-sched", 1),
    ("garrick-steal", 1),
    ("garrick-actor", 2),
    ("garrick-flow", 2),
    ("garrick-macros", 2),
    (KIT, 2),
    ("garrick-measure", 3),
    ("garrick-secure", 3),
    ("garrick-sim", 3),
    ("garrick-telemetry", 3),
    ("garrick-tokio", 3),
    ("garrick-wire", 3),
    ("garrick-journal", 4),
    ("garrick-cluster", 5),
    ("garrick", 6),
    ("garrick-top", 6),
    ("garrick-bench", 7),
    ("garrick-cli", 8),
    ("garrick-examples", 8),
    ("garrick-rivals", 8),
    ("starter", 8),
    ("bank-service", 8),
    ("chat-server", 8),
    ("csv-pipeline", 8),
    ("life", 8),
    ("market-data", 8),
    (ALONE, 8),
    // `garrick-tests` also tests the library of the examples.
    ("garrick-tests", 9),
    ("garrick-macro-errors", 9),
];

/// The crate that must build even if no other crate builds. It uses no other crate of the
/// workspace, and no other crate uses it.
const ALONE: &str = "xtask";

/// The crate with tools for tests. The tests of all crates may use it, including the tests of
/// crates on which it depends.
const KIT: &str = "garrick-testkit";

/// Checks the dependencies of every member. `read` returns the text of a manifest. In this text,
/// the check finds the line of a forbidden dependency.
pub(crate) fn check(workspace: &Workspace, read: &super::tree::Read<'_>) -> Vec<Violation> {
    workspace
        .packages
        .iter()
        .flat_map(|package| check_package(package, read))
        .collect()
}

fn check_package(package: &Package, read: &super::tree::Read<'_>) -> Vec<Violation> {
    let manifest = package.dir.join("Cargo.toml");
    let text = read(&manifest).unwrap_or_default();
    let Some(own) = rank(&package.name) else {
        return vec![unranked(&manifest, &package.name)];
    };
    let is_wrong = |name: &str| {
        let related = package.name == ALONE || name == ALONE;
        rank(name).is_some_and(|rank| rank >= own || related)
    };
    let of_all = package.dependencies.iter();
    let of_all = of_all.filter(|name| *name == KIT || is_wrong(name));
    let may_test = |name: &str| {
        // A crate depends on itself to enable its features for its tests.
        let is_itself = package.name == name;
        is_itself || name == KIT && package.name != ALONE
    };
    let of_tests = package.test_dependencies.iter();
    let of_tests = of_tests.filter(|name| is_wrong(name) && !may_test(name));
    of_all
        .chain(of_tests)
        .map(|name| {
            Violation::new(
                &manifest,
                line_of_dependency(&text, name),
                format!("`{}` depends on `{name}`, {}", package.name, why_not(name)),
                allowed_for(&package.name, own),
            )
        })
        .collect()
}

fn why_not(name: &str) -> &'static str {
    if name == KIT {
        "which is only for tests"
    } else {
        "whose rank is not lower"
    }
}

fn unranked(manifest: &Path, name: &str) -> Violation {
    Violation::new(
        manifest,
        1,
        format!("`{name}` has no rank"),
        "crates in the table RANKS of xtask/src/tidy/crates.rs: add the crate there",
    )
}

fn rank(name: &str) -> Option<u32> {
    let (_, rank) = RANKS.iter().find(|(known, _)| *known == name)?;
    Some(*rank)
}

fn allowed_for(package: &str, own: u32) -> String {
    let below: Vec<&str> = RANKS
        .iter()
        .filter(|(name, rank)| *rank < own && *name != KIT && package != ALONE)
        .map(|(name, _)| *name)
        .collect();
    match below.as_slice() {
        [] => "no crate of the workspace".to_owned(),
        names => names.join(", "),
    }
}

fn line_of_dependency(text: &str, name: &str) -> usize {
    text.lines()
        .position(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        })
        .map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_one(name: &str, dependencies: &[&str]) -> Vec<Violation> {
        check_both(name, dependencies, &[])
    }

    fn check_both(name: &str, dependencies: &[&str], of_tests: &[&str]) -> Vec<Violation> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let package = Package {
            name: name.to_owned(),
            dir: Path::new("crates").join(name),
            dependencies: owned(dependencies),
            test_dependencies: owned(of_tests),
            ..Package::default()
        };
        let manifest: String = dependencies
            .iter()
            .map(|name| format!("{name}.workspace = true\n"))
            .collect();
        check_package(&package, &|_| Some(format!("[dependencies]\n{manifest}")))
    }

    #[test]
    fn downwards_and_outside_are_allowed() {
        assert_eq!(check_one("garrick-core", &["crossbeam-utils", "loom"]), []);
        assert_eq!(
            check_one("garrick-flow", &["garrick-sched", "garrick-core"]),
            []
        );
        assert_eq!(
            check_one("garrick-bench", &["clap", "garrick", "garrick-measure"]),
            []
        );
    }

    #[test]
    fn upwards_and_sideways_are_not() {
        let up = check_one("garrick-core", &["libc", "garrick-sched"]);
        assert_eq!(up.len(), 1);
        assert_eq!(up[0].line, 3);
        assert_eq!(up[0].allowed, "no crate of the workspace");
        assert_eq!(check_one("garrick-actor", &["garrick-flow"]).len(), 1);
        assert_eq!(check_one("garrick-flow", &["garrick-actor"]).len(), 1);
        assert_eq!(check_one("garrick-sched", &["garrick"]).len(), 1);
    }

    #[test]
    fn the_kit_is_for_the_tests_of_all_and_for_nothing_else() {
        assert_eq!(check_both("garrick-core", &[], &["garrick-testkit"]), []);
        assert_eq!(check_both("garrick-tests", &[], &["garrick-testkit"]), []);
        assert_eq!(check_one("garrick-testkit", &["garrick-sched"]), []);
        assert_eq!(check_one("garrick-testkit", &["garrick-actor"]).len(), 1);
        assert_eq!(check_one("garrick-bench", &["garrick-testkit"]).len(), 1);
        assert_eq!(check_both("xtask", &[], &["garrick-testkit"]).len(), 1);
    }

    #[test]
    fn tests_look_no_further_up_than_the_rest() {
        assert_eq!(check_both("garrick-flow", &[], &["garrick-core"]), []);
        assert_eq!(check_both("garrick-core", &[], &["garrick-sched"]).len(), 1);
    }

    #[test]
    fn neither_the_macros_nor_their_tests_use_the_facade() {
        assert_eq!(check_both("garrick-macros", &[], &["garrick"]).len(), 1);
        assert_eq!(check_one("garrick-macros", &["garrick"]).len(), 1);
        assert_eq!(check_both("garrick-actor", &[], &["garrick"]).len(), 1);
    }

    #[test]
    fn xtask_stands_alone() {
        assert_eq!(check_one("xtask", &["clap"]), []);
        assert_eq!(check_one("xtask", &["garrick-core"]).len(), 1);
        assert_eq!(check_one("garrick-tests", &["xtask"]).len(), 1);
    }

    #[test]
    fn a_new_crate_must_be_given_a_place() {
        assert_eq!(check_one("garrick-new", &[]).len(), 1);
    }
}
