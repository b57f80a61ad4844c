//! Runs commands. Each command is printed before it runs, and has a time limit.
//!
//! The program `timeout` of coreutils enforces the limit. It ends the whole process group, so a
//! test that hangs leaves no process behind. Lock-free code typically fails by hanging, so every
//! command has a limit.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, Result, bail};

/// Default time limit, enough for a cold build of everything on two shared cores.
const LIMIT: Duration = Duration::from_secs(45 * 60);

/// Number of seconds that a process has to end after a request to end. A process that takes longer
/// is killed.
const KILL_AFTER_S: u32 = 5;

/// Exit status of `timeout` when it had to end the command.
const TIMED_OUT: i32 = 124;

/// Exit status of `timeout` when it had to kill the command by the signal `SIGKILL`.
const KILLED: i32 = 128 + SIGKILL;
const SIGKILL: i32 = 9;

/// Creates the folder, or removes all that is in it.
pub(crate) fn empty(folder: &Path) -> Result<()> {
    let cannot = || format!("cannot empty {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(cannot)?;
    }
    fs::create_dir_all(folder).with_context(cannot)
}

/// The end of a command whose failure is not an error of xtask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The command succeeded.
    Passed,
    /// The command failed, or a signal ended it.
    Failed,
    /// The command did not end within its limit.
    Hung,
}

/// The result of a command whose failure is not an error of xtask.
#[derive(Debug)]
pub(crate) struct Watched {
    /// End of the command.
    pub(crate) ended: Ended,
    /// Captured output of the command.
    pub(crate) output: String,
    /// Running time of the command.
    pub(crate) time: Duration,
}

/// A command to run.
#[derive(Debug)]
pub(crate) struct Job {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    folder: Option<PathBuf>,
    limit: Duration,
}

/// A program that cargo has built.
#[derive(Debug, Clone)]
pub(crate) struct Executable {
    /// Name of the program's target.
    pub(crate) name: String,
    /// Name of the program's package.
    pub(crate) package: String,
    /// Absolute path of the package's folder.
    pub(crate) folder: PathBuf,
    /// Kinds of the program's target: `example`, `bench` and so on.
    pub(crate) kind: Vec<cargo_metadata::TargetKind>,
    /// True if the program was built as a test, with the test harness.
    pub(crate) is_test: bool,
    /// Path of the program.
    pub(crate) path: PathBuf,
}

