//! The input of mdBook: the pages with adapted links, the files to which they link, the table of
//! contents, and the settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::listing;
use crate::pages::{Chapter, INDEX, Part, links, parts, resolve};
use crate::process::empty;
use crate::workspace::Workspace;

/// First page of the site.
const FRONT: &str = "README.md";

/// Name of a page that mdBook calls `index.md`.
const README: &str = "README.md";

/// Extensions of files that a browser can show.
const SHOWN: &[&str] = &["png", "svg", "json"];

/// Folder of the pages that are also a part of the reference.
const RUSTDOC: &str = "crates/garrick-macros/src";

/// Section that the site adds at the end of the index of the guides.
const REFERENCE: &str =
    "\n## All items\n\n[`garrick`](../api/garrick/index.html): the reference of `cargo doc`\n";

/// Additional styles of the site, so that no page is wider than the screen of a phone.
const STYLE: &str = "code { overflow-wrap: anywhere; }\n\
    pre > code { overflow-wrap: normal; }\n\
    .content img { height: auto; }\n";

/// A file of the repository that the site contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A page that mdBook renders.
    Chapter,
    /// A file that is copied.
    Copied,
    /// A file whose text is shown.
    Listed,
    /// A folder whose files are listed.
    Folder,
}

/// The input of mdBook, which is being written.
struct Source<'a> {
    root: &'a Path,
    /// Folder of the pages.
    pages: PathBuf,
    /// Paths of the pages that mdBook renders, with their titles.
    chapters: BTreeMap<PathBuf, String>,
    /// Other files and folders to which pages link.
    linked: BTreeSet<PathBuf>,
}

/// Writes the input of mdBook to `folder`, for a site in `site`. Returns the number of pages.
pub(super) fn write(workspace: &Workspace, folder: &Path, site: &Path) -> Result<usize> {
    empty(folder)?;
    let index = fs::read_to_string(workspace.root.join(INDEX)).context(INDEX)?;
    let parts = parts(&index);
    let own = [(FRONT, "Garrick"), (INDEX, "Guides")];
    let own = own.map(|(path, title)| (PathBuf::from(path), title.to_owned()));
    let listed = parts.iter().flat_map(|part| &part.chapters);
    let listed = listed.map(|chapter| (chapter.path.clone(), chapter.title.clone()));
    let mut source = Source {
        root: &workspace.root,
        pages: folder.join("src"),
        chapters: own.into_iter().chain(listed).collect(),
        linked: BTreeSet::new(),
    };
    let chapters = source.chapters.clone();
    for (page, title) in &chapters {
        source.write_chapter(page, title)?;
    }
    for file in source.linked.clone() {
        source.write_linked(&file)?;
    }
    write_file(&source.pages.join("SUMMARY.md"), &summary(&parts))?;
    write_file(&folder.join("site.css"), STYLE)?;
    write_file(&folder.join("book.toml"), &settings(site))?;
    Ok(chapters.len())
}

impl Source<'_> {
    /// Writes a page with adapted links, and remembers the files to which the page links.
    fn write_chapter(&mut self, page: &Path, title: &str) -> Result<()> {
        let path = self.root.join(page);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path:?}"))?;
        let mut adapted = String::new();
        let mut written = 0;
        for link in links(&text) {
            let Some((target, _)) = link.parts().filter(|(target, _)| !target.is_empty()) else {
                continue;
            };
            // In the reference, `macro@actor` is the page `actor.md`.
            let of_macro = target
                .strip_prefix("macro@")
                .map(|name| format!("{name}.md"));
            let as_file = of_macro.as_deref().unwrap_or(target);
            let file = resolve(page, as_file);
            let Some(kind) = self.kind(&file) else {
                continue;
            };
            let end = link.range.start + target.len();
            adapted.push_str(&text[written..link.range.start]);
            adapted.push_str(&adapt(as_file, kind));
            written = end;
            if kind != Kind::Chapter {
                self.linked.insert(file);
            }
        }
        adapted.push_str(&text[written..]);
        if page == Path::new(INDEX) {
            adapted.push_str(REFERENCE);
        }
        let adapted = if page.starts_with(RUSTDOC) {
            format!("# {title}\n\n{}", without_rustdoc(&adapted))
        } else {
            adapted.replace("\n```erlang\n", "\n```text\n")
        };
        let name = adapt(&page.to_string_lossy(), Kind::Chapter);
        write_file(&self.pages.join(name), &adapted)
    }

    /// Returns the way in which the site contains `file`. Returns `None` if there is no such file.
    fn kind(&self, file: &Path) -> Option<Kind> {
        let path = self.root.join(file);
        if self.chapters.contains_key(file) {
            return Some(Kind::Chapter);
        }
        if path.is_dir() {
            return Some(Kind::Folder);
        }
        let extension = file.extension().unwrap_or_default();
        let is_shown = SHOWN.iter().any(|shown| extension == *shown);
        path.exists()
            .then_some(if is_shown { Kind::Copied } else { Kind::Listed })
    }

    fn write_linked(&self, file: &Path) -> Result<()> {
        let (from, name) = (self.root.join(file), file.to_string_lossy());
        match self.kind(file) {
            Some(Kind::Copied) => {
                let to = self.pages.join(file);
                fs::create_dir_all(to.parent().unwrap_or(&self.pages))?;
                fs::copy(&from, to).with_context(|| format!("cannot copy {from:?}"))?;
            }
            Some(Kind::Listed) => {
                let page = listing::file(file, &fs::read_to_string(&from)?);
                write_file(&self.pages.join(adapt(&name, Kind::Listed)), &page)?;
            }
            Some(Kind::Folder) => {
                let files = listing::files(&from)?;
                let page = listing::folder(&file.join("files"), &files);
                write_file(&self.pages.join(adapt(&name, Kind::Folder)), &page)?;
                for inner in files {
                    self.write_listing(&file.join(inner))?;
                }
            }
            Some(Kind::Chapter) | None => {}
        }
        Ok(())
    }

    /// Writes the page of a file in a folder.
    fn write_listing(&self, file: &Path) -> Result<()> {
        let page = listing::file(file, &fs::read_to_string(self.root.join(file))?);
        let name = adapt(&file.to_string_lossy(), Kind::Listed);
        write_file(&self.pages.join(name), &page)
    }
}

