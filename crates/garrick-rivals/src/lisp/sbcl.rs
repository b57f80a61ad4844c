//! A Lisp process that grows trees on request.
//!
//! SBCL reads its program from its standard input, form by form. Then it reads a form for each
//! round, and answers each form with a line.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use garrick_measure::{Measured, Result};

/// Source text of the Lisp program. Its last form prints the name and version of the Lisp
/// implementation.
const PROGRAM: &str = include_str!("fork_bomb.lisp");

/// Name of the command that starts SBCL.
const SBCL: &str = "sbcl";

/// One of the two event loops of the Lisp program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loop {
    Staged,
    Unstaged,
}

impl Loop {
    pub(super) const ALL: [Self; 2] = [Self::Staged, Self::Unstaged];

    /// Returns the name of the function that runs the loop.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Unstaged => "unstaged",
        }
    }
}

/// A running SBCL process. The process exits when this value is dropped.
#[derive(Debug)]
pub(super) struct Sbcl {
    process: Child,
    /// Standard input of the process. `None` when the process must exit.
    forms: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// Name and version of the Lisp implementation.
    version: String,
}

impl Sbcl {
    /// Starts the process, and sends the program to it.
    pub(super) fn start() -> Result<Self> {
        Self::start_as(SBCL)
    }

    fn start_as(command: &str) -> Result<Self> {
        let mut process = Command::new(command)
            .arg("--script")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| not_started(command, &error))?;
        let (forms, answers) = (process.stdin.take(), process.stdout.take());
        let mut sbcl = Self {
            process,
            forms,
            answers: BufReader::new(answers.ok_or("sbcl has no standard output")?),
            version: String::new(),
        };
        sbcl.version = sbcl.answer(PROGRAM)?;
        Ok(sbcl)
    }

    /// Returns the name and version of the Lisp implementation.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Grows `trees` trees one after another, and returns the measurement of all their actors.
    pub(super) fn round(&mut self, by: Loop, depth: u32, trees: u64) -> Result<Measured> {
        let answer = self.answer(&format!("({} {depth} {trees})", by.name()))?;
        let measured = parse(&answer);
        Ok(measured.ok_or_else(|| format!("sbcl answered '{answer}' instead of a time"))?)
    }

    /// Sends Lisp forms to the process, and returns the line with its answer.
    fn answer(&mut self, forms: &str) -> Result<String> {
        let ended = || "sbcl exited before it answered; its output above contains the reason";
        let input = self.forms.as_mut().ok_or_else(ended)?;
        let told = writeln!(input, "{forms}").and_then(|()| input.flush());
        told.map_err(|error| format!("{}: {error}", ended()))?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(ended().into());
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Sbcl {
    fn drop(&mut self) {
        // The process exits at the end of its input.
        drop(self.forms.take());
        // If the process has exited by itself, it has printed the reason.
        let _ = self.process.wait();
    }
}

/// Returns the error message for a process that cannot be started, with instructions if SBCL is
/// missing.
fn not_started(command: &str, error: &io::Error) -> String {
    if error.kind() == ErrorKind::NotFound {
        format!(
            "{command} was not found: install SBCL, by 'apt-get install sbcl' on Debian and \
             Ubuntu, or from https://www.sbcl.org"
        )
    } else {
        format!("{command} cannot be started: {error}")
    }
}

/// Parses a line such as `65535 actors 2000000 ns 1900000 ns of CPU`: wall time and CPU time.
fn parse(line: &str) -> Option<Measured> {
    let (actors, times) = line.split_once(" actors ")?;
    let (wall, cpu) = times.strip_suffix(" ns of CPU")?.split_once(" ns ")?;
    let ns = |text: &str| text.parse::<u64>().ok().map(|ns| ns as f64);
    let ops = actors.parse().ok().filter(|actors| *actors > 0)?;
    Some(Measured {
        ops,
        cpu_ns: ns(cpu)?,
        wall_ns: ns(wall)?,
        bytes_per_actor: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read() {
        let measured = parse("65535 actors 2000000 ns 1900000 ns of CPU").expect("it is one");
        assert_eq!(
            (measured.ops, measured.wall_ns, measured.cpu_ns),
            (65_535, 2e6, 1.9e6)
        );
        for bad in [
            "",
            "SBCL 2.2.9",
            "0 actors 1 ns 1 ns of CPU",
            "7 actors 1 ns",
            "7 actors x ns 1 ns of CPU",
            "7 actors -1 ns 1 ns of CPU",
            "7 actors 1 ns 1 ns of CPU, and more",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn who_has_no_sbcl_is_told_how_to_have_it() {
        let error = Sbcl::start_as("no-such-sbcl").expect_err("there is none");
        let said = error.to_string();
        for words in ["no-such-sbcl", "apt-get install sbcl", "www.sbcl.org"] {
            assert!(said.contains(words), "{words} is missing: {said}");
        }
    }

    #[test]
    fn a_process_that_ends_at_once_is_an_error() {
        let error = Sbcl::start_as("true").expect_err("it says nothing");
        assert!(error.to_string().contains("exited"), "{error}");
    }

    /// Starts SBCL if it is installed. Otherwise returns `None`, and prints that the test is
    /// skipped.
    fn sbcl() -> Option<Sbcl> {
        Sbcl::start()
            .inspect_err(|error| eprintln!("passed over: {error}"))
            .ok()
    }

    #[test]
    fn both_loops_grow_whole_trees() {
        let Some(mut sbcl) = sbcl() else { return };
        assert!(sbcl.version().starts_with("SBCL "), "{}", sbcl.version());
        for by in Loop::ALL {
            for (depth, trees) in [(0, 1), (1, 3), (10, 2)] {
                let measured = sbcl.round(by, depth, trees).expect("it answers");
                assert_eq!(measured.ops, trees * ((2 << depth) - 1), "{by:?}");
            }
        }
    }

    #[test]
    fn in_both_loops_nothing_happens_of_what_a_failed_behavior_did() {
        let Some(mut sbcl) = sbcl() else { return };
        for (run, send, turn) in [
            ("run-staged", "send-later", "become-later"),
            ("run-unstaged", "send-now", "become-now"),
        ] {
            let forms = format!(
                "(let* ((told 0)
                        (customer (make (lambda () (incf told))))
                        (failing (make (lambda () ({send} customer) ({turn} #'list) (error \"it fails\")))))
                   (send-now failing)
                   (send-now customer)
                   ({run})
                   (format t \"~a ~a~%\" told (eq (actor-behavior failing) #'list))
                   (finish-output))"
            );
            let answer = sbcl.answer(&forms).expect("it answers");
            assert_eq!(answer, "1 NIL", "{run}");
        }
    }
}
