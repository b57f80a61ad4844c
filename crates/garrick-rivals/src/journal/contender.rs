//! The contenders of the study of journals, each of which runs in a separate process.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use garrick_measure::Result;

use crate::jvm::{CAJUN, PEKKO, Program, Project};

use super::engines::{Fjall, Plain, Redb, Sqlite};
use super::run::{Fault, Outcome, PAYLOAD, Plan};
use super::strace::{self, Syncs};
use super::{garrick, hand};

/// Hidden first argument of a process that runs a contender.
const CHILD: &str = "measure-journal";

/// Maximum number of events that a writer commits together. In Garrick, the same number limits how
/// many turns are committed together.
const GROUP: usize = 4_096;

/// Maximum number of lines that are shown from the error output of a failed process.
const LINES: usize = 3;

pub(super) struct Contender {
    pub(super) name: &'static str,
    /// Text for the table: the method by which the contender makes a command durable.
    pub(super) about: &'static str,
    by: By,
}

/// The process in which a contender runs.
enum By {
    /// A process of this program. The function runs the contender.
    Us(fn(&Plan) -> std::result::Result<Outcome, Fault>),
    /// A Java virtual machine, which runs the given Java program. The string is the first argument
    /// of the Java program.
    Jvm(&'static Project, &'static str),
}

/// A contender whose program has been built and can be run.
pub(super) struct Ready {
    first: &'static str,
    /// The built Java program. `None` for a contender that runs in this program.
    jvm: Option<Program>,
}

/// All contenders, in the order of the table.
pub(super) static CONTENDERS: &[Contender] = &[
    Contender {
        name: "garrick",
        about: "durable actors of garrick::journal: a sync for all turns that wait",
        by: By::Us(garrick::run),
    },
    Contender {
        name: "file-each",
        about: "by hand: appends to a file, a sync for each command",
        by: By::Us(|plan| hand::run::<Plain>(plan, 1)),
    },
    Contender {
        name: "file-group",
        about: "by hand: appends to a file, a sync for all commands that wait",
        by: By::Us(|plan| hand::run::<Plain>(plan, GROUP)),
    },
    Contender {
        name: "sqlite-each",
        about: "by hand: SQLite, WAL, synchronous=FULL, a transaction for each command",
        by: By::Us(|plan| hand::run::<Sqlite>(plan, 1)),
    },
    Contender {
        name: "sqlite-group",
        about: "by hand: SQLite, WAL, synchronous=FULL, a transaction for all commands that wait",
        by: By::Us(|plan| hand::run::<Sqlite>(plan, GROUP)),
    },
    Contender {
        name: "redb-each",
        about: "by hand: redb, Durability::Immediate, a transaction for each command",
        by: By::Us(|plan| hand::run::<Redb>(plan, 1)),
    },
    Contender {
        name: "redb-group",
        about: "by hand: redb, Durability::Immediate, a transaction for all commands that wait",
        by: By::Us(|plan| hand::run::<Redb>(plan, GROUP)),
    },
    Contender {
        name: "fjall-each",
        about: "by hand: fjall, PersistMode::SyncData, a batch for each command",
        by: By::Us(|plan| hand::run::<Fjall>(plan, 1)),
    },
    Contender {
        name: "fjall-group",
        about: "by hand: fjall, PersistMode::SyncData, a batch for all commands that wait",
        by: By::Us(|plan| hand::run::<Fjall>(plan, GROUP)),
    },
    Contender {
        name: "pekko-leveldb",
        about: "Pekko's EventSourcedBehavior, plugin leveldb with fsync = on",
        by: By::Jvm(&PEKKO, "leveldb"),
    },
    Contender {
        name: "pekko-sqlite",
        about: "Pekko's EventSourcedBehavior, plugin jdbc with SQLite, WAL, synchronous=FULL",
        by: By::Jvm(&PEKKO, "sqlite"),
    },
    Contender {
        name: "cajun",
        about: "Cajun's stateful actors, file journal; it has no setting for syncs",
        by: By::Jvm(&CAJUN, "file"),
    },
];

impl Contender {
    /// Returns true if the contender runs on a Java virtual machine, which compiles the code during
    /// a warm-up.
    pub(super) fn is_jvm(&self) -> bool {
        matches!(self.by, By::Jvm(..))
    }

    /// Builds the Java program of the contender. Does nothing for a contender that runs in this
    /// program.
    ///
    /// # Errors
    /// Returns a description of the missing program with instructions to install it, or the output
    /// of a failed build.
    pub(super) fn ready(&self) -> Result<Ready> {
        Ok(match self.by {
            By::Us(_) => Ready {
                first: self.name,
                jvm: None,
            },
            By::Jvm(project, first) => Ready {
                first,
                jvm: Some(project.build()?),
            },
        })
    }
}