impl Job {
    /// Creates a command without arguments.
    pub(crate) fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            folder: None,
            limit: LIMIT,
        }
    }

    /// Creates a command for the `cargo` that has started this program, so that nested calls use
    /// the same toolchain.
    pub(crate) fn cargo(arguments: &[&str]) -> Self {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Self::new(cargo).arguments(arguments)
    }

    /// Adds arguments.
    pub(crate) fn arguments<A: AsRef<OsStr>>(mut self, arguments: &[A]) -> Self {
        self.arguments.extend(arguments.iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    pub(crate) fn environment(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Sets an environment variable unless the user has set it.
    pub(crate) fn default_environment(self, name: &'static str, value: &str) -> Self {
        if env::var_os(name).is_some() {
            return self;
        }
        self.environment(name, value)
    }

    /// Sets the current folder of the command.
    pub(crate) fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Selects the profile `ci`, which is optimized but builds quickly, for checks and not for
    /// measurements.
    pub(crate) fn optimized(self) -> Self {
        self.arguments(&["--profile", "ci"])
    }

    /// Optimizes our own crates a little, with debug assertions. This is an option for a command
    /// of the profile `test`. The crates of others are those of the unoptimized tests, so they are
    /// not built again. The crates that run each step of a simulation are optimized more: they are
    /// small, and simulations spend half of their time there. Two of our crates are also not
    /// optimized, because their tests spend no time there.
    pub(crate) fn faster(self) -> Self {
        self.configured(&[
            "profile.test.opt-level=1",
            "profile.test.package.garrick-core.opt-level=3",
            "profile.test.package.garrick-sched.opt-level=3",
            "profile.test.package.garrick-sim.opt-level=3",
            "profile.test.package.garrick-actor.opt-level=2",
            "profile.test.package.\"*\".opt-level=0",
            "profile.test.package.garrick-measure.opt-level=0",
            "profile.test.package.garrick-telemetry.opt-level=0",
        ])
    }

    /// Optimizes our own crates as in a release. This is an option for a command of the profile
    /// `test`. The crates of others are those of the unoptimized tests, so they are not built
    /// again.
    pub(crate) fn released(self) -> Self {
        self.configured(&[
            "profile.test.opt-level=3",
            "profile.test.debug-assertions=false",
            "profile.test.overflow-checks=false",
            "profile.test.package.\"*\".opt-level=0",
            "profile.test.package.\"*\".debug-assertions=true",
            "profile.test.package.\"*\".overflow-checks=true",
        ])
    }

    /// Adds settings of cargo's configuration, which a call of cargo prefers to those in files.
    fn configured(self, settings: &[&str]) -> Self {
        let add = |job: Self, setting: &&str| job.arguments(&["--config", setting]);
        settings.iter().fold(self, add)
    }

    /// Selects the profile for models.
    pub(crate) fn models(self) -> Self {
        self.arguments(&["--profile", "model"])
    }

    /// Sets the time limit of the command.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Returns the time limit of the command in seconds.
    pub(crate) fn seconds_max(&self) -> u64 {
        self.limit.as_secs()
    }

    /// Runs the command, and shows its output.
    pub(crate) fn run(&self) -> Result<()> {
        self.announce();
        let status = self.spawn(Stdio::inherit(), Stdio::inherit())?.wait()?;
        self.check(status)
    }

    /// Runs the command, and shows its output. Returns the number of tests that passed, for each
    /// test program.
    pub(crate) fn run_tests(&self) -> Result<Vec<usize>> {
        self.announce();
        let mut child = self.spawn(Stdio::piped(), Stdio::inherit())?;
        let mut passed = Vec::new();
        for line in lines_of(&mut child)? {
            let line = line?;
            println!("{line}");
            passed.extend(tests_passed(&line));
        }
        let status = child.wait()?;
        self.check(status)?;
        Ok(passed)
    }

    /// Runs the command, and writes its output to the file `log`. Shows the output only if the
    /// command fails. Returns the running time.
    pub(crate) fn run_logged(&self, log: &Path) -> Result<Duration> {
        let file = fs::File::create(log).with_context(|| format!("cannot write {log:?}"))?;
        let start = Instant::now();
        let status = self.spawn(file.try_clone()?.into(), file.into())?.wait()?;
        if !status.success() {
            println!("{}", String::from_utf8_lossy(&fs::read(log)?));
        }
        self.check(status)?;
        Ok(start.elapsed())
    }

    /// Runs the command, and discards its output. Returns true if the command succeeds.
    pub(crate) fn succeeds(&self) -> bool {
        self.spawn(Stdio::null(), Stdio::null())
            .and_then(|mut child| Ok(child.wait()?))
            .is_ok_and(|status| status.success())
    }

    /// Runs the command, and captures its output. Returns the result even if the command fails.
    pub(crate) fn watch(&self) -> Result<Watched> {
        let start = Instant::now();
        let child = self.spawn(Stdio::piped(), Stdio::piped())?;
        let output = child.wait_with_output()?;
        let status = output.status;
        let ended = if status.success() {
            Ended::Passed
        } else if matches!(status.code(), Some(TIMED_OUT | KILLED))
            || status.signal() == Some(SIGKILL)
        {
            Ended::Hung
        } else {
            Ended::Failed
        };
        let text = [output.stdout, output.stderr].concat();
        Ok(Watched {
            ended,
            output: String::from_utf8_lossy(&text).into_owned(),
            time: start.elapsed(),
        })
    }

    /// Runs this command, which must be a build by `cargo`. Returns the programs that were built.
    pub(crate) fn build(mut self) -> Result<Vec<Executable>> {
        self.announce();
        self.arguments
            .push("--message-format=json-render-diagnostics".into());
        let mut child = self.spawn(Stdio::piped(), Stdio::inherit())?;
        let mut executables = Vec::new();
        for line in lines_of(&mut child)? {
            executables.extend(executable(&line?));
        }
        let status = child.wait()?;
        self.check(status)?;
        Ok(executables)
    }

    fn announce(&self) {
        println!("$ {self}");
    }

    fn spawn(&self, stdout: Stdio, stderr: Stdio) -> Result<Child> {
        let mut command = Command::new("timeout");
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
            .arg(format!("--kill-after={KILL_AFTER_S}"))
            .arg(self.seconds_max().to_string())
            .arg(&self.program)
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .context("cannot run `timeout`: install coreutils")
    }

    fn check(&self, status: ExitStatus) -> Result<()> {
        if status.success() {
            return Ok(());
        }
        // A process that was killed because it did not end on request has a signal instead of an
        // exit code.
        if status.code().is_none_or(|code| code == TIMED_OUT) {
            bail!("`{self}` did not end within {} s", self.seconds_max());
        }
        bail!("`{self}` failed: {status}");
    }
}

impl std::fmt::Display for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, value) in &self.environment {
            write!(f, "{name}='{}' ", value.display())?;
        }
        let name = self.program.file_name().unwrap_or_default();
        write!(f, "{}", name.display())?;
        for argument in &self.arguments {
            write!(f, " {}", argument.display())?;
        }
        Ok(())
    }
}

