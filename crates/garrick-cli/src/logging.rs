//! Writes log messages to standard error, filtered by the environment variable `RUST_LOG`.

use std::env;

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Environment variable with the filter for events to log.
const VARIABLE: &str = "RUST_LOG";

/// Starts logging to standard error, filtered by `RUST_LOG`. If the variable is not set or is
/// empty, logs warnings and errors, and returns false. Otherwise returns true.
///
/// # Errors
///
/// Returns a description of the mistake in the variable.
pub(crate) fn start() -> Result<bool, String> {
    let wanted = match env::var(VARIABLE) {
        Ok(wanted) => wanted,
        Err(env::VarError::NotPresent) => String::new(),
        Err(env::VarError::NotUnicode(_)) => return Err(format!("{VARIABLE} is not UTF-8")),
    };
    let told = fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let subscriber = tracing_subscriber::registry().with(told.with_filter(filter(&wanted)?));
    // Fails only if a subscriber is already set. That subscriber then does the logging.
    let _ = subscriber.try_init();
    Ok(!wanted.is_empty())
}

/// Returns the filter for `wanted`, the text of the variable. A filter cannot select spans or their
/// fields, because the code for this takes longer to compile than the rest of logging.
fn filter(wanted: &str) -> Result<Targets, String> {
    if wanted.is_empty() {
        return Ok(Targets::new().with_default(LevelFilter::WARN));
    }
    let why = if wanted.contains(['[', ']', '{', '}']) {
        "spans and fields cannot be selected".to_owned()
    } else {
        match wanted.parse() {
            Ok(targets) => return Ok(targets),
            Err(error) => format!("{error}"),
        }
    };
    let wanted = wanted.escape_debug();
    Err(format!(
        "{VARIABLE} is \"{wanted}\": {why}; use a level such as info, or a list such as \
         garrick=debug,warn"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_targets_are_understood_and_others_named() {
        for wanted in ["", "info", "garrick=debug,warn", "off"] {
            assert!(filter(wanted).is_ok(), "{wanted}");
        }
        for wanted in ["garrick=loud", "a=b=c", "[\u{1b}", "garrick[turn]=info"] {
            let said = filter(wanted).unwrap_err();
            assert!(said.starts_with("RUST_LOG is "), "{said}");
            assert!(!said.chars().any(char::is_control), "{said:?}");
        }
    }
}
