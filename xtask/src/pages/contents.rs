//! The table of contents of the site, which is the index of the guides.

use std::path::{Path, PathBuf};

use super::markdown::resolve;

/// Path of the index of the guides.
pub(crate) const INDEX: &str = "docs/README.md";

/// A section of the index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) title: String,
    pub(crate) chapters: Vec<Chapter>,
}

/// A page of the index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chapter {
    pub(crate) title: String,
    /// Path of the page, relative to the root.
    pub(crate) path: PathBuf,
}

/// Returns the sections of an index that have pages. A line such as `- [title](page.md): text`
/// stands for a page.
pub(crate) fn parts(index: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in index.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            let (title, chapters) = (title.to_owned(), Vec::new());
            parts.push(Part { title, chapters });
        }
        if let Some(part) = parts.last_mut() {
            part.chapters.extend(chapter(line));
        }
    }
    parts.retain(|part| !part.chapters.is_empty());
    parts
}

fn chapter(line: &str) -> Option<Chapter> {
    let (title, rest) = line.strip_prefix("- [")?.split_once("](")?;
    let (target, _) = rest.split_once(')')?;
    Some(Chapter {
        title: title.to_owned(),
        path: resolve(Path::new(INDEX), target),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_has_parts_with_pages() {
        let index = "# Guides\n\n- [no](no.md)\n\n## One\n\n- [`#[a]`](../c/a.md): a\n  [b](b.md)\n\n## None\n\n## Two\n- [c](c.md)\n";
        let found = parts(index);
        let titles: Vec<_> = found.iter().map(|part| &*part.title).collect();
        assert_eq!(titles, ["One", "Two"]);
        let chapters: Vec<_> = found.iter().flat_map(|part| &part.chapters).collect();
        assert_eq!(chapters.len(), 2);
        assert_eq!(
            (&*chapters[0].title, &*chapters[0].path),
            ("`#[a]`", Path::new("c/a.md"))
        );
        assert_eq!(
            (&*chapters[1].title, &*chapters[1].path),
            ("c", Path::new("docs/c.md"))
        );
    }
}
