//! Prints to a reader that may have closed the pipe.

use std::io::{self, ErrorKind, Write};
use std::process;

/// Prints a line. If the reader has closed the pipe, as `| head` does, the process exits without an
/// error.
pub fn print(text: &str) {
    if let Err(error) = writeln!(io::stdout().lock(), "{text}") {
        process::exit(if error.kind() == ErrorKind::BrokenPipe {
            0
        } else {
            1
        });
    }
}
