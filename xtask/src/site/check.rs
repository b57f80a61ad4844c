//! Checks the links of the finished site. Each link must lead to a file of the site, and its anchor
//! to an element of this file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::API;
use crate::pages::resolve;

/// The result of a check.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Checked {
    /// Number of links that were followed.
    pub(super) count: usize,
    /// Links that lead nowhere, each with its page.
    pub(super) broken: Vec<String>,
}

/// Follows the links of all pages in the folder `site`, except those of the reference, which
/// rustdoc has checked.
pub(super) fn links(site: &Path) -> Result<Checked> {
    let mut pages = BTreeMap::new();
    read_pages(site, Path::new(""), &mut pages)?;
    let exists = |path: &Path| site.join(path).exists();
    Ok(follow(&pages, &exists))
}

fn read_pages(site: &Path, folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    let entries =
        fs::read_dir(site.join(folder)).with_context(|| format!("cannot list {folder:?}"))?;
    for entry in entries {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if path == Path::new(API) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            read_pages(site, &path, pages)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            pages.insert(path, fs::read_to_string(entry.path())?);
        }
    }
    Ok(())
}

fn follow(pages: &BTreeMap<PathBuf, String>, exists: &dyn Fn(&Path) -> bool) -> Checked {
    let anchors: BTreeMap<&Path, BTreeSet<&str>> = pages
        .iter()
        .map(|(path, page)| (path.as_path(), values(page, " id=\"").collect()))
        .collect();
    let mut checked = Checked::default();
    for (path, page) in pages {
        let targets = values(page, " href=\"").chain(values(page, " src=\""));
        for target in targets.filter(|target| !target.contains(':')) {
            checked.count += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = match file {
                "" => path.clone(),
                file => resolve(path, file),
            };
            let has_anchor = anchor.is_empty()
                || anchors
                    .get(file.as_path())
                    .is_some_and(|all| all.contains(anchor));
            if !exists(&file) || !has_anchor {
                checked.broken.push(format!("{}: {target}", path.display()));
            }
        }
    }
    checked
}

/// Returns the values of an attribute in a page. `name` is the text before a value, such as
/// ` href="`.
fn values<'a>(page: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(name)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let a = "<a href=\"b.html#here\"> <a href=\"b.html#there\"> <img src=\"c.png\"> <a href=\"https://d\">";
        let b = "<h1 id=\"here\"> <a href=\"#here\"> <a href=\"../a.html\">";
        let pages = [("a.html", a), ("b.html", b)];
        let pages = pages.map(|(path, page)| (PathBuf::from(path), page.to_owned()));
        let exists = |path: &Path| {
            path.extension()
                .is_some_and(|extension| extension == "html")
        };
        let checked = follow(&BTreeMap::from(pages), &exists);
        assert_eq!(checked.count, 5);
        assert_eq!(checked.broken, ["a.html: b.html#there", "a.html: c.png"]);
    }
}
