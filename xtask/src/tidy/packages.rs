//! Rule: a public crate has all that its package needs.

use std::path::Path;

use super::tree::Read;
use super::violation::Violation;
use crate::pages::links;
use crate::workspace::{Package, Workspace};

/// Largest number of keywords, and of categories, that the registry accepts.
const WORDS_MAX: usize = 5;

/// Page that the registry shows for a crate.
const README: &str = "README.md";

/// Files in the folder of a public crate.
const FILES: &[&str] = &[README, "LICENSE-APACHE", "LICENSE-MIT"];

/// Texts in the manifest of a public crate, with their reasons.
const LINES: &[(&str, &str)] = &[
    (
        "\ninclude = [",
        "a list of the files that its package needs",
    ),
    (
        "\n[package.metadata.docs.rs]\nall-features = true\n",
        "documentation of all features",
    ),
];

/// Checks every public crate. `read` returns the text of a file.
pub(crate) fn check(workspace: &Workspace, read: &Read<'_>) -> Vec<Violation> {
    let public = workspace.public();
    public
        .iter()
        .flat_map(|package| check_package(package, read))
        .collect()
}

fn check_package(package: &Package, read: &Read<'_>) -> Vec<Violation> {
    let manifest = package.dir.join("Cargo.toml");
    let text = read(&manifest).unwrap_or_default();
    let mut wrong = Vec::new();
    for file in FILES {
        if read(&package.dir.join(file)).is_none() {
            wrong.push((
                format!("has no file {file}"),
                format!("the file {file} in its folder"),
            ));
        }
    }
    for (line, reason) in LINES {
        if !text.contains(line) {
            let line = line.trim().replace('\n', ", ");
            wrong.push((format!("has no `{line}`"), (*reason).to_owned()));
        }
    }
    for (words, count) in [
        ("keywords", package.keywords),
        ("categories", package.categories),
    ] {
        if !(1..=WORDS_MAX).contains(&count) {
            let allowed = format!("1 to {WORDS_MAX} {words}");
            wrong.push((format!("has {count} {words}"), allowed));
        }
    }
    for target in links_to_files(&read(&package.dir.join(README)).unwrap_or_default()) {
        wrong.push((
            format!("links from its {README} to the file `{target}`, which the registry lacks"),
            "addresses of the web, and headings".to_owned(),
        ));
    }
    let of_crate = |(what, allowed): (String, String)| {
        let what = format!("the public crate `{}` {what}", package.name);
        Violation::new(Path::new(&manifest), 1, what, allowed)
    };
    wrong.into_iter().map(of_crate).collect()
}

/// Returns the links of a page to files of the repository.
fn links_to_files(text: &str) -> Vec<&str> {
    let to_files = |(path, _): &(&str, &str)| !path.is_empty();
    let parts = links(text).into_iter().filter_map(|link| link.parts());
    parts.filter(to_files).map(|(path, _)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\ninclude = [\"/src\"]\n\n\
                            [package.metadata.docs.rs]\nall-features = true\n";

    fn count(manifest: &str, keywords: usize, missing: &str) -> usize {
        let package = Package {
            dir: "crates/a".into(),
            keywords,
            categories: 1,
            ..Package::default()
        };
        let read = |path: &Path| {
            if path.ends_with("Cargo.toml") {
                return Some(manifest.to_owned());
            }
            (!path.ends_with(missing)).then(String::new)
        };
        check_package(&package, &read).len()
    }

    #[test]
    fn a_crate_with_all_passes() {
        assert_eq!(count(MANIFEST, 5, "none"), 0);
    }

    #[test]
    fn what_is_missing_is_reported() {
        assert_eq!(count(MANIFEST, 0, "none"), 1);
        assert_eq!(count(MANIFEST, 6, "none"), 1);
        assert_eq!(count(MANIFEST, 1, "LICENSE-MIT"), 1);
        assert_eq!(count("[package]\n", 1, "none"), 2);
    }

    #[test]
    fn a_readme_links_only_to_the_web_and_to_itself() {
        let page = "[a](https://docs.rs/a#b) [b](#c) [c](../../docs/c.md#d) [d](src/README.md)\n";
        assert_eq!(links_to_files(page), ["../../docs/c.md", "src/README.md"]);
    }
}
