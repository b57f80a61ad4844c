//! Finds the paths in code that begin with given words. Use-trees are expanded.
//!
//! `use crate::{a, b::{c, d}}` yields `crate::a`, `crate::b::c` and `crate::b::d`.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

use super::source::{is_group, is_ident, is_punct};

/// A path as it is written, with its position.
#[derive(Debug)]
pub(crate) struct FoundPath {
    /// Words between the `::`. The first word is one of the given words. The last word of a glob is
    /// `*`.
    pub(crate) segments: Vec<String>,
    /// Position of the last word.
    pub(crate) span: Span,
    /// Number of `mod name { .. }` of the same file that enclose the path.
    pub(crate) depth: usize,
}

/// Returns every path in `tokens` whose first word is one of `starts`.
pub(crate) fn find(tokens: &TokenStream, starts: &[&str]) -> Vec<FoundPath> {
    let mut finder = Finder {
        starts,
        depth: 0,
        found: Vec::new(),
    };
    finder.walk(tokens);
    finder.found
}

struct Finder<'a> {
    starts: &'a [&'a str],
    depth: usize,
    found: Vec<FoundPath>,
}

impl Finder<'_> {
    fn walk(&mut self, tokens: &TokenStream) {
        let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let mut index = 0;
        while index < trees.len() {
            match &trees[index] {
                TokenTree::Ident(ident) if self.starts.iter().any(|start| ident == start) => {
                    index = self.expand(&trees, index, Vec::new());
                    continue;
                }
                TokenTree::Group(group) => {
                    let module = usize::from(is_module_body(&trees, index));
                    self.depth += module;
                    self.walk(&group.stream());
                    self.depth -= module;
                }
                _ => {}
            }
            index += 1;
        }
    }

    /// Expands the path that continues at `index` after `segments`. Returns the index of its end.
    fn expand(
        &mut self,
        trees: &[TokenTree],
        mut index: usize,
        mut segments: Vec<String>,
    ) -> usize {
        while let Some(tree) = trees.get(index) {
            match tree {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    self.expand_group(&group.stream(), &segments);
                    return index + 1;
                }
                TokenTree::Ident(ident) => segments.push(ident.to_string()),
                TokenTree::Punct(punct) if punct.as_char() == '*' => segments.push("*".into()),
                _ => return index,
            }
            index += 1;
            if !self.goes_on(trees, index) {
                self.found.push(FoundPath {
                    segments,
                    span: tree.span(),
                    depth: self.depth,
                });
                return index;
            }
            index += 2;
        }
        index
    }

    /// Returns true if the tokens at `index` are `::` and a word, glob or use-tree.
    fn goes_on(&self, trees: &[TokenTree], index: usize) -> bool {
        let next = trees.get(index + 2);
        is_punct(trees.get(index), ':')
            && is_punct(trees.get(index + 1), ':')
            && (matches!(next, Some(TokenTree::Ident(_)))
                || is_punct(next, '*')
                || is_group(next, Delimiter::Brace))
    }

    fn expand_group(&mut self, tokens: &TokenStream, segments: &[String]) {
        let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
        for part in trees.split(|tree| is_punct(Some(tree), ',')) {
            self.expand(part, 0, segments.to_vec());
        }
    }
}

fn is_module_body(trees: &[TokenTree], index: usize) -> bool {
    index >= 2
        && is_ident(trees.get(index - 2), "mod")
        && is_group(trees.get(index), Delimiter::Brace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        find(&text.parse().expect("tokens"), &["crate", "super"])
            .into_iter()
            .map(|path| path.segments.join("::"))
            .collect()
    }

    #[test]
    fn use_trees_are_spread_out() {
        assert_eq!(
            paths("use crate::{a, b::{self, c as d}, e::*};"),
            ["crate::a", "crate::b::self", "crate::b::c", "crate::e::*"]
        );
    }

    #[test]
    fn expressions_types_and_macros_are_seen() {
        assert_eq!(
            paths("fn f() -> crate::a::B<u8> { vec![crate::c::d::<u8>()] }"),
            ["crate::a::B", "crate::c::d"]
        );
        assert_eq!(paths("super::super::x()"), ["super::super::x"]);
    }

    #[test]
    fn strings_and_comments_are_not_code() {
        assert!(paths("// crate::a\nlet s = \"crate::b\";").is_empty());
    }

    #[test]
    fn inline_modules_are_counted() {
        let found = find(
            &"mod a { use super::b; }".parse().expect("tokens"),
            &["super"],
        );
        assert_eq!(found[0].depth, 1);
    }
}
