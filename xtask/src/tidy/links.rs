//! Rule: each relative link of a page leads to a file or folder of the repository, and its anchor
//! to a heading. The index of the guides lists each guide.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::tree::Read;
use super::violation::Violation;
use crate::pages::{INDEX, anchors, links, parts, resolve};

/// Reports broken links of `pages`. `exists` returns true for the files and folders of the
/// repository.
pub(crate) fn check(
    pages: &[PathBuf],
    read: &Read<'_>,
    exists: &dyn Fn(&Path) -> bool,
) -> Vec<Violation> {
    let mut violations = index(pages, read);
    let mut known = Anchors::new();
    for page in pages {
        let Some(text) = read(page) else {
            continue;
        };
        for link in links(&text) {
            let Some((path, anchor)) = link.parts() else {
                continue;
            };
            let target = match path {
                "" => page.clone(),
                path => resolve(page, path),
            };
            let reason = broken(&target, anchor, read, exists, &mut known);
            violations.extend(reason.map(|reason| {
                let wrong = format!("the link `{}` leads nowhere: {reason}", link.target);
                Violation::new(page, link.line, wrong, "a file, a folder or a heading")
            }));
        }
    }
    violations
}

/// Anchors of the pages that were read.
type Anchors = BTreeMap<PathBuf, BTreeSet<String>>;

/// Returns the reason why a link is broken. Returns `None` if it is sound.
fn broken(
    target: &Path,
    anchor: &str,
    read: &Read<'_>,
    exists: &dyn Fn(&Path) -> bool,
    known: &mut Anchors,
) -> Option<String> {
    if !exists(target) {
        return Some(format!("there is no `{}`", target.display()));
    }
    if anchor.is_empty() {
        return None;
    }
    let anchors = known
        .entry(target.to_owned())
        .or_insert_with(|| anchors(&read(target).unwrap_or_default()));
    if anchors.contains(anchor) {
        return None;
    }
    let page = target.display();
    Some(format!("`{page}` has no heading with this anchor"))
}

/// Reports each guide that the index omits.
fn index(pages: &[PathBuf], read: &Read<'_>) -> Vec<Violation> {
    let index = Path::new(INDEX);
    let parts = parts(&read(index).unwrap_or_default());
    let listed: BTreeSet<PathBuf> = parts
        .into_iter()
        .flat_map(|part| part.chapters)
        .map(|chapter| chapter.path)
        .collect();
    let guides = pages.iter().filter(|page| {
        page.parent() == index.parent() && *page != index && !listed.contains(*page)
    });
    guides
        .map(|guide| {
            let wrong = format!("the guide `{}` is missing", guide.display());
            Violation::new(
                index,
                1,
                wrong,
                "a line for each guide, such as `- [title](page.md)`",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = "# Guide\n\n[up](../README.md#top) [here](#guide) [code](../src/lib.rs) [web](https://a.b/c)\n";

    /// Returns the violations in a repository with an index, a guide and a README.
    fn check_guide(guide: &str, index: &str) -> Vec<String> {
        let read = |path: &Path| match path.to_str()? {
            "README.md" => Some("# Top\n".to_owned()),
            "docs/README.md" => Some(index.to_owned()),
            "docs/guide.md" => Some(guide.to_owned()),
            _ => None,
        };
        let exists = |path: &Path| read(path).is_some() || path.starts_with("src");
        let pages = ["README.md", "docs/README.md", "docs/guide.md"].map(PathBuf::from);
        let violations = check(&pages, &read, &exists);
        let told = violations.iter().map(|violation| {
            format!(
                "{}:{} {}",
                violation.path.display(),
                violation.line,
                violation.wrong
            )
        });
        told.collect()
    }

    const INDEX_OF_ALL: &str = "## All\n\n- [Guide](guide.md)\n";

    #[test]
    fn sound_links_pass() {
        assert_eq!(check_guide(GUIDE, INDEX_OF_ALL), Vec::<String>::new());
    }

    #[test]
    fn a_missing_file_is_reported() {
        let told = check_guide("\n[gone](gone.md)\n", INDEX_OF_ALL);
        let reason = "the link `gone.md` leads nowhere: there is no `docs/gone.md`";
        assert_eq!(told, [format!("docs/guide.md:2 {reason}")]);
    }

    #[test]
    fn a_missing_heading_is_reported() {
        let told = check_guide("[up](../README.md#bottom) [here](#there)\n", INDEX_OF_ALL);
        assert_eq!(told.len(), 2);
        assert!(
            told[0].ends_with("`README.md` has no heading with this anchor"),
            "{}",
            told[0]
        );
        assert!(told[1].contains("`#there`"), "{}", told[1]);
    }

    #[test]
    fn a_guide_that_the_index_omits_is_reported() {
        let told = check_guide(GUIDE, "## All\n");
        assert_eq!(
            told,
            ["docs/README.md:1 the guide `docs/guide.md` is missing"]
        );
    }
}