fn lines_of(child: &mut Child) -> Result<std::io::Lines<impl BufRead + use<>>> {
    let stdout = child.stdout.take().context("the output is not piped")?;
    Ok(BufReader::new(stdout).lines())
}

/// Returns the number of passed tests in a line such as `test result: ok. 12 passed; 0 failed; ..`.
pub(crate) fn tests_passed(line: &str) -> Option<usize> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    counts.split_once(" passed")?.0.parse().ok()
}

/// Returns the program that a line of cargo's JSON output describes, if there is one.
fn executable(line: &str) -> Option<Executable> {
    let mut messages = cargo_metadata::Message::parse_stream(line.as_bytes());
    let Some(Ok(cargo_metadata::Message::CompilerArtifact(artifact))) = messages.next() else {
        return None;
    };
    let folder = artifact.manifest_path.parent()?.as_std_path().to_owned();
    Some(Executable {
        folder,
        package: package_name(&artifact.package_id.repr),
        is_test: artifact.profile.test,
        path: artifact.executable?.into_std_path_buf(),
        name: artifact.target.name,
        kind: artifact.target.kind,
    })
}

/// Returns the name in a package id, such as `path+file:///a/core#0.1.0` or `path+..#core@0.1.0`.
fn package_name(id: &str) -> String {
    let (source, fragment) = id.split_once('#').unwrap_or((id, ""));
    let folder = source.rsplit('/').next().unwrap_or(source);
    let name = fragment.split_once('@').map_or(folder, |(name, _)| name);
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_package_is_read() {
        assert_eq!(
            package_name("path+file:///a/garrick-core#0.1.0"),
            "garrick-core"
        );
        assert_eq!(
            package_name("path+file:///a/tests#garrick-tests@0.1.0"),
            "garrick-tests"
        );
    }

    #[test]
    fn the_harness_summary_is_read() {
        let line = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; finished in 1s";
        assert_eq!(tests_passed(line), Some(12));
        assert_eq!(tests_passed("test a ... ok"), None);
        assert_eq!(tests_passed("test result: unknown"), None);
    }

    #[test]
    fn a_command_reads_as_it_would_be_typed() {
        let job = Job::new("/usr/bin/cargo")
            .arguments(&["test", "--doc"])
            .environment("RUSTFLAGS", "-D warnings");
        assert_eq!(job.to_string(), "RUSTFLAGS='-D warnings' cargo test --doc");
    }

    #[test]
    fn what_is_watched_tells_how_it_ended_and_what_it_wrote() {
        let echo = Job::new("echo").arguments(&["word"]).watch().unwrap();
        assert_eq!(
            (echo.ended, echo.output.as_str()),
            (Ended::Passed, "word\n")
        );
        assert_eq!(Job::new("false").watch().unwrap().ended, Ended::Failed);
        let hung = Job::new("tail").arguments(&["-f", "/dev/null"]);
        let hung = hung.limit(Duration::from_secs(1)).watch().unwrap();
        assert_eq!(hung.ended, Ended::Hung);
    }

    #[test]
    fn success_failure_and_hanging_are_told_apart() {
        assert!(Job::new("true").run().is_ok());
        let failed = Job::new("false").run().unwrap_err().to_string();
        assert!(failed.contains("failed"), "{failed}");
        let hung = Job::new("tail").arguments(&["-f", "/dev/null"]);
        let hung = hung.limit(Duration::from_secs(1)).run().unwrap_err();
        assert!(
            hung.to_string().contains("did not end within 1 s"),
            "{hung}"
        );
    }
}