impl Ready {
    /// Runs the contender in a separate process.
    pub(super) fn run(&self, plan: &Plan) -> Result<Outcome> {
        outcome(self.command(plan)?)
    }

    /// Runs the contender in a separate process, and counts how often this process syncs files.
    /// `log` is the path of a file that this method creates.
    pub(super) fn run_traced(&self, plan: &Plan, log: &Path) -> Result<Syncs> {
        let outcome = outcome(strace::traced(&self.command(plan)?, log))?;
        Ok(strace::count(&fs::read_to_string(log)?, &outcome))
    }

    fn command(&self, plan: &Plan) -> Result<Command> {
        let mut command = match &self.jvm {
            Some(program) => program.command(),
            None => {
                let mut command = Command::new(env::current_exe()?);
                command.arg(CHILD);
                command
            }
        };
        command
            .arg(self.first)
            .arg(plan.entities.to_string())
            .arg(plan.warm_up.as_millis().to_string())
            .arg(plan.lasts.as_millis().to_string())
            .arg(&plan.folder)
            .arg(PAYLOAD.to_string());
        Ok(command)
    }
}

/// Runs a process, and returns the last outcome that the process has printed.
fn outcome(mut command: Command) -> Result<Outcome> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let printed = said.lines().rev().find_map(Outcome::parse);
    if let (Some(outcome), true) = (printed, output.status.success()) {
        return Ok(outcome);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let first: Vec<&str> = errors.lines().take(LINES).collect();
    let why = first.join(" ");
    Err(match output.status.success() {
        true => format!("no command was acknowledged in time. {why}").into(),
        false => format!("its process failed: {why}").into(),
    })
}

/// Runs a contender if this process was started for it, and returns the exit code. Otherwise
/// returns `None`.
pub(crate) fn child() -> Option<ExitCode> {
    let mut arguments = env::args().skip(1);
    if arguments.next()? != CHILD {
        return None;
    }
    Some(match run_asked(&arguments.collect::<Vec<_>>()) {
        Ok(outcome) => {
            println!("{outcome}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    })
}

/// Runs the contender that the command-line arguments `words` describe.
fn run_asked(words: &[String]) -> std::result::Result<Outcome, Fault> {
    let [name, entities, warm_up, lasts, folder, _] = words else {
        return Err(format!("{CHILD} takes a name, three numbers, a folder and a size").into());
    };
    let run = CONTENDERS.iter().find_map(|contender| match contender.by {
        By::Us(run) if contender.name == name => Some(run),
        _ => None,
    });
    let run = run.ok_or_else(|| format!("no contender of this program is called '{name}'"))?;
    run(&Plan {
        entities: entities.parse()?,
        warm_up: Duration::from_millis(warm_up.parse()?),
        lasts: Duration::from_millis(lasts.parse()?),
        folder: folder.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::disk::Place;

    #[test]
    fn ours_store_what_they_acknowledge() {
        let ours = CONTENDERS
            .iter()
            .filter_map(|contender| match contender.by {
                By::Us(run) => Some((contender.name, run)),
                By::Jvm(..) => None,
            });
        for (name, run) in ours {
            for entities in [1, 5] {
                let place = Place::new(&env::temp_dir()).expect("there is a folder for files");
                let plan = Plan {
                    entities,
                    warm_up: Duration::ZERO,
                    lasts: Duration::from_millis(5),
                    folder: place.path().to_owned(),
                };
                let first = run(&plan).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(first.acknowledged >= entities as u64, "{name}");
                assert_eq!(first.stored, first.acknowledged, "{name}");
                // A second run goes on where the first one has ended.
                let second = run(&plan).unwrap_or_else(|error| panic!("{name}: {error}"));
                let both = first.acknowledged + second.acknowledged;
                assert_eq!(second.stored, both, "{name}");
            }
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let refused = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            run_asked(&words).is_err()
        };
        assert!(refused(&["garrick"]));
        assert!(refused(&["cajun", "1", "0", "0", "/tmp", "128"]));
        assert!(refused(&["garrick", "one", "0", "0", "/tmp", "128"]));
        assert!(refused(&["garrick", "1", "0", "0", "/proc/nowhere", "128"]));
    }

    #[test]
    fn a_failed_process_is_named_with_its_errors() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo the disk is full >&2; exit 1"]);
        let error = outcome(command).expect_err("it fails").to_string();
        assert_eq!(error, "its process failed: the disk is full");
        let error = outcome(Command::new("true")).expect_err("it prints nothing");
        assert!(error.to_string().contains("no command"), "{error}");
    }
}
