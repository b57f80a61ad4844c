//! The token that gives a client access to the server.

use std::fmt;
use std::hint::black_box;

/// Maximum length of a token. Longer tokens would not be safer.
const LENGTH_MAX: usize = 256;

/// A token that a client must send.
///
/// A token consists of letters, digits, `-`, `.`, `_` and `~`. None of them needs escaping in a URL
/// or in a header.
#[derive(Clone)]
pub(crate) struct Token(String);

/// The error returned when a token has a forbidden length or character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenError(String);

impl Token {
    /// Creates a token. Returns an error if `word` has a forbidden length or character.
    pub(crate) fn new(word: &str) -> Result<Self, TokenError> {
        if word.is_empty() || word.len() > LENGTH_MAX {
            let length = word.len();
            return Err(TokenError(format!(
                "the token has {length} characters, but 1 to {LENGTH_MAX} are allowed"
            )));
        }
        match word.chars().find(|c| !is_allowed(*c)) {
            None => Ok(Self(word.to_owned())),
            Some(c) => Err(TokenError(format!(
                "the token has the character {c:?}, but only ASCII letters, digits and `-._~` are allowed"
            ))),
        }
    }

    /// Returns true if the token is `word`. The time of the comparison depends only on the lengths.
    pub(crate) fn is(&self, word: &str) -> bool {
        if self.0.len() != word.len() {
            return false;
        }
        let pairs = self.0.bytes().zip(word.bytes());
        // `black_box` prevents the compiler from stopping at the first difference.
        let difference = pairs.fold(0, |all, (a, b)| black_box(all | (a ^ b)));
        difference == 0
    }
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~')
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TokenError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_itself_is_it() {
        let token = Token::new("open-sesame").expect("a fine token");
        assert!(token.is("open-sesame"));
        for other in ["", "open-sesamf", "Open-sesame", "open-sesame ", "open"] {
            assert!(!token.is(other), "{other}");
        }
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn what_cannot_be_one_is_told_why() {
        let error = Token::new("").unwrap_err().to_string();
        assert!(error.contains("0 characters"), "{error}");
        let error = Token::new("a b").unwrap_err().to_string();
        assert!(error.contains("' '"), "{error}");
        assert!(Token::new(&"x".repeat(257)).is_err());
    }
}
