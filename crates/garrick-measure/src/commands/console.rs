//! Printing to whoever reads it, or not.

use std::io::{self, ErrorKind, Write};
use std::process;

/// Prints a line. A reader that has seen enough (`| head`) has closed the pipe: that ends the process in
/// peace, as it does other commands.
pub fn print(text: &str) {
    if let Err(error) = writeln!(io::stdout().lock(), "{text}") {
        process::exit(if error.kind() == ErrorKind::BrokenPipe {
            0
        } else {
            1
        });
    }
}
