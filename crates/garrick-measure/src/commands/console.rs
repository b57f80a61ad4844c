//! Functions that print to standard output. The reader of the output may have closed the pipe.

use std::io::{self, ErrorKind, Write};
use std::process;

/// Prints a line to standard output. If that fails, exits the process: with code 0 if the reader of
/// the output has closed the pipe, as `| head` does, and otherwise with code 1 and an error on
/// standard error.
pub fn print(text: &str) {
    if let Err(error) = writeln!(io::stdout().lock(), "{text}") {
        if error.kind() == ErrorKind::BrokenPipe {
            process::exit(0);
        }
        // Standard error may be closed, too. Then nobody can be told.
        let _ = writeln!(
            io::stderr(),
            "error: cannot write to standard output: {error}"
        );
        process::exit(1);
    }
}
