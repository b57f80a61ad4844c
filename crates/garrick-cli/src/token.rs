//! Parses telemetry tokens on the command line.

/// Parses a token, which must be valid in an HTTP header.
pub(crate) fn parse(text: &str) -> std::result::Result<String, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err(
            "a token is one or more ASCII letters, digits or punctuation characters, without spaces"
                .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_fit_into_a_header() {
        assert_eq!(parse("s3cret/+=").as_deref(), Ok("s3cret/+="));
        for text in ["", "two words", "line\n", "schlüssel", "\u{7f}"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
