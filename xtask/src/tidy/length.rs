//! Rules: a function has at most 70 lines, and a file has fewer than 500 lines of code.

use std::collections::HashSet;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

use super::source::{Source, is_group, is_ident, is_punct, line_of};
use super::violation::Violation;

/// Maximum number of lines of a function, including the lines of the `fn` and of its closing brace.
const FUNCTION_LINES_MAX: usize = 70;

/// Maximum number of lines of a file, without blank lines, comments and test code.
const FILE_LINES_MAX: usize = 499;

/// Reports every function that is too long, including tests and functions inside macros.
pub(crate) fn functions(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    source.each_token(|trees, index| {
        let Some((name, lines)) = function_at(trees, index) else {
            return;
        };
        if lines > FUNCTION_LINES_MAX {
            violations.push(source.violation(
                trees[index].span(),
                format!("function `{name}` is {lines} lines long"),
                format!("{FUNCTION_LINES_MAX} lines from `fn` to the closing brace"),
            ));
        }
    });
    violations
}

/// Returns the name and length of the function whose `fn` is at `index`.
fn function_at(trees: &[TokenTree], index: usize) -> Option<(String, usize)> {
    let Some(TokenTree::Ident(name)) = trees.get(index + 1) else {
        return None;
    };
    if !is_ident(trees.get(index), "fn") {
        return None;
    }
    let body = body_after(trees, index + 2)?;
    let lines = body.end().line + 1 - line_of(trees[index].span());
    Some((name.to_string(), lines))
}

/// Returns the position of the braces of a function's body. Skips the braces of const generics, as
/// in `Ring<{ N }>`.
fn body_after(trees: &[TokenTree], start: usize) -> Option<Span> {
    for (index, tree) in trees.iter().enumerate().skip(start) {
        let next = trees.get(index + 1);
        if is_punct(Some(tree), ';') {
            return None;
        }
        if is_group(Some(tree), Delimiter::Brace) && !is_punct(next, '>') && !is_punct(next, ',') {
            return Some(tree.span());
        }
    }
    None
}

/// Reports a file with too much code.
pub(crate) fn file(source: &Source) -> Option<Violation> {
    let lines = code_lines(source);
    (lines > FILE_LINES_MAX).then(|| {
        Violation::new(
            &source.path,
            1,
            format!("the file has {lines} lines of code"),
            format!(
                "{FILE_LINES_MAX} lines, without tests, comments and blank lines: split the file"
            ),
        )
    })
}

fn code_lines(source: &Source) -> usize {
    let mut lines = HashSet::new();
    add_lines(source, &source.tokens, &mut lines);
    lines.len()
}

fn add_lines(source: &Source, tokens: &TokenStream, lines: &mut HashSet<usize>) {
    for tree in tokens.clone() {
        let group = matches!(tree, TokenTree::Group(_));
        let [first, last] = [line_of(tree.span()), tree.span().end().line];
        if !group && first == last && lines.contains(&first) {
            continue;
        }
        if source.in_test(tree.span()) || source.is_comment(tree.span()) {
            continue;
        }
        if let TokenTree::Group(group) = &tree {
            lines.insert(line_of(group.span_open()));
            lines.insert(line_of(group.span_close()));
            add_lines(source, &group.stream(), lines);
        } else {
            lines.extend(first..=last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn source(text: &str) -> Source {
        Source::parse(Path::new("a.rs"), &[], false, text.to_owned()).expect("valid Rust")
    }

    /// Returns the source of a function with `lines` lines.
    fn function(lines: usize) -> String {
        format!(
            "fn long<'a>() -> A<{{ 1 }}> {{\n{}}}",
            "x();\n".repeat(lines - 2)
        )
    }

    #[test]
    fn seventy_lines_pass_and_seventy_one_do_not() {
        assert_eq!(functions(&source(&function(70))), []);
        let found = functions(&source(&format!("\n{}", function(71))));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
        assert!(found[0].wrong.contains("`long` is 71 lines"));
    }

    #[test]
    fn braces_in_strings_chars_and_comments_do_not_count() {
        let body = "let a = \"}\"; let b = '}'; // }\n/* } */\n".repeat(40);
        assert_eq!(
            functions(&source(&format!("fn long() {{\n{body}}}"))).len(),
            1
        );
    }

    #[test]
    fn methods_and_functions_in_macros_are_measured() {
        let long = function(71);
        assert_eq!(functions(&source(&format!("impl A {{ {long} }}"))).len(), 1);
        assert_eq!(
            functions(&source(&format!("proptest! {{ {long} }}"))).len(),
            1
        );
        assert_eq!(
            functions(&source("trait A { fn b(); }\nstruct C { d: fn(u8) }")),
            []
        );
    }

    #[test]
    fn only_code_counts_towards_a_file() {
        let code = source("/// Doc.\n\n// Comment.\nfn a() {\n    b(\"x\ny\");\n}\n");
        assert_eq!(code_lines(&code), 4);
        assert_eq!(
            code_lines(&source("#[cfg(test)]\nmod tests {\n fn a() {}\n}\n")),
            0
        );
    }

    #[test]
    fn five_hundred_lines_are_too_many() {
        assert_eq!(file(&source(&"const _: () = ();\n".repeat(499))), None);
        assert!(file(&source(&"const _: () = ();\n".repeat(500))).is_some());
    }
}
