//! The copy of the reference in the site. Each page of the copy gets a link back to the guides.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Page of the reference that guides link to.
const FRONT: &str = "garrick/index.html";

/// Style of the link to the guides. The link is in a corner of the window, so that it moves no
/// other part of the page.
const STYLE: &str = "position: fixed; right: 1rem; bottom: 1rem; z-index: 9; padding: 0.5rem; \
    background: var(--sidebar-background-color)";

/// Copies the reference, which `cargo doc` has written, from the folder `from` to the folder `to`.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let front = from.join(FRONT);
    ensure!(
        front.exists(),
        "there is no reference: `cargo xtask docs` builds it"
    );
    copy_folder(from, to, 1)
}

/// Copies a folder whose pages are `depth` folders below the root of the site.
fn copy_folder(from: &Path, to: &Path, depth: usize) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {from:?}"))? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_folder(&from, &to, depth + 1)?;
        } else if from
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            fs::write(&to, with_link(&fs::read_to_string(&from)?, depth))?;
        } else {
            fs::copy(&from, &to).with_context(|| format!("cannot copy {from:?}"))?;
        }
    }
    Ok(())
}

/// Returns a page of the reference with a link to the guides at its beginning.
fn with_link(page: &str, depth: usize) -> String {
    let Some((head, body)) = page.split_once("<body") else {
        return page.to_owned();
    };
    let Some((attributes, body)) = body.split_once('>') else {
        return page.to_owned();
    };
    let up = "../".repeat(depth);
    let link = format!("<a style=\"{STYLE}\" href=\"{up}docs/index.html\">Guides</a>");
    format!("{head}<body{attributes}>{link}{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_links_to_the_guides() {
        let page = with_link("<html><body class=\"a\"><p>b", 2);
        let (begin, link) = page.split_once("<a style=").expect("a link");
        assert_eq!(begin, "<html><body class=\"a\">");
        assert!(
            link.ends_with(" href=\"../../docs/index.html\">Guides</a><p>b"),
            "{page}"
        );
        assert_eq!(with_link("<meta>", 1), "<meta>");
    }
}
