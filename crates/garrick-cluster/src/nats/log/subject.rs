//! Names of the streams and subjects of journals.
//!
//! | name | use |
//! | --- | --- |
//! | `g_<cluster>_events` | stream of the events |
//! | `g.<cluster>.e.<journal>` | subject of the events of a journal |
//! | `g_<cluster>_states` | stream of the saved states |
//! | `g.<cluster>.s.<journal>` | subject of the saved states of a journal |
//!
//! Each part of the name of a journal is a token. Bytes other than letters, digits, `-` and `_` are
//! written as `=` and two hexadecimal digits.

use std::fmt::Write as _;

/// Identifies one of the two streams for the journals of a cluster: the stream for events, or the
/// stream for saved states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Events,
    States,
}

impl Kind {
    /// Returns the name of the stream.
    pub(super) fn stream(self, cluster: &str) -> String {
        match self {
            Self::Events => format!("g_{cluster}_events"),
            Self::States => format!("g_{cluster}_states"),
        }
    }

    /// Returns the common beginning of all NATS subjects of the stream.
    pub(super) fn prefix(self, cluster: &str) -> String {
        match self {
            Self::Events => format!("g.{cluster}.e."),
            Self::States => format!("g.{cluster}.s."),
        }
    }
}

/// Returns the part of a NATS subject that stands for the name of a journal: one token for each
/// part of the name, separated by dots. Different names have different tokens.
pub(super) fn tokens(name: &str) -> String {
    let mut tokens = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'/' => tokens.push('.'),
            b'-' | b'_' => tokens.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => tokens.push(byte.into()),
            // Writing to a string cannot fail.
            _ => _ = write!(tokens, "={byte:02x}"),
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn names_have_different_tokens_without_special_characters() {
        let names = [
            "account/42",
            "account.42",
            "account=2e42",
            "a b",
            "Zürich",
            "a*>",
            "$JS",
        ];
        let all = names.map(tokens);
        let expected = [
            "account.42",
            "account=2e42",
            "account=3d2e42",
            "a=20b",
            "Z=c3=bcrich",
            "a=2a=3e",
            "=24JS",
        ];
        assert_eq!(all, expected);
    }
}
