//! Links and anchors of a page in Markdown.
//!
//! Listings and code spans are skipped. A target has no spaces and no parentheses, as in all pages
//! of this repository.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// Texts that can precede the target of a link in Markdown or HTML.
const BEFORE: &[&str] = &["](", " src=\"", " srcset=\"", " href=\""];

/// A link of a page, or a reference to a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link<'a> {
    /// Target as it is written: a path, an anchor, or both.
    pub(crate) target: &'a str,
    /// Position of the target in the page, in bytes.
    pub(crate) range: Range<usize>,
    /// Number of the line, from 1.
    pub(crate) line: usize,
}

impl<'a> Link<'a> {
    /// Returns the path and the anchor of the target. Either of them may be empty. Returns `None`
    /// if the target is an address of the web.
    pub(crate) fn parts(&self) -> Option<(&'a str, &'a str)> {
        if self.target.contains(':') {
            return None;
        }
        Some(self.target.split_once('#').unwrap_or((self.target, "")))
    }
}

/// Returns the links of a page, in their order.
pub(crate) fn links(text: &str) -> Vec<Link<'_>> {
    let prose = prose(text, true);
    let mut starts: Vec<usize> = BEFORE
        .iter()
        .flat_map(|before| prose.match_indices(before).map(|(at, _)| at + before.len()))
        .chain(definitions(&prose))
        .collect();
    starts.sort_unstable();
    let ends = |letter: char| letter.is_whitespace() || matches!(letter, ')' | '"');
    starts
        .into_iter()
        .map(|start| {
            let end = prose[start..]
                .find(ends)
                .map_or(prose.len(), |end| start + end);
            Link {
                target: &text[start..end],
                range: start..end,
                line: text[..start].matches('\n').count() + 1,
            }
        })
        .collect()
}

/// Returns the positions of the targets in lines such as `[label]: target`.
fn definitions(prose: &str) -> impl Iterator<Item = usize> {
    let mut at = 0;
    prose.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        let label = line.starts_with('[').then(|| line.find("]: "))?;
        label.map(|end| start + end + "]: ".len())
    })
}

/// Returns the anchors of the headings of a page.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let mut uses = BTreeMap::new();
    let prose = prose(text, false);
    let headings = prose.lines().filter_map(|line| {
        let heading = line.trim_start_matches('#');
        let level = line.len() - heading.len();
        (1..=6)
            .contains(&level)
            .then(|| heading.strip_prefix(' '))?
    });
    headings
        .map(|heading| {
            let anchor = anchor(heading);
            let before = uses.entry(anchor.clone()).or_insert(0);
            *before += 1;
            match *before {
                1 => anchor,
                use_ => format!("{anchor}-{}", use_ - 1),
            }
        })
        .collect()
}

/// Returns the anchor of a heading, as GitHub and mdBook compute it.
fn anchor(heading: &str) -> String {
    let mut anchor = String::new();
    let mut is_target = false;
    let mut before = ' ';
    for letter in heading.trim().chars() {
        is_target = is_target && letter != ')' || before == ']' && letter == '(';
        if letter.is_whitespace() && !is_target {
            anchor.push('-');
        } else if (letter.is_alphanumeric() || matches!(letter, '-' | '_')) && !is_target {
            anchor.extend(letter.to_lowercase());
        }
        before = letter;
    }
    anchor
}

/// Returns the page with spaces in place of listings, and also of code spans if `spans` is true.
/// All other text keeps its position.
fn prose(text: &str, spans: bool) -> String {
    let mut letters = text.as_bytes().to_vec();
    let mut is_fenced = false;
    let mut at = 0;
    let mut paragraph = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let is_fence = line.trim_start().starts_with("```");
        if (is_fence || line.trim().is_empty()) && spans {
            hide_spans(&mut letters[paragraph..range.start]);
        }
        if is_fenced || is_fence {
            hide(&mut letters[range.clone()]);
        }
        is_fenced ^= is_fence;
        if is_fenced || is_fence || line.trim().is_empty() {
            paragraph = range.end;
        }
    }
    if spans {
        hide_spans(&mut letters[paragraph..]);
    }
    String::from_utf8(letters).expect("whole letters are replaced")
}

