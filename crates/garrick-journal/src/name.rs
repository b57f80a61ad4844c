//! Names of journals.

use crate::error::JournalError;

/// Maximum length of a name in bytes.
const NAME_MAX: usize = 255;

/// Checks the name of a journal. A name like `account/42` has parts, which are separated by `/`.
///
/// # Errors
/// Returns [`JournalError::Name`] if the name is empty or longer than 255 bytes, contains a control
/// character, or has a part that is empty, `.` or `..`.
pub fn check_name(name: &str) -> Result<(), JournalError> {
    let is_no_part = |part: &str| matches!(part, "" | "." | "..");
    let why = match name {
        "" => "it is empty",
        _ if name.len() > NAME_MAX => "it is longer than 255 bytes",
        _ if name.contains(char::is_control) => "it contains a control character",
        _ if name.split('/').any(is_no_part) => "a part of it is empty, `.` or `..`",
        _ => return Ok(()),
    };
    Err(JournalError::Name {
        name: name.to_owned(),
        why,
    })
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_have_parts() {
        for name in ["a", "account/42", "a.b/..c", "Konto/Zürich"] {
            check_name(name).unwrap();
        }
        let long = "a".repeat(256);
        for name in ["", ".", "a/..", "/a", "a/", "a//b", "a\0b", "a\nb", &long] {
            let error = check_name(name).unwrap_err().to_string();
            assert!(
                error.contains("is not a valid name for a journal: "),
                "{error}"
            );
        }
    }
}
