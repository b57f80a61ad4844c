//! Patterns for names. `*` matches any sequence of characters, and `?` any single character.

/// Returns true if `pattern` matches all of `name`. The running time is at most proportional to the
/// product of the two lengths.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // Position of the last star, and the end of its match: the only place to backtrack to.
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, eaten)) = star else {
                    return false;
                };
                star = Some((at, eaten + 1));
                p = at + 1;
                n = eaten + 1;
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;
    use proptest::prelude::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name) in [
            ("*", ""),
            ("", ""),
            ("a*c", "abbc"),
            ("?b*", "äb"),
            ("*a*a*", "banana"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", "a"),
            ("?", ""),
            ("a*c", "abcd"),
            ("*a*a*a*a*", "banana"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    /// Reference implementation, which follows the definition directly and takes exponential time.
    fn by_definition(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            (['*', rest @ ..], _) => {
                (0..=name.len()).any(|eaten| by_definition(rest, &name[eaten..]))
            }
            (['?', p @ ..], [_, n @ ..]) => by_definition(p, n),
            ([a, p @ ..], [b, n @ ..]) => a == b && by_definition(p, n),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn agrees_with_its_definition(pattern in "[ab*?]{0,7}", name in "[ab]{0,8}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&pattern, &name), by_definition(&chars(&pattern), &chars(&name)));
        }
    }
}
