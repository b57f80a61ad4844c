//! Subcommand `garrick top`.

use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::Args;
use garrick_measure::Result;
use garrick_measure::commands::{Ended, print};
use garrick_top::{Client, Target};

use crate::token;

/// Minimum time between two snapshots, in seconds. Nobody can read snapshots that follow each other
/// faster.
const INTERVAL_MIN: f64 = 0.1;

/// Maximum time between two snapshots, in seconds.
const INTERVAL_MAX: f64 = 60.0;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Address of the process: HOST:PORT, HOST, :PORT or http://HOST:PORT.
    #[arg(value_name = "ADDRESS", default_value_t = Target::default())]
    address: Target,

    /// Token that the process requires. Prefer the environment variable: other users of the machine
    /// can see arguments, for example by `ps`.
    #[arg(long, value_name = "TOKEN", env = "GARRICK_TOKEN", hide_env_values = true, value_parser = token::parse)]
    token: Option<String>,

    /// Seconds between two snapshots.
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = interval)]
    interval: f64,

    /// Print one snapshot as plain text, and exit. This does not need a terminal.
    #[arg(long)]
    once: bool,

    /// Print one snapshot as JSON, and exit.
    #[arg(long)]
    json: bool,
}

fn interval(text: &str) -> std::result::Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (INTERVAL_MIN..=INTERVAL_MAX).contains(&seconds) => Ok(seconds),
        _ => Err(format!(
            "not a number of seconds from {INTERVAL_MIN} to {INTERVAL_MAX}"
        )),
    }
}

/// Shows a running process, once or until the user quits.
pub(crate) fn run(arguments: Arguments) -> Result<Ended> {
    let client = Client::new(arguments.address, arguments.token);
    if arguments.json {
        print(&garrick_top::json(&client)?);
    } else if arguments.once {
        print(&garrick_top::page(&client)?);
    } else if io::stdout().is_terminal() {
        garrick_top::watch(client, Duration::from_secs_f64(arguments.interval))?;
    } else {
        return Ok(Ended::Refused(
            "standard output is not a terminal: use --once to print one snapshot as text, or \
             --json to print it as JSON"
                .to_owned(),
        ));
    }
    Ok(Ended::Well)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_limits() {
        assert_eq!([interval("0.1"), interval("60")], [Ok(0.1), Ok(60.0)]);
        for text in ["0", "0.09", "61", "-1", "nan", "inf", "soon", ""] {
            assert!(interval(text).is_err(), "{text}");
        }
    }
}
