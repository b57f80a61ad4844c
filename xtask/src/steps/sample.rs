//! A random sample of the English: doc comments of the crates, each with the line of code that it
//! documents, and sentences of the guides.
//!
//! A reader counts those that need a second reading. A seed always yields the same sample of the
//! same commit.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace::Workspace;

/// Number of doc comments, and of sentences, in a sample.
const SIZE: usize = 50;

/// The parameters of a sample.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The seed of the sample.
    seed: u64,
    /// Choose only from files whose path begins with one of these texts.
    #[arg(long, default_values_t = ["crates/".to_owned(), "docs/".to_owned()])]
    under: Vec<String>,
}

/// Text at a position in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    path: PathBuf,
    /// Number of the first line, from 1.
    line: usize,
    text: String,
    /// First line of the documented item. Empty for a file and for a sentence.
    item: String,
}

/// Prints a sample.
pub(crate) fn sample(workspace: &Workspace, options: &Options) -> Result<()> {
    let mut random = SplitMix(options.seed);
    let is_chosen = |path: &&PathBuf| options.under.iter().any(|under| path.starts_with(under));
    let rust = workspace.rust_files(Path::new("crates"))?;
    let sources = rust
        .iter()
        .filter(|path| path.components().any(|part| part.as_os_str() == "src"));
    let comments = pieces(workspace, sources.filter(is_chosen), comments_of)?;
    let guides = guides(workspace)?;
    let sentences = pieces(workspace, guides.iter().filter(is_chosen), sentences_of)?;
    for (what, all) in [("doc comments", comments), ("sentences", sentences)] {
        println!("## {SIZE} of {} {what}\n", all.len());
        for (number, piece) in random.choose(all, SIZE).iter().enumerate() {
            let Piece {
                path,
                line,
                text,
                item,
            } = piece;
            println!(
                "{:2}. {}:{line}  {item}\n    {text}",
                number + 1,
                path.display()
            );
        }
        println!();
    }
    Ok(())
}

/// Returns the guides, sorted by their paths.
fn guides(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut guides = Vec::new();
    for entry in fs::read_dir(workspace.root.join("docs")).context("cannot list docs")? {
        let path = Path::new("docs").join(entry?.file_name());
        if path.extension().is_some_and(|extension| extension == "md") {
            guides.push(path);
        }
    }
    guides.sort_unstable();
    Ok(guides)
}

/// Returns the pieces of all `files`, in the order of their paths.
fn pieces<'a>(
    workspace: &Workspace,
    files: impl Iterator<Item = &'a PathBuf>,
    pieces_of: fn(&Path, &str) -> Vec<Piece>,
) -> Result<Vec<Piece>> {
    let mut files: Vec<&PathBuf> = files.collect();
    files.sort_unstable();
    let mut pieces = Vec::new();
    for path in files {
        let text = fs::read_to_string(workspace.root.join(path))
            .with_context(|| format!("cannot read {}", path.display()))?;
        pieces.extend(pieces_of(path, &text));
    }
    Ok(pieces)
}

/// Returns the doc comments of a source file, with the items that they document. Omits examples
/// and pictures.
fn comments_of(path: &Path, text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut before = "";
    let mut documents = false;
    let mut attribute = Attribute::default();
    let mut is_fenced = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let marker = ["//!", "///"]
            .into_iter()
            .find(|marker| line.starts_with(marker));
        let marker = marker.unwrap_or("");
        if marker.is_empty() {
            before = marker;
            if documents && !attribute.contains(line) {
                documents = false;
                if let Some(piece) = pieces.last_mut() {
                    line.clone_into(&mut piece.item);
                }
            }
            continue;
        }
        documents = marker == "///";
        let words = line[marker.len()..].trim();
        if marker != before {
            is_fenced = false;
            pieces.push(Piece {
                path: path.to_owned(),
                line: index + 1,
                text: String::new(),
                item: String::new(),
            });
        }
        let is_fence = words.starts_with("```");
        is_fenced ^= is_fence;
        if let Some(piece) = pieces.last_mut()
            && !is_fenced
            && !is_fence
        {
            piece.text.push_str(words);
            piece.text.push(' ');
        }
        before = marker;
    }
    pieces
}

/// Recognizes the lines of attributes.
#[derive(Debug, Default)]
struct Attribute {
    /// Number of brackets that are open.
    depth: usize,
}

