//! What `RUST_LOG` asks for, on standard error.

use std::env;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// The variable that says what is told.
const VARIABLE: &str = "RUST_LOG";

/// Tells on standard error what `RUST_LOG` asks for; warnings and errors if it asks for nothing. Returns whether it
/// asks for anything.
///
/// # Errors
///
/// What is wrong with the variable.
pub(super) fn start() -> Result<bool, String> {
    let wanted = match env::var(VARIABLE) {
        Ok(wanted) => wanted,
        Err(env::VarError::NotPresent) => String::new(),
        Err(env::VarError::NotUnicode(_)) => return Err(format!("{VARIABLE} is not UTF-8")),
    };
    let subscriber = tracing_subscriber::fmt().with_writer(std::io::stderr);
    let subscriber = subscriber
        .with_ansi(false)
        .with_env_filter(filter(&wanted)?);
    // Fails only if there is one already, which then does the same.
    let _ = subscriber.try_init();
    Ok(!wanted.is_empty())
}

fn filter(wanted: &str) -> Result<EnvFilter, String> {
    let builder = EnvFilter::builder().with_default_directive(LevelFilter::WARN.into());
    builder.parse(wanted).map_err(|error| {
        let wanted = wanted.escape_debug();
        format!("{VARIABLE} is \"{wanted}\": {error}; it may be a level such as info, or target=level, after commas more")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_targets_are_understood_and_others_named() {
        for wanted in ["", "info", "garrick=debug,warn", "off"] {
            assert!(filter(wanted).is_ok(), "{wanted}");
        }
        for wanted in ["garrick=loud", "a=b=c", "[\u{1b}"] {
            let said = filter(wanted).unwrap_err();
            assert!(said.starts_with("RUST_LOG is "), "{said}");
            assert!(!said.chars().any(char::is_control), "{said:?}");
        }
    }
}
