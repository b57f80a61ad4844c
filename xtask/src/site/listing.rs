//! Pages of the sources and folders to which guides link. They are plain HTML.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Suffix of the name of a page that shows a file.
pub(super) const OF_FILE: &str = ".html";

/// Suffix of the path of a page that lists a folder.
pub(super) const OF_FOLDER: &str = "/files.html";

/// Returns a page with the text of a file.
pub(super) fn file(path: &Path, text: &str) -> String {
    page(path, &format!("<pre><code>{}</code></pre>", escaped(text)))
}

/// Returns a page that links to the pages of `files`, which are in the folder `path`.
pub(super) fn folder(path: &Path, files: &[String]) -> String {
    let mut list = String::from("<ul>\n");
    for name in files {
        let name = escaped(name);
        list.push_str(&format!(
            "<li><a href=\"{name}{OF_FILE}\">{name}</a></li>\n"
        ));
    }
    list.push_str("</ul>");
    page(path, &list)
}

/// Returns the sorted names of the files in a folder and in its subfolders, relative to this
/// folder. Omits files that are not text.
pub(super) fn files(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {folder:?}"))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            let inner = files(&entry.path())?;
            names.extend(inner.into_iter().map(|file| format!("{name}/{file}")));
        } else if fs::read_to_string(entry.path()).is_ok() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn page(path: &Path, body: &str) -> String {
    let title = escaped(&path.display().to_string());
    let up = "../".repeat(path.components().count().saturating_sub(1));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>body {{ font-family: sans-serif; margin: 1rem }} pre {{ overflow-x: auto }}</style>\n\
         <p><a href=\"{up}index.html\">Garrick</a></p>\n<h1>{title}</h1>\n{body}\n</html>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_the_text_as_it_is() {
        let page = file(Path::new("a/b.rs"), "a < b && c == \"d\"");
        assert!(
            page.contains("<code>a &lt; b &amp;&amp; c == &quot;d&quot;</code>"),
            "{page}"
        );
        assert!(page.contains("href=\"../index.html\""), "{page}");
    }

    #[test]
    fn the_page_of_a_folder_links_to_its_files() {
        let page = folder(
            Path::new("a/files"),
            &["b.rs".to_owned(), "c/d.rs".to_owned()],
        );
        assert!(
            page.contains("<a href=\"c/d.rs.html\">c/d.rs</a>"),
            "{page}"
        );
    }
}
