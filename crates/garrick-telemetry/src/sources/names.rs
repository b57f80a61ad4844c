//! Shortened names of types.

/// Removes the modules from all paths in the name of a type. For example, returns `Option<Box<dyn
/// Any>>` for `core::option::Option<alloc::boxed::Box<dyn core::any::Any>>`.
pub(super) fn short(name: &str) -> String {
    let mut text = String::new();
    let mut rest = name;
    while !rest.is_empty() {
        let word = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (path, after) = rest.split_at(word);
        text.push_str(path.rsplit("::").next().unwrap_or(path));
        let mut chars = after.chars();
        text.extend(chars.next());
        rest = chars.as_str();
    }
    text
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ':')
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn modules_are_taken_off() {
        for (name, expected) in [
            ("u64", "u64"),
            ("", ""),
            ("app::orders::Order", "Order"),
            (
                "core::option::Option<alloc::boxed::Box<dyn core::any::Any>>",
                "Option<Box<dyn Any>>",
            ),
            ("(a::B, [c::D; 3], &e::F)", "(B, [D; 3], &F)"),
            ("app::run::{{closure}}", "{{closure}}"),
            ("päckchen::Größe<'_>", "Größe<'_>"),
        ] {
            assert_eq!(short(name), expected);
        }
    }
}
