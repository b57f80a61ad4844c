//! The contenders of the study. Each has a pair of processes: one receives, and one sends.

use std::env;
use std::path::Path;
use std::process::{self, Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use garrick_measure::Result;

use crate::jvm::{ARTERY, Program, Project};

use super::child::Child;
use super::near::Place;
use super::order::{Fault, Order, Outcome};
use super::peers::{garrick, nats, ractor, tcp};
use super::server;

/// Hidden first argument of a process that the study starts. The second argument is a [`Side`].
const CHILD: &str = "measure-far";

/// Second arguments of the processes.
const FAR: &str = "far";
const NEAR: &str = "near";
const SERVER: &str = "server";

/// Maximum time until a process is ready.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Maximum time for an order.
const DONE_WITHIN: Duration = Duration::from_secs(120);

pub(super) struct Contender {
    pub(super) name: &'static str,
    /// Text for the table: how the messages are sent, and what happens to them.
    pub(super) about: &'static str,
    /// True if the nodes of the contender meet on a NATS server.
    pub(super) needs_server: bool,
    by: By,
}

/// Runs one node until its standard input ends.
type Side = fn(&Place) -> std::result::Result<(), Fault>;

/// The program that runs the nodes of a contender.
enum By {
    /// This program. The functions run the receiving and the sending node.
    Us { far: Side, near: Side },
    /// A Java program.
    Jvm(&'static Project),
}

/// Name of the contender with which all others are compared.
pub(super) const RAW: &str = "nats-by-hand";

/// Name of Garrick's own contender.
pub(super) const OURS: &str = "garrick";

/// All contenders, in the order of the table.
pub(super) static CONTENDERS: &[Contender] = &[
    Contender {
        name: OURS,
        about: "actors of garrick::cluster, which meet on a NATS server; what waits is bounded, \
                and a lost connection is told",
        needs_server: true,
        by: By::Us {
            far: garrick::far,
            near: garrick::near,
        },
    },
    Contender {
        name: RAW,
        about: "by hand: async-nats; messages in frames of 32 KiB, confirmed every 512 KiB; \
                request and reply",
        needs_server: true,
        by: By::Us {
            far: nats::far,
            near: nats::near,
        },
    },
    Contender {
        name: "tcp-by-hand",
        about: "by hand: a TCP connection without a server in between, blocking threads, frames \
                of 32 KiB",
        needs_server: false,
        by: By::Us {
            far: tcp::far,
            near: tcp::near,
        },
    },
    Contender {
        name: "ractor",
        about: "ractor_cluster: its own TCP connection; queues without bound, so the sender \
                never waits",
        needs_server: false,
        by: By::Us {
            far: ractor::far,
            near: ractor::near,
        },
    },
    Contender {
        name: "pekko",
        about: "Pekko Artery by TCP; drops messages when 65,536 wait, so the sender waits for \
                confirmations",
        needs_server: false,
        by: By::Jvm(&ARTERY),
    },
];

/// Rivals that are not measured, with the reasons.
pub(super) static NOT_HERE: &[(&str, &str)] = &[(
    "kameo",
    "its remote actors need libp2p, with 160 more packages to build, and each message is a request \
     on a stream of its own",
)];

/// A contender whose program has been built and can be run.
pub(super) struct Ready {
    name: &'static str,
    /// The built Java program. `None` for a contender that runs in this program.
    jvm: Option<Program>,
}

/// The two processes of a contender.
pub(super) struct Pair {
    // The sending process ends first.
    near: Child,
    _far: Child,
}

impl Contender {
    /// Builds the Java program of the contender. Does nothing for a contender that runs in this
    /// program.
    ///
    /// # Errors
    /// Returns a description of the missing program with instructions to install it, or the output
    /// of a failed build.
    pub(super) fn ready(&self) -> Result<Ready> {
        Ok(Ready {
            name: self.name,
            jvm: match self.by {
                By::Us { .. } => None,
                By::Jvm(project) => Some(project.build()?),
            },
        })
    }

    /// Returns true if the contender runs on a Java virtual machine, which compiles the code during
    /// a warm-up.
    pub(super) fn is_jvm(&self) -> bool {
        matches!(self.by, By::Jvm(_))
    }
}

impl Ready {
    /// Starts both processes, and waits until the nodes have found each other.
    pub(super) fn start(&self, server: &str) -> Result<Pair> {
        let mut place = Place {
            server: server.to_owned(),
            name: new_name(),
            far: String::new(),
        };
        let mut far = Child::start(self.command(FAR, &place)?)?;
        place.far = far.ready(READY_WITHIN)?;
        let mut near = Child::start(self.command(NEAR, &place)?)?;
        near.ready(READY_WITHIN)?;
        Ok(Pair { near, _far: far })
    }

    fn command(&self, side: &str, place: &Place) -> Result<Command> {
        let mut command = match &self.jvm {
            Some(program) => program.command(),
            None => {
                let mut command = Command::new(env::current_exe()?);
                command.arg(CHILD);
                command
            }
        };
        command.args([side, self.name, &place.server, &place.name, &place.far]);
        Ok(command)
    }
}

impl Pair {
    /// Does some work, and returns its outcome.
    pub(super) fn carry_out(&mut self, order: Order) -> Result<Outcome> {
        self.near.send(&order.to_string())?;
        self.near.find(DONE_WITHIN, Outcome::parse)
    }
}

/// A NATS server in another process, which ends when this value is dropped.
pub(super) struct Server {
    keeper: Option<Child>,
    pub(super) address: String,
}

impl Server {
    pub(super) fn start(program: &Path) -> Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.args([CHILD, SERVER]).arg(program);
        let mut keeper = Child::start(command)?;
        Ok(Self {
            address: keeper.ready(READY_WITHIN)?,
            keeper: Some(keeper),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            keeper.close();
        }
    }
}

/// Returns a name that no other pair has.
fn new_name() -> String {
    static PAIRS: AtomicU64 = AtomicU64::new(0);
    // Relaxed: only the numbers must differ.
    let number = PAIRS.fetch_add(1, Relaxed);
    format!("far-{}-{number}", process::id())
}

/// Runs a node or a server if this process was started for it, and returns the exit code. Otherwise
/// returns `None`.
pub(crate) fn child() -> Option<ExitCode> {
    let mut arguments = env::args().skip(1);
    if arguments.next()? != CHILD {
        return None;
    }
    Some(match run_asked(&arguments.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    })
}

/// Runs what the command-line arguments `words` describe.
fn run_asked(words: &[String]) -> std::result::Result<(), Fault> {
    let (side, name, place) = match words {
        [side, program] if side == SERVER => return server::run(Path::new(program)),
        [side, name, server, pair, far] => {
            let place = Place {
                server: server.clone(),
                name: pair.clone(),
                far: far.clone(),
            };
            (side, name, place)
        }
        _ => return Err(format!("{CHILD} takes a side, a name and three addresses").into()),
    };
    let found = CONTENDERS.iter().find_map(|contender| match contender.by {
        By::Us { far, near } if contender.name == name => Some([far, near]),
        _ => None,
    });
    let found = found.ok_or_else(|| format!("no contender of this program is called '{name}'"));
    let [far, near] = found?;
    match side.as_str() {
        FAR => far(&place),
        NEAR => near(&place),
        _ => Err(format!("there is no side '{side}'").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_run_is_refused() {
        let refused = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            run_asked(&words).is_err()
        };
        assert!(refused(&[FAR, OURS]));
        assert!(refused(&[FAR, "pekko", "", "", ""]));
        assert!(refused(&["middle", OURS, "", "", ""]));
        assert!(refused(&[SERVER, "/no/such/program"]));
        // There is no such address.
        assert!(refused(&[NEAR, "tcp-by-hand", "", "", "nowhere"]));
    }

    #[test]
    fn pairs_have_names_of_their_own() {
        assert_ne!(new_name(), new_name());
    }
}
