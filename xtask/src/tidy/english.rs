//! Rule: a doc comment does not open with a word that refers to another place.
//!
//! For example, the comment "Whether that user is known." makes the reader search for the user. A
//! doc comment should open with a verb for the action of its item, or with a noun.

use super::source::Source;
use super::violation::Violation;

/// Words with which no doc comment may open.
const OPENERS: &[&str] = &[
    "Who", "What", "Whether", "How", "Where", "Why", "It", "They", "The same", "As", "See", "Also",
];

/// Maximum number of columns in a line of a comment. Tables and fenced blocks may be wider.
const WIDTH_MAX: usize = 100;

/// Reports comment lines that are too wide.
pub(crate) fn widths(source: &Source) -> Vec<Violation> {
    let mut is_fenced = false;
    let mut violations = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let text = line.trim_start();
        if !text.starts_with("//") {
            is_fenced = false;
            continue;
        }
        let words = text.trim_start_matches(['/', '!']).trim_start();
        is_fenced ^= words.starts_with("```");
        let is_free = is_fenced || words.starts_with('|');
        let width = line.chars().count();
        if width > WIDTH_MAX && !is_free {
            violations.push(Violation::new(
                &source.path,
                index + 1,
                format!("a comment of {width} columns"),
                format!("{WIDTH_MAX} columns"),
            ));
        }
    }
    violations
}

/// Reports doc comments that open with one of the forbidden words.
pub(crate) fn check(source: &Source) -> Vec<Violation> {
    let mut before = "";
    let mut violations = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let marker = marker(line);
        if !marker.is_empty() && marker != before {
            let text = line.trim_start()[marker.len()..].trim_start();
            if let Some(opener) = OPENERS.iter().find(|opener| opens_with(text, opener)) {
                violations.push(Violation::new(
                    &source.path,
                    index + 1,
                    format!("a doc comment opens with `{opener}`"),
                    "a verb (\"Returns ..\"), \"True if ..\", or a noun for the item",
                ));
            }
        }
        before = marker;
    }
    violations
}

/// Returns the marker at the start of a doc comment line, or an empty string for any other line.
fn marker(line: &str) -> &'static str {
    let line = line.trim_start();
    let is = |mark: &str| line.starts_with(mark) && !line.starts_with("////");
    ["//!", "///"]
        .into_iter()
        .find(|mark| is(mark))
        .unwrap_or("")
}

fn opens_with(text: &str, opener: &str) -> bool {
    let rest = text.strip_prefix(opener);
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn lines(text: &str) -> Vec<usize> {
        let source = Source::parse(Path::new("a.rs"), &[], false, text.to_owned());
        let found = check(&source.expect("valid Rust"));
        found.into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn verbs_and_nouns_pass() {
        let text = "//! A ring.\n//! What follows is no opener.\n\n/// Returns it.\n/// See also.\nfn a() {}\n// It is no doc.\n";
        assert!(lines(text).is_empty());
        assert!(lines("/// Itself.\nfn a() {}").is_empty());
    }

    fn wide(text: &str) -> usize {
        let source = Source::parse(Path::new("a.rs"), &[], false, text.to_owned());
        widths(&source.expect("valid Rust")).len()
    }

    #[test]
    fn narrow_comments_tables_and_fences_pass() {
        let long = "x".repeat(120);
        assert_eq!(wide(&format!("// {}\n", "x".repeat(97))), 0);
        assert_eq!(
            wide(&format!(
                "/// | {long} |\n/// ```text\n/// {long}\n/// ```\nfn a() {{}}"
            )),
            0
        );
    }

    #[test]
    fn wide_comments_do_not() {
        let long = "x".repeat(120);
        assert_eq!(wide(&format!("// {long}\n")), 1);
        assert_eq!(
            wide(&format!(
                "/// ```text\n/// a\n/// ```\n/// {long}\nfn a() {{}}"
            )),
            1
        );
    }

    #[test]
    fn words_that_lean_on_others_do_not() {
        for opener in OPENERS {
            let text = format!("fn a() {{}}\n\n    /// {opener} is there.\nfn b() {{}}");
            assert_eq!(lines(&text), [3], "{opener}");
        }
        assert_eq!(lines("//! Whether.\n"), [1]);
    }
}
