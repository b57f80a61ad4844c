//! Rules: there is no mark of unfinished work, and no test is skipped or sleeps.

use std::ops::Range;

use proc_macro2::{Delimiter, TokenTree};

use super::source::{Source, is_group, is_ident, is_punct};
use super::violation::Violation;

/// Words that mark unfinished work everywhere except in strings.
const MARKS: &[&str] = &["FIXME", "TODO", "XXX"];

/// Macros that stand for missing code.
const GAPS: &[&str] = &["todo", "unimplemented"];

/// Reports unfinished work in one file.
pub(crate) fn check(source: &Source) -> Vec<Violation> {
    let mut violations = marks(source);
    source.each_token(|trees, index| {
        violations.extend(
            gap(source, trees, index)
                .or_else(|| skipped(source, trees, index))
                .or_else(|| asleep(source, trees, index)),
        );
    });
    violations
}

fn gap(source: &Source, trees: &[TokenTree], index: usize) -> Option<Violation> {
    let name = GAPS
        .iter()
        .find(|name| is_ident(trees.get(index), name) && is_punct(trees.get(index + 1), '!'))?;
    let wrong = format!("`{name}!` stands for missing code");
    Some(source.violation(trees[index].span(), wrong, "finished code"))
}

fn skipped(source: &Source, trees: &[TokenTree], index: usize) -> Option<Violation> {
    let TokenTree::Group(group) = trees.get(index + 1)? else {
        return None;
    };
    let is_attribute = is_punct(trees.get(index), '#') && group.delimiter() == Delimiter::Bracket;
    let is_skipped = is_attribute && ignores(&Vec::from_iter(group.stream()));
    is_skipped.then(|| {
        let wrong = "`#[ignore]` keeps a test from running";
        source.violation(group.span(), wrong, "tests that always run")
    })
}

/// Returns true if an attribute with these tokens ignores a test, always or on a condition.
fn ignores(attribute: &[TokenTree]) -> bool {
    if is_ident(attribute.first(), "ignore") {
        return true;
    }
    let [TokenTree::Ident(name), TokenTree::Group(arguments)] = attribute else {
        return false;
    };
    // The condition comes first, and then the attributes.
    let arguments = Vec::from_iter(arguments.stream());
    let mut parts = arguments.split(|tree| is_punct(Some(tree), ','));
    *name == "cfg_attr" && parts.any(ignores)
}

/// Reports a call that makes the thread of a test sleep. A method called `sleep` is not reported,
/// because an actor may sleep by a virtual clock.
fn asleep(source: &Source, trees: &[TokenTree], index: usize) -> Option<Violation> {
    let is_method = index > 0 && is_punct(trees.get(index - 1), '.');
    let sleep = is_ident(trees.get(index), "sleep")
        && !is_method
        && is_group(trees.get(index + 1), Delimiter::Parenthesis)
        && source.in_test(trees[index].span());
    sleep.then(|| {
        source.violation(
            trees[index].span(),
            "a test sleeps",
            "waiting for the event itself, by a channel, a barrier or a virtual clock",
        )
    })
}

/// Reports marks of unfinished work, and examples that are not compiled, everywhere except in
/// strings.
fn marks(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in without_strings(source).lines().enumerate() {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let Some(mark) = words.find(|word| MARKS.contains(word)) {
            violations.push(Violation::new(
                &source.path,
                index + 1,
                format!("`{mark}` marks unfinished work"),
                "finished work, or an entry in the issue list",
            ));
        }
        if line.contains("```ignore") {
            violations.push(Violation::new(
                &source.path,
                index + 1,
                "an example that is not compiled",
                "examples that run, `no_run` for examples that cannot run in a test, `text` for pictures",
            ));
        }
    }
    violations
}

/// Returns the text with the contents of literals blanked out. Keeps the lines in place.
fn without_strings(source: &Source) -> String {
    let mut literals: Vec<Range<usize>> = Vec::new();
    source.each_token(|trees, index| {
        if let TokenTree::Literal(literal) = &trees[index]
            && !source.is_comment(literal.span())
        {
            literals.push(literal.span().byte_range());
        }
    });
    literals.sort_unstable_by_key(|range| range.start);
    let mut rest = 0;
    let mut text = String::with_capacity(source.text.len());
    for literal in literals {
        text.push_str(&source.text[rest..literal.start]);
        let breaks = source.text[literal.clone()].matches('\n').count();
        text.push_str("\" \"");
        text.push_str(&"\n".repeat(breaks));
        rest = literal.end;
    }
    text.push_str(&source.text[rest..]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const NONE: [usize; 0] = [];

    fn lines(text: &str) -> Vec<usize> {
        let source = Source::parse(Path::new("a.rs"), &[], false, text.to_owned());
        let found = check(&source.expect("valid Rust"));
        found.into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn marks_are_found_in_comments_and_documentation() {
        assert_eq!(lines("// TODO: later\nfn a() {}"), [1]);
        assert_eq!(lines("fn a() {}\n/* é\nXXX */"), [3]);
        assert_eq!(lines("//! Top.\n\n/// FIXME(me)\nfn a() {}"), [3]);
        assert_eq!(lines("const A: &str = \"a\nb\"; // TODO"), [2]);
    }

    #[test]
    fn marks_in_strings_and_inside_words_are_fine() {
        assert_eq!(
            lines("const A: &str = \"TODO\"; // todos, TODOS, XXXL"),
            NONE
        );
        assert_eq!(lines("const A: &str = r#\"a\nFIXME\"#;"), NONE);
    }

    #[test]
    fn macros_for_missing_code_are_found() {
        assert_eq!(
            lines("fn a() {\n todo!() }\nfn b() { unimplemented!() }"),
            [2, 3]
        );
        assert_eq!(lines("fn todo() { todo(); unreachable!() }"), NONE);
    }

    #[test]
    fn skipped_tests_and_examples_are_found() {
        assert_eq!(lines("#[test]\n#[ignore]\nfn a() {}"), [2]);
        assert_eq!(lines("#[test]\n#[ignore = \"slow\"]\nfn a() {}"), [2]);
        let with = |attributes| {
            format!("#[test]\n#[cfg_attr(debug_assertions, {attributes})]\nfn a() {{}}")
        };
        assert_eq!(lines(&with("ignore = \"slow\"")), [2]);
        assert_eq!(lines(&with("cfg_attr(unix, ignore)")), [2]);
        assert_eq!(
            lines(&with("inline, should_panic(expected = \"ignore\")")),
            NONE
        );
        assert_eq!(lines("/// ```ignore\n/// a()\n/// ```\nfn a() {}"), [1]);
        assert_eq!(lines("fn ignore(a: [u8; 1]) { ignore([0]) }"), NONE);
    }

    #[test]
    fn only_tests_may_not_sleep() {
        assert_eq!(lines("fn a() { std::thread::sleep(b) }"), NONE);
        assert_eq!(
            lines("#[cfg(test)] mod t {\n fn a() { thread::sleep(b) } }"),
            [2]
        );
        assert_eq!(lines("#[test]\nfn a() { sleep(b); asleep(c); }"), [2]);
    }
}
