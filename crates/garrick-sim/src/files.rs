//! The files that describe a failure: the trace, the diagram and the choices of the run.

use std::env;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use garrick_core::random::mix;
use garrick_sched::{Choice, Fate, TaskName};

use crate::run::{Move, Then};

/// First line of a file that contains the choices of a run.
const HEADER: &str = "garrick-sim choices 2";

/// Writes the given files to `folder`, or to the default folder if `folder` is `None`. Returns the
/// folder that was used.
pub(crate) fn write(folder: Option<&Path>, files: &[(String, String)]) -> io::Result<PathBuf> {
    let folder = folder.map_or_else(default_folder, Path::to_path_buf);
    fs::create_dir_all(&folder)?;
    for (name, text) in files {
        fs::write(folder.join(name), text)?;
    }
    Ok(folder)
}

/// Returns the folder `garrick-sim` in the target folder of the program, or in the folder for
/// temporary files.
fn default_folder() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    let is_target = |path: &&Path| path.join("CACHEDIR.TAG").exists();
    if let Some(target) = program.ancestors().find(is_target) {
        return target.join("garrick-sim");
    }
    // The program of an example in the documentation is in a temporary folder.
    let here = env::current_dir().unwrap_or_default();
    let targets = here.ancestors().map(|folder| folder.join("target"));
    let target = targets.into_iter().find(|target| is_target(&&**target));
    target.unwrap_or_else(env::temp_dir).join("garrick-sim")
}

/// Returns the name of a file that describes a failure.
pub(crate) fn name_of(check: &str, seed: u64, extension: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
    let check: String = check.chars().map(plain).collect();
    format!("{check}-{seed}.{extension}")
}

/// Parses a seed, which is a decimal or hexadecimal number.
pub(crate) fn parse_seed(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The parsed content of a file with the choices of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) seed: u64,
    /// Hash of the type names of all actors in the run.
    pub(crate) types: u64,
    pub(crate) moves: Vec<Move>,
    pub(crate) then: Then,
}

/// Returns a hash of the type names of all actors in a run. The hash differs between most versions
/// of a program.
pub(crate) fn hash_of_types<'t>(types: impl Iterator<Item = &'t str>) -> u64 {
    let mut types: Vec<&str> = types.collect();
    types.sort_unstable();
    let bytes = types.iter().flat_map(|name| name.bytes().chain([0]));
    bytes.fold(0, |hash, byte| mix(hash ^ u64::from(byte)))
}

impl Recorded {
    /// Returns the text of a file that contains the choices of a run.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{HEADER}\nseed {}\ntypes {:016x}\n", self.seed, self.types);
        match self.then {
            Then::Ends => {}
            Then::Calm => text.push_str("then calm\n"),
            Then::GoesOn => text.push_str("then goes on\n"),
        }
        for made in &self.moves {
            let fate = match made.fate {
                Fate::Happens => "happens",
                Fate::Fails => "fails",
                Fate::Lost => "lost",
                Fate::Doubled => "doubled",
            };
            let at = made.at;
            // Writing to a string cannot fail.
            let _ = match made.choice {
                Choice::Start { task } => writeln!(text, "{at} {fate} start {:016x}", task.get()),
                Choice::Deliver { from, to } => {
                    writeln!(
                        text,
                        "{at} {fate} deliver {:016x} {:016x}",
                        from.get(),
                        to.get()
                    )
                }
                Choice::Other(number) => writeln!(text, "{at} {fate} other {number}"),
            };
        }
        text
    }

    /// Parses the text of a file that contains the choices of a run.
    ///
    /// # Errors
    /// Returns a text that names the line if the file has a wrong form.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate();
        let mut recorded = Self {
            seed: 0,
            types: 0,
            moves: Vec::new(),
            then: Then::Ends,
        };
        if lines.next().is_none_or(|(_, line)| line != HEADER) {
            return Err(format!("line 1 is not {HEADER:?}"));
        }
        for (number, line) in lines {
            recorded
                .add(line)
                .ok_or_else(|| format!("line {} has a wrong form: {line:?}", number + 1))?;
        }
        Ok(recorded)
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => {}
            ["seed", seed] => self.seed = seed.parse().ok()?,
            ["types", types] => self.types = u64::from_str_radix(types, 16).ok()?,
            ["then", "calm"] => self.then = Then::Calm,
            ["then", "goes", "on"] => self.then = Then::GoesOn,
            [at, fate, "start", task] => {
                let task = name(task)?;
                self.push(at, fate, Choice::Start { task })?;
            }
            [at, fate, "deliver", from, to] => {
                let (from, to) = (name(from)?, name(to)?);
                self.push(at, fate, Choice::Deliver { from, to })?;
            }
            [at, fate, "other", number] => {
                self.push(at, fate, Choice::Other(number.parse().ok()?))?;
            }
            _ => return None,
        }
        Some(())
    }

    fn push(&mut self, at: &str, fate: &str, choice: Choice) -> Option<()> {
        let fate = match fate {
            "happens" => Fate::Happens,
            "fails" => Fate::Fails,
            "lost" => Fate::Lost,
            "doubled" => Fate::Doubled,
            _ => return None,
        };
        let at = at.parse().ok()?;
        self.moves.push(Move { choice, fate, at });
        Some(())
    }
}

fn name(text: &str) -> Option<TaskName> {
    u64::from_str_radix(text, 16)
        .ok()
        .map(TaskName::from_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> Recorded {
        let name = TaskName::from_number;
        let choices = [
            (Choice::Start { task: name(7) }, Fate::Happens),
            (
                Choice::Deliver {
                    from: name(u64::MAX),
                    to: name(1),
                },
                Fate::Fails,
            ),
            (Choice::Other(12), Fate::Lost),
        ];
        Recorded {
            seed: 99,
            types: 0xabc,
            moves: choices
                .map(|(choice, fate)| Move {
                    choice,
                    fate,
                    at: 7_000,
                })
                .into(),
            then: Then::GoesOn,
        }
    }

    #[test]
    fn what_was_written_is_read() {
        assert_eq!(Recorded::parse(&recorded().text()), Ok(recorded()));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let text = recorded().text().replace("fails", "flies");
        let error = Recorded::parse(&text).unwrap_err();
        assert!(
            error.contains("line 6") && error.contains("flies"),
            "{error}"
        );
        assert!(Recorded::parse("choices").unwrap_err().contains("line 1"));
    }

    #[test]
    fn seeds_are_decimal_or_hexadecimal() {
        assert_eq!(parse_seed("17"), Some(17));
        assert_eq!(parse_seed("0x1F"), Some(31));
        assert_eq!(parse_seed("seed"), None);
    }
}