fn hide(letters: &mut [u8]) {
    letters
        .iter_mut()
        .filter(|letter| **letter != b'\n')
        .for_each(|letter| *letter = b' ');
}

/// Hides the code spans of a paragraph: the text between two equally long runs of backquotes.
fn hide_spans(paragraph: &mut [u8]) {
    let mut at = 0;
    while at < paragraph.len() {
        let run = run(&paragraph[at..]);
        if run == 0 {
            at += 1;
            continue;
        }
        let mut end = at + run;
        while end < paragraph.len() && self::run(&paragraph[end..]) != run {
            end += self::run(&paragraph[end..]).max(1);
        }
        if end < paragraph.len() {
            hide(&mut paragraph[at..end + run]);
            at = end;
        }
        at += run;
    }
}

/// Returns the number of backquotes at the beginning.
fn run(letters: &[u8]) -> usize {
    letters.iter().take_while(|letter| **letter == b'`').count()
}

/// Returns the path to which the link `target` on the page `page` leads. `page` and the returned
/// path are relative to the root.
pub(crate) fn resolve(page: &Path, target: &str) -> PathBuf {
    let mut resolved = page.parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Normal(name) => resolved.push(name),
            _ => {}
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(&str, usize)> {
        links(text)
            .into_iter()
            .map(|link| (link.target, link.line))
            .collect()
    }

    #[test]
    fn links_pictures_and_definitions_are_found() {
        let text =
            "See [a](a.md#b) and\n![p](p.png).\n<img alt=\"x\" src=\"l.svg\">\n\n[r]: r.rs\n";
        let all = [("a.md#b", 1), ("p.png", 2), ("l.svg", 3), ("r.rs", 5)];
        assert_eq!(targets(text), all);
        for link in links(text) {
            assert_eq!(&text[link.range.clone()], link.target);
        }
    }

    #[test]
    fn code_has_no_links() {
        let text = "`[a](a)` ``b ` [b](b)`` `c\n[c](c)` d` [e](e)\n\n```\n[f](f)\n```\n[g](g)\n";
        assert_eq!(targets(text), [("e", 2), ("g", 7)]);
        assert_eq!(targets("an ä `ö` [u](ü)"), [("ü", 1)]);
    }

    #[test]
    fn a_span_may_be_the_text_of_a_link() {
        assert_eq!(targets("[`#[a]`](a.md)"), [("a.md", 1)]);
    }

    #[test]
    fn anchors_are_those_of_github() {
        let text =
            "# A `b::c` (d), e-f_g\n```\n# no\n```\n## Same\n## Same\n### [link](x.md) ends\n#no\n";
        let all = ["a-bc-d-e-f_g", "link-ends", "same", "same-1"];
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), all);
    }

    #[test]
    fn addresses_of_the_web_have_no_parts() {
        let of = |target| {
            let (range, line) = (0..0, 1);
            Link {
                target,
                range,
                line,
            }
            .parts()
        };
        assert_eq!(of("https://docs.rs/a#b"), None);
        assert_eq!(of("a/b.md#c"), Some(("a/b.md", "c")));
        assert_eq!(of("#c"), Some(("", "c")));
        assert_eq!(of("a"), Some(("a", "")));
    }

    #[test]
    fn a_target_begins_at_the_folder_of_its_page() {
        let from = |target| resolve(Path::new("docs/a.md"), target);
        assert_eq!(from("b.md"), Path::new("docs/b.md"));
        assert_eq!(
            from("../crates/c/README.md"),
            Path::new("crates/c/README.md")
        );
        assert_eq!(
            resolve(Path::new("README.md"), "docs/a.md"),
            Path::new("docs/a.md")
        );
    }
}