/// Returns the target that a link gets in the input of mdBook. `target` is the target of the link
/// in the repository.
fn adapt(target: &str, kind: Kind) -> String {
    match kind {
        Kind::Chapter => match target.strip_suffix(README) {
            Some(folder) if folder.is_empty() || folder.ends_with('/') => {
                format!("{folder}index.md")
            }
            _ => target.to_owned(),
        },
        Kind::Copied => target.to_owned(),
        Kind::Listed => format!("{target}{}", listing::OF_FILE),
        Kind::Folder => format!("{}{}", target.trim_end_matches('/'), listing::OF_FOLDER),
    }
}

/// Returns a page of the reference in the form that mdBook expects. Listings without a language are
/// marked as Rust. Headings are moved one level down, because the page gets a title.
fn without_rustdoc(text: &str) -> String {
    let mut adapted = String::new();
    let mut is_fenced = false;
    for line in text.lines() {
        let begins = line.starts_with("```") && !is_fenced;
        is_fenced ^= line.starts_with("```");
        if line.starts_with('#') && !is_fenced {
            adapted.push('#');
        }
        adapted.push_str(match line {
            "```" if begins => "```rust",
            "```compile_fail" => "```rust,compile_fail",
            "```no_run" => "```rust,no_run",
            _ => line,
        });
        adapted.push('\n');
    }
    adapted
}

/// Returns the table of contents of mdBook.
fn summary(parts: &[Part]) -> String {
    let line = |title: &str, path: &Path| {
        format!(
            "[{title}]({})\n",
            adapt(&path.to_string_lossy(), Kind::Chapter)
        )
    };
    let mut summary = format!("# Summary\n\n{}", line("Garrick", Path::new(FRONT)));
    summary.push_str(&line("Guides", Path::new(INDEX)));
    for Part { title, chapters } in parts {
        summary.push_str(&format!("\n# {title}\n\n"));
        for Chapter { title, path } in chapters {
            summary.push_str(&format!("- {}", line(title, path)));
        }
    }
    summary
}

/// Returns the settings of mdBook.
fn settings(site: &Path) -> String {
    format!(
        "[book]\ntitle = \"Garrick\"\nlanguage = \"en\"\n\n\
         [build]\nbuild-dir = {site:?}\ncreate-missing = false\n\n\
         [output.html]\nadditional-css = [\"site.css\"]\npreferred-dark-theme = \"navy\"\n\
         no-section-label = true\ninput-404 = \"\"\n\n\
         [output.html.playground]\nrunnable = false\n\n\
         [output.html.print]\nenable = false\n"
    )
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder)?;
    fs::write(path, text).with_context(|| format!("cannot write {path:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_keep_their_folders() {
        assert_eq!(adapt("../README.md", Kind::Chapter), "../index.md");
        assert_eq!(adapt("README.md", Kind::Chapter), "index.md");
        assert_eq!(adapt("NOT-README.md", Kind::Chapter), "NOT-README.md");
        assert_eq!(adapt("../a/b.rs", Kind::Listed), "../a/b.rs.html");
        assert_eq!(adapt("../a/", Kind::Folder), "../a/files.html");
        assert_eq!(adapt("a.png", Kind::Copied), "a.png");
    }

    #[test]
    fn listings_of_the_reference_are_rust() {
        let text = "# A\n```\n# a\n```\n\n```text\nb\n```\n```compile_fail\nc\n```\n";
        let rust = "## A\n```rust\n# a\n```\n\n```text\nb\n```\n```rust,compile_fail\nc\n```\n";
        assert_eq!(without_rustdoc(text), rust);
    }

    #[test]
    fn the_table_of_contents_has_all_parts() {
        let (title, path) = ("A".to_owned(), PathBuf::from("docs/a.md"));
        let chapters = vec![Chapter { title, path }];
        let title = "One".to_owned();
        let summary = summary(&[Part { title, chapters }]);
        let expected = "# Summary\n\n[Garrick](index.md)\n[Guides](docs/index.md)\n\n# One\n\n- [A](docs/a.md)\n";
        assert_eq!(summary, expected);
    }

    #[test]
    fn the_whole_input_is_written() {
        let workspace = Workspace::load().unwrap();
        let folder = workspace.target.join("site-source-test");
        let pages = write(&workspace, &folder, Path::new("site")).unwrap();
        let text = fs::read_to_string(folder.join("src/docs/tutorial.md")).unwrap();
        assert!(text.contains("](../examples/starter/files.html)"));
        assert!(
            folder
                .join("src/examples/starter/src/main.rs.html")
                .exists()
        );
        assert!(folder.join("src/docs/images/dashboard.png").exists());
        assert!(pages > 40, "{pages}");
        fs::remove_dir_all(folder).unwrap();
    }
}
