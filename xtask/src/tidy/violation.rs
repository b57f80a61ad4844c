//! The report of a broken rule.

use std::fmt;
use std::path::{Path, PathBuf};

/// A broken rule at one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// Path of the file, relative to the workspace.
    pub(crate) path: PathBuf,
    /// Line number, from 1.
    pub(crate) line: usize,
    /// Description of the violation.
    pub(crate) wrong: String,
    /// Description of the allowed alternative.
    pub(crate) allowed: String,
}

impl Violation {
    pub(crate) fn new(
        path: &Path,
        line: usize,
        wrong: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Self {
            path: path.to_owned(),
            line: line.max(1),
            wrong: wrong.into(),
            allowed: allowed.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            wrong,
            allowed,
        } = self;
        write!(
            f,
            "{}:{line}: {wrong}\n    allowed: {allowed}",
            path.display()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_file_line_wrong_allowed() {
        let violation = Violation::new(Path::new("a/b.rs"), 7, "too long", "70 lines");
        assert_eq!(
            violation.to_string(),
            "a/b.rs:7: too long\n    allowed: 70 lines"
        );
    }
}
