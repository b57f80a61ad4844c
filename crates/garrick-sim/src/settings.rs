//! Settings of a check: the number of runs, their length, and the strategy.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Default number of seeds of a check.
const SEEDS: u64 = 1000;

/// Default maximum number of steps of a run.
const STEPS: u32 = 10_000;

/// Settings of the search of a check.
///
/// The environment variable `GARRICK_SIM` contains a list of settings, separated by commas:
///
/// | setting | meaning |
/// | --- | --- |
/// | `seeds:20000` | number of runs |
/// | `minutes:10` | as many runs as fit into the time |
/// | `steps:5000` | number of steps after which a run ends |
/// | `walk`, `pos`, `pct:5` | a strategy for all runs, instead of a portfolio |
/// | `all` | all orders, one after another |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub(crate) amount: Amount,
    pub(crate) steps_max: u32,
    pub(crate) strategy: Choosing,
}

/// Number of runs, or the time in which as many runs as possible are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    Runs(u64),
    Time(Duration),
}

/// The strategy by which a check chooses the steps of its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Choosing {
    /// A random walk for every second seed. The strategy PCT or POS for the other seeds.
    Portfolio,
    /// A random walk.
    Walk,
    /// The strategy PCT with this depth, which is the number of ordering constraints that a bug may
    /// need.
    Pct(u32),
    /// The strategy POS, which is partial-order sampling.
    Pos,
    /// All orders. If orders differ only in the order of independent steps, only one of them is
    /// tried.
    All,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            amount: Amount::Runs(SEEDS),
            steps_max: STEPS,
            strategy: Choosing::Portfolio,
        }
    }
}

/// The error returned for a setting that does not exist or has a wrong value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    setting: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown setting {:?}: expected a list of `seeds:N`, `minutes:N`, `steps:N`, `walk`, \
             `pct:N`, `pos` or `all`, separated by commas",
            self.setting
        )
    }
}

impl std::error::Error for SettingsError {}

impl FromStr for Settings {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        for setting in text
            .split(',')
            .map(str::trim)
            .filter(|setting| !setting.is_empty())
        {
            settings.set(setting).ok_or_else(|| SettingsError {
                setting: setting.to_owned(),
            })?;
        }
        Ok(settings)
    }
}

impl Settings {
    /// Applies a setting. Returns `None` if the setting does not exist or has a wrong value.
    fn set(&mut self, setting: &str) -> Option<()> {
        let (name, value) = setting.split_once(':').unwrap_or((setting, ""));
        match (name, value) {
            ("seeds", value) => self.amount = Amount::Runs(positive(value)?),
            ("minutes", value) => {
                let seconds = positive(value)?.checked_mul(60)?;
                self.amount = Amount::Time(Duration::from_secs(seconds));
            }
            ("steps", value) => self.steps_max = positive(value)?.try_into().ok()?,
            ("walk", "") => self.strategy = Choosing::Walk,
            ("pos", "") => self.strategy = Choosing::Pos,
            ("all", "") => self.strategy = Choosing::All,
            ("portfolio", "") => self.strategy = Choosing::Portfolio,
            ("pct", "") => self.strategy = Choosing::Pct(3),
            ("pct", value) => self.strategy = Choosing::Pct(positive(value)?.try_into().ok()?),
            _ => return None,
        }
        Some(())
    }
}

fn positive(value: &str) -> Option<u64> {
    let value = value.replace('_', "").parse().ok()?;
    (value > 0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read() {
        let settings: Settings = "seeds:20_000, pct:5,steps:7".parse().unwrap();
        assert_eq!(settings.amount, Amount::Runs(20_000));
        assert_eq!(
            (settings.steps_max, settings.strategy),
            (7, Choosing::Pct(5))
        );
        let settings: Settings = "minutes:2,all".parse().unwrap();
        assert_eq!(settings.amount, Amount::Time(Duration::from_secs(120)));
        assert_eq!(settings.strategy, Choosing::All);
        assert_eq!("".parse(), Ok(Settings::default()));
    }

    #[test]
    fn an_unknown_setting_is_named() {
        for wrong in [
            "seed:1",
            "seeds:0",
            "seeds:",
            "pct:x",
            "walk:3",
            "minutes:99999999999999999999",
        ] {
            let error = format!("seeds:5,{wrong}").parse::<Settings>().unwrap_err();
            assert!(error.to_string().contains(&format!("{wrong:?}")), "{error}");
        }
    }
}
