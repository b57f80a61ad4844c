//! Inserts many edits into one text. Overlapping edits must be nested.

use std::ops::Range;

use anyhow::{Result, bail};

/// Placeholder in a replacement for "this mutant is active".
const MUTANT: &str = "MUTANT";

/// Placeholder in a replacement for the replaced text, including the edits inside it.
const ORIGINAL: &str = "ORIGINAL";

/// A piece of the text, and its replacement.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    /// Number of the mutant.
    pub(super) number: usize,
    pub(super) bytes: Range<usize>,
    /// Replacement: Rust code that may contain the words `MUTANT` and `ORIGINAL`.
    pub(super) put: String,
}

/// Applies all `edits` to `text`. `is` is the path of the function that checks for the active
/// mutant.
///
/// # Errors
/// Returns an error if two edits overlap without being nested, or if an edit drops a text that
/// contains other edits.
pub(super) fn rewrite(text: &str, mut edits: Vec<Edit>, is: &str) -> Result<String> {
    edits.sort_by_key(|edit| (edit.bytes.start, usize::MAX - edit.bytes.end, edit.number));
    apply(text, 0..text.len(), &edits, is)
}

fn apply(text: &str, bytes: Range<usize>, mut edits: &[Edit], is: &str) -> Result<String> {
    let (mut out, mut at) = (String::new(), bytes.start);
    while let Some((edit, rest)) = edits.split_first() {
        let inner = rest.partition_point(|other| other.bytes.start < edit.bytes.end);
        let (inner, rest) = rest.split_at(inner);
        let place = &text[edit.bytes.clone()];
        if inner.iter().any(|other| other.bytes.end > edit.bytes.end) {
            bail!("two mutants overlap at `{place}`");
        }
        if !inner.is_empty() && !edit.put.contains(ORIGINAL) {
            bail!(
                "a mutant drops the text of other mutants: its replacement must contain \
                 `{ORIGINAL}` in the place of `{place}`"
            );
        }
        let original = apply(text, edit.bytes.clone(), inner, is)?;
        let put = edit.put.replace(MUTANT, &format!("{is}({})", edit.number));
        out += &text[at..edit.bytes.start];
        out += &put.replace(ORIGINAL, &original);
        at = edit.bytes.end;
        edits = rest;
    }
    out += &text[at..bytes.end];
    Ok(out)
}

/// Returns the positions of `words` in `text`. Ignores differences in white space.
pub(super) fn find_loosely(text: &str, words: &str) -> Vec<Range<usize>> {
    let needle: Vec<char> = words.chars().filter(|c| !c.is_whitespace()).collect();
    let hay: Vec<(usize, char)> = text
        .char_indices()
        .filter(|(_, c)| !c.is_whitespace())
        .collect();
    if needle.is_empty() {
        return Vec::new();
    }
    hay.windows(needle.len())
        .filter(|window| window.iter().map(|(_, c)| c).eq(&needle))
        .map(|window| {
            let (last, c) = window[window.len() - 1];
            window[0].0..last + c.len_utf8()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(number: usize, bytes: Range<usize>, put: &str) -> Edit {
        let put = put.to_owned();
        Edit { number, bytes, put }
    }

    #[test]
    fn edits_side_by_side_and_within_one_another_are_all_made() {
        let edits = vec![
            edit(3, 4..5, "if MUTANT { X } else { ORIGINAL }"),
            edit(1, 0..1, "if !MUTANT { ORIGINAL }"),
            edit(2, 2..5, "<ORIGINAL MUTANT>"),
        ];
        assert_eq!(
            rewrite("a;b;c;", edits, "is").unwrap(),
            "if !is(1) { a };<b;if is(3) { X } else { c } is(2)>;"
        );
    }

    #[test]
    fn two_edits_of_the_same_text_are_one_within_the_other() {
        let edits = vec![edit(2, 0..1, "2(ORIGINAL)"), edit(1, 0..1, "1(ORIGINAL)")];
        assert_eq!(rewrite("a", edits, "is").unwrap(), "1(2(a))");
    }

    #[test]
    fn what_crosses_or_hides_another_is_refused() {
        let crossing = vec![edit(1, 0..2, "ORIGINAL"), edit(2, 1..3, "ORIGINAL")];
        assert!(rewrite("abc", crossing, "is").is_err());
        let hiding = vec![edit(1, 0..3, "x"), edit(2, 1..2, "ORIGINAL")];
        assert!(rewrite("abc", hiding, "is").is_err());
    }

    #[test]
    fn white_space_makes_no_difference_to_a_search() {
        let text = "f(\n    a,\n    b,\n);";
        assert_eq!(find_loosely(text, "a, b").first(), Some(&(7..15)));
        assert_eq!(find_loosely("xx", "x").len(), 2);
        assert_eq!(find_loosely("x", "y"), []);
    }
}