impl Attribute {
    /// Returns true if `line`, the next line of the text, is part of an attribute.
    fn contains(&mut self, line: &str) -> bool {
        if self.depth == 0 && !line.starts_with("#[") {
            return false;
        }
        let opened = self.depth + line.matches('[').count();
        self.depth = opened.saturating_sub(line.matches(']').count());
        true
    }
}

/// Returns the sentences of a guide, outside of headings, tables and listings.
fn sentences_of(path: &Path, text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut paragraph = Piece {
        path: path.to_owned(),
        line: 1,
        text: String::new(),
        item: String::new(),
    };
    let mut is_fenced = false;
    for (index, line) in text.lines().chain([""]).enumerate() {
        let words = line.trim();
        let is_fence = words.starts_with("```");
        is_fenced ^= is_fence;
        let is_prose = !is_fenced && !is_fence && !words.starts_with(['#', '|', '!', '<']);
        let is_item = words.starts_with("- ");
        if !is_prose || is_item || words.is_empty() {
            pieces.extend(sentences(&paragraph));
            paragraph.text.clear();
        }
        if is_prose && !words.is_empty() {
            if paragraph.text.is_empty() {
                paragraph.line = index + 1;
            }
            paragraph.text.push_str(words);
            paragraph.text.push(' ');
        }
    }
    pieces
}

/// Splits a paragraph where a sentence ends and the next one begins with a capital letter.
fn sentences(paragraph: &Piece) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut rest = paragraph.text.trim();
    while !rest.is_empty() {
        let end = rest.match_indices(['.', '?', ':']).find_map(|(at, _)| {
            let after = rest[at + 1..].strip_prefix(' ')?;
            let begins = after.starts_with(|letter: char| letter.is_uppercase() || letter == '`');
            (begins && !rest[at..].starts_with(':')).then_some(at + 1)
        });
        let (sentence, after) = rest.split_at(end.unwrap_or(rest.len()));
        found.push(Piece {
            text: sentence.to_owned(),
            ..paragraph.clone()
        });
        rest = after.trim_start();
    }
    found
}

/// The generator SplitMix64.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns up to `count` different elements, in the order in which they were drawn.
    fn choose<T>(&mut self, mut all: Vec<T>, count: usize) -> Vec<T> {
        let mut chosen = Vec::new();
        while chosen.len() < count && !all.is_empty() {
            let place = self.next() % all.len() as u64;
            chosen.push(all.swap_remove(usize::try_from(place).unwrap_or(0)));
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pieces: &[Piece]) -> Vec<(usize, &str)> {
        pieces
            .iter()
            .map(|piece| (piece.line, piece.text.trim()))
            .collect()
    }

    #[test]
    fn comments_end_where_the_next_ones_begin() {
        let text = "//! Top.\n\n/// One\n/// line.\n/// ```\n/// code\n/// ```\nfn a() {}\n// no\n/// Two.\n";
        let pieces = comments_of(Path::new("a.rs"), text);
        assert_eq!(
            texts(&pieces),
            [(1, "Top."), (3, "One line."), (10, "Two.")]
        );
    }

    #[test]
    fn a_comment_has_the_line_of_its_item() {
        let text = "//! Top.\nuse x;\n/// One.\n#[derive(\n    [Debug],\n)]\n#[cold]\nstruct A;\n\n/// Two.\nfn b() {\n    x();\n}\n";
        let pieces = comments_of(Path::new("a.rs"), text);
        let items: Vec<&str> = pieces.iter().map(|piece| &*piece.item).collect();
        assert_eq!(items, ["", "struct A;", "fn b() {"]);
    }

    #[test]
    fn sentences_are_told_from_listings_and_tables() {
        let text = "# Title\n\nOne a. Two\ngoes on, e.g. here.\n\n```rust\ncode. Code\n```\n| A. B |\n- Three.\n- Four: `x`.\n";
        let pieces = sentences_of(Path::new("a.md"), text);
        assert_eq!(
            texts(&pieces),
            [
                (3, "One a."),
                (3, "Two goes on, e.g. here."),
                (10, "- Three."),
                (11, "- Four: `x`."),
            ]
        );
    }

    #[test]
    fn a_seed_yields_the_same_choice_without_doubles() {
        let choose = |seed| SplitMix(seed).choose(Vec::from_iter(0..100), 50);
        assert_eq!(choose(7), choose(7));
        assert_ne!(choose(7), choose(8));
        let mut all = choose(7);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 50);
        assert_eq!(SplitMix(1).choose(vec![1, 2], 3).len(), 2);
    }
}
