//! Shortened names of types.

/// Returns the name of a type without module paths. `name` is the full name, as returned by
/// [`std::any::type_name`]. For a closure, returns the name of the function that contains the
/// closure. For the future of an async function, returns the name of this function.
///
/// | `name` | result |
/// | --- | --- |
/// | `core::option::Option<bank::Coin>` | `Option<Coin>` |
/// | `bank::open::{{closure}}` | `open` |
#[must_use]
pub fn short_type_name(name: &str) -> String {
    let mut text = String::with_capacity(name.len().min(64));
    add_types(&mut text, name);
    text
}

/// Returns the name of a type without module paths and without type parameters.
pub(crate) fn bare_type_name(name: &str) -> String {
    let mut text = short_type_name(name);
    if let Some(end) = text.find('<').filter(|end| *end > 0) {
        text.truncate(end);
    }
    text
}

/// Appends `rest` to `text`, and shortens all paths in it. `rest` may contain any number of paths,
/// such as the parameters of a type.
fn add_types(text: &mut String, mut rest: &str) {
    while let Some(first) = rest.chars().next() {
        if is_start(first) {
            let (path, after) = rest.split_at(path_bytes(rest));
            add_path(text, path);
            rest = after;
        } else {
            text.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
}

/// Appends the last segment of `path` that is not a closure, with shortened parameters.
fn add_path(text: &mut String, path: &str) {
    let segments = segments(path);
    let named = segments.iter().rfind(|segment| !segment.starts_with('{'));
    let segment = named.or(segments.last()).copied().unwrap_or(path);
    // The segment can be `<Type as Trait>` only if all segments after it are closures.
    let (name, parameters) = segment.split_at(segment.find('<').unwrap_or(segment.len()));
    text.push_str(name);
    match parameters.strip_prefix('<') {
        None => {}
        Some(inner) => {
            text.push('<');
            add_types(text, inner);
        }
    }
}

/// Splits a path at each `::` that is not inside of `<` and `>`.
fn segments(path: &str) -> Vec<&str> {
    let (mut segments, mut depth, mut begin) = (Vec::new(), 0_u32, 0);
    let mut before = ' ';
    for (at, c) in path.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && before == ':' => {
                segments.push(&path[begin..at - 1]);
                begin = at + 1;
                before = ' ';
                continue;
            }
            _ => {}
        }
        before = c;
    }
    segments.push(&path[begin..]);
    segments.retain(|segment| !segment.is_empty());
    segments
}

/// Returns true if a path can begin with `c`.
fn is_start(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '{' | '<')
}

/// Returns the length in bytes of the path at the beginning of `text`. The path ends at the first
/// character that is outside of `<` and `>` and cannot be a part of a path.
fn path_bytes(text: &str) -> usize {
    let (mut depth, mut before) = (0_u32, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' && depth > 0 => depth -= 1,
            _ if depth > 0 || c.is_alphanumeric() || matches!(c, '_' | ':' | '{' | '}' | '#') => {}
            _ => return at,
        }
        before = c;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn modules_are_removed_and_closures_have_the_name_of_their_function() {
        for (long, short) in [
            ("u64", "u64"),
            ("", ""),
            ("bank::Teller", "Teller"),
            ("bank::Teller<bank::Coin>", "Teller<Coin>"),
            (
                "core::option::Option<alloc::boxed::Box<dyn core::any::Any>>",
                "Option<Box<dyn Any>>",
            ),
            ("(a::B, [c::D; 3], &e::F)", "(B, [D; 3], &F)"),
            ("päckchen::Größe<'_>", "Größe<'_>"),
            ("bank::open::{{closure}}", "open"),
            ("bank::open::{{closure}}::{{closure}}", "open"),
            ("bank::open<bank::Coin>::{{closure}}", "open<Coin>"),
            ("bank::Vault<bank::Coin>::open::{{closure}}", "open"),
            (
                "<bank::Teller as core::ops::Drop>::drop::{{closure}}",
                "drop",
            ),
            ("{{closure}}", "{{closure}}"),
            (
                "a::Behavior<b::Front<c::Msg, d::run::{{closure}}>>",
                "Behavior<Front<Msg, run>>",
            ),
            ("a::B<fn(c::D) -> e::F>", "B<fn(D) -> F>"),
            ("fn(a::B<u8>) -> c::D", "fn(B<u8>) -> D"),
            ("a::B<<c::D as e::F>::G>", "B<G>"),
            ("a::main::{{closure}}::Inner", "Inner"),
        ] {
            assert_eq!(short_type_name(long), short, "{long}");
        }
    }

    #[test]
    fn a_bare_name_has_no_parameters() {
        assert_eq!(bare_type_name("bank::Teller<bank::Coin>"), "Teller");
        assert_eq!(bare_type_name("bank::open<u8>::{{closure}}"), "open");
        assert_eq!(bare_type_name("(a::B<u8>, u8)"), "(B");
    }

    #[test]
    fn names_of_the_compiler_are_shortened() {
        fn name_of<T>(_: T) -> &'static str {
            std::any::type_name::<T>()
        }
        let closure = || ();
        let short = short_type_name(name_of(closure));
        assert_eq!(short, "names_of_the_compiler_are_shortened");
        assert_eq!(
            short_type_name(name_of(vec![Some(String::new())])),
            "Vec<Option<String>>"
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_or_grow(text in "[a-c<>:{}&, ()é-]{0,40}") {
            prop_assert!(short_type_name(&text).len() <= text.len());
            let _ = bare_type_name(&text);
        }
    }
}
