//! Printing to a reader that may have gone.

use std::io::{self, ErrorKind, Write};
use std::process;

/// Prints a line. A reader that has seen enough (`| head`) has closed the pipe. This ends the
/// process without an error, as it does other commands.
pub fn print(text: &str) {
    if let Err(error) = writeln!(io::stdout().lock(), "{text}") {
        process::exit(if error.kind() == ErrorKind::BrokenPipe {
            0
        } else {
            1
        });
    }
}
