//! Rule: README and ARCHITECTURE name every crate.

use std::path::Path;

use super::tree::Read;
use super::violation::Violation;
use crate::workspace::Workspace;

const DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md"];

/// Reports each crate under `crates/` that a document leaves out.
pub(crate) fn check(workspace: &Workspace, read: &Read<'_>) -> Vec<Violation> {
    let crates: Vec<&str> = workspace
        .packages
        .iter()
        .filter(|package| package.dir.starts_with("crates"))
        .map(|package| package.name.as_str())
        .collect();
    DOCUMENTS
        .iter()
        .flat_map(|document| check_document(Path::new(document), &crates, read))
        .collect()
}

fn check_document(document: &Path, crates: &[&str], read: &Read<'_>) -> Vec<Violation> {
    let Some(text) = read(document) else {
        return vec![Violation::new(
            document,
            1,
            "the document is missing",
            "a document that lists every crate",
        )];
    };
    crates
        .iter()
        .filter(|name| !mentions(&text, name))
        .map(|name| {
            Violation::new(
                document,
                1,
                format!("the crate `{name}` is not mentioned"),
                "a document that lists every crate under crates/, each in backquotes",
            )
        })
        .collect()
}

/// Is the crate there by its name or its folder? With the backquotes, `garrick-core` does not pass
/// for `garrick`.
fn mentions(text: &str, name: &str) -> bool {
    text.contains(&format!("`{name}`")) || text.contains(&format!("`crates/{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: Option<&str>) -> Vec<Violation> {
        let read = |_: &Path| text.map(str::to_owned);
        check_document(Path::new("README.md"), &["garrick", "garrick-core"], &read)
    }

    #[test]
    fn a_document_that_lists_all_passes() {
        assert_eq!(check_text(Some("| `garrick` | `garrick-core` |")), []);
        assert_eq!(check_text(Some("## `crates/garrick`, `garrick-core`")), []);
    }

    #[test]
    fn a_crate_left_out_and_a_missing_document_are_reported() {
        assert_eq!(check_text(Some("`garrick-core` only")).len(), 1);
        assert_eq!(check_text(None).len(), 1);
    }
}
