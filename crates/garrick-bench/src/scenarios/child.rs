//! Measurements in a new process, where no earlier scenario has left memory that could be reused.

use std::env;
use std::process::Command;

use garrick_measure::{Measured, Result};

/// Runs this program in a new process, with the hidden subcommand `word` and the arguments
/// `numbers`. Returns the measurement that the process prints.
pub(super) fn measured(word: &str, numbers: &[u64]) -> Result<Measured> {
    let output = Command::new(env::current_exe()?)
        .arg(word)
        .args(numbers.iter().map(u64::to_string))
        .output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the process for {word} failed: {}", why.trim()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
