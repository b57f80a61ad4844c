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
        warn(&format!("error: cannot write to standard output: {error}"));
        process::exit(1);
    }
}

/// Prints a line to standard error. Does nothing if nobody can read the line, because the reader
/// has closed the pipe or the device is full. (`eprintln!` would panic, so the exit code of the
/// process would be wrong.)
pub fn warn(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
