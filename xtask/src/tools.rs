//! External tools that tests call, and the installation of missing tools on a Debian machine.
//!
//! ```text
//!   probe each tool --- none missing -------------------------------------------> done
//!         |
//!      some missing --- apt-get install --- done? probe again -- none missing --> done
//!                             |                       |
//!                           failed               some missing
//!                             |                       |
//!                  apt-get update, install again      +--> fail with instructions
//! ```
//!
//! Most tools are packages of Debian. axe-core is a package of npm, because Debian has none. It is
//! installed into the target folder, and is not part of the repository: it takes 650 KB, and has a
//! different license from Garrick's.
//!
//! mdBook is built by cargo, into the target folder, because Debian has none.
//!
//! The NATS server is built by Go, because Debian's is too old: version 2.9.10 loses updates. It is
//! installed into the target folder, too. Go 1.21 and later versions can fetch the version of Go
//! that the server needs. The Go of Debian 12 is older, and cannot even read the server's `go.mod`.
//! On Debian 12, this program fetches a newer Go in the same way: as a module, whose checksum Go
//! checks.
//!
//! Only missing tools are installed. A machine with all tools is not changed, and its user is not
//! asked for a password. The package lists are fetched only if an installation fails. This happens
//! in a fresh container, which has no lists, and with old lists, which contain files that no longer
//! exist.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::Job;

/// Time limit of an installation. The download of a browser, for example, has 100 MB.
const INSTALL_LIMIT: Duration = Duration::from_secs(10 * 60);

/// Command and flags before the subcommand of `apt-get`. The flags make `apt-get` ask no questions,
/// and wait for other installations to end.
const APT: &[&str] = &[
    "env",
    "DEBIAN_FRONTEND=noninteractive",
    "apt-get",
    "-o",
    "DPkg::Lock::Timeout=300",
];

/// A program or library that tests call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    /// Name that is shown to users.
    name: &'static str,
    /// Debian package that contains the tool.
    package: &'static str,
    /// Command that succeeds if the tool is installed.
    probe: &'static [&'static str],
}

/// Tools that the tests of the workspace call.
pub(crate) const FOR_TESTS: &[Tool] = &[
    Tool {
        name: "git",
        package: "git",
        probe: &["git", "--version"],
    },
    Tool {
        name: "dot of Graphviz",
        package: "graphviz",
        probe: &["dot", "-V"],
    },
    Tool {
        name: "the Prometheus project's parser",
        package: "python3-prometheus-client",
        // The probe uses Debian's Python, because another Python in the path does not find Debian's
        // packages.
        probe: &[
            "/usr/bin/python3",
            "-c",
            "import prometheus_client.parser, prometheus_client.openmetrics.parser",
        ],
    },
    Tool {
        name: "promtool",
        package: "prometheus",
        probe: &["promtool", "--version"],
    },
    Tool {
        name: "Prometheus",
        package: "prometheus",
        probe: &["prometheus", "--version"],
    },
    Tool {
        name: "Chromium",
        package: "chromium",
        probe: &["chromium", "--version"],
    },
    Tool {
        name: "ChromeDriver",
        package: "chromium-driver",
        probe: &["chromedriver", "--version"],
    },
    Tool {
        name: "Go",
        package: "golang-go",
        probe: &["go", "version"],
    },
    Tool {
        name: "npm",
        package: "npm",
        probe: &["npm", "--version"],
    },
];

/// Tools that the step `journal` calls.
pub(crate) const FOR_JOURNALS: &[Tool] = &[Tool {
    name: "strace",
    package: "strace",
    probe: &["strace", "--version"],
}];

/// Version of axe-core, which checks that pages are accessible to people with disabilities.
const AXE: &str = "axe-core@4.14.1";

/// Folder of tools in the target folder. Tests know the paths of the files in it.
const FOLDER: &str = "tools";

/// Version of mdBook, which builds the site of the guides.
const MDBOOK: &str = "0.5.4";

/// Module and version of the NATS server.
const NATS: (&str, &str) = ("github.com/nats-io/nats-server/v2", "v2.15.2");

/// Module and version of the Go that builds the NATS server if the installed Go is too old.
const GO: (&str, &str) = ("golang.org/toolchain", "v0.0.1-go1.26.8.linux-amd64");

/// First version of Go that can fetch other versions of Go.
const GO_MIN: (u32, u32) = (1, 21);

/// Installs axe-core into `target`, unless it is there, and returns a summary.
pub(crate) fn install_axe(target: &Path) -> Result<String> {
    let folder = target.join(FOLDER);
    if folder.join("node_modules/axe-core/axe.min.js").exists() {
        return Ok("axe-core".to_owned());
    }
    // Scripts of packages are not run.
    let flags = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
    fs::create_dir_all(&folder)?;
    Job::new("npm")
        .arguments(&["install", "--prefix"])
        .arguments(&[&folder])
        .arguments(&flags)
        .arguments(&[AXE])
        .limit(INSTALL_LIMIT)
        .run()?;
    Ok(format!("installed {AXE}"))
}

/// Installs the NATS server into `target`, unless it is there, and returns a summary.
pub(crate) fn install_nats(target: &Path) -> Result<String> {
    let folder = target.join(FOLDER);
    let (module, version) = NATS;
    let program = folder.join("nats-server");
    let there = Command::new(&program).arg("--version").output();
    if there.is_ok_and(|output| output.stdout.trim_ascii().ends_with(version.as_bytes())) {
        return Ok(format!("nats-server {version}"));
    }
    fs::create_dir_all(&folder)?;
    let go = go(&folder)?;
    Job::new(go)
        .arguments(&["install", &format!("{module}@{version}")])
        .environment("GOBIN", &folder)
        .limit(INSTALL_LIMIT)
        .run()
        .context("nats-server is missing: install Go 1.21 or later from https://go.dev/dl")?;
    Ok(format!("installed nats-server {version}"))
}

/// Installs mdBook into `target`, unless it is there, and returns its path.
pub(crate) fn install_mdbook(target: &Path) -> Result<PathBuf> {
    // The parts that serve a book and watch its files are not needed.
    let features = ["--no-default-features", "--features", "search"];
    install_cargo_with(target, ("mdbook", MDBOOK), &features)
}

/// Installs a program by `cargo install` into `target`, unless it is there, and returns its path.
pub(crate) fn install_cargo(target: &Path, program: (&str, &str)) -> Result<PathBuf> {
    install_cargo_with(target, program, &[])
}

fn install_cargo_with(
    target: &Path,
    (name, version): (&str, &str),
    features: &[&str],
) -> Result<PathBuf> {
    let folder = target.join(FOLDER).join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if !program.exists() {
        // Without optimization and line numbers, the build takes a fraction of the time, and the
        // tools are fast enough.
        Job::cargo(&["install", name, "--version", version, "--locked", "--debug"])
            .arguments(features)
            .arguments(&["--root".as_ref(), folder.as_os_str()])
            .environment("CARGO_TARGET_DIR", target.join("tools-target"))
            .environment("CARGO_PROFILE_DEV_DEBUG", "0")
            .environment("CARGO_PROFILE_DEV_CODEGEN_UNITS", "1")
            .limit(INSTALL_LIMIT)
            .run()?;
    }
    Ok(program)
}

/// Returns the path of a Go that can build the NATS server. If the installed Go is too old, fetches
/// a newer one into `folder`.
fn go(folder: &Path) -> Result<PathBuf> {
    let output = Command::new("go").arg("version").output()?;
    let told = String::from_utf8_lossy(&output.stdout);
    if go_version(&told).is_some_and(|version| version >= GO_MIN) {
        return Ok("go".into());
    }
    let (module, version) = GO;
    let modules = folder.join("go");
    let go = modules.join(format!("{module}@{version}"));
    // `-modcacherw` lets the files be deleted and made executable.
    Job::new("go")
        .arguments(&[
            "mod",
            "download",
            "-modcacherw",
            &format!("{module}@{version}"),
        ])
        .environment("GOMODCACHE", &modules)
        .limit(INSTALL_LIMIT)
        .run()?;
    // Files of modules are not executable.
    for programs in ["bin", "pkg/tool/linux_amd64"] {
        for file in fs::read_dir(go.join(programs))? {
            fs::set_permissions(file?.path(), fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(go.join("bin/go"))
}

/// Returns the version in the output of `go version`.
fn go_version(told: &str) -> Option<(u32, u32)> {
    let version = told.strip_prefix("go version go")?;
    let mut numbers = version.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

impl Tool {
    fn is_there(&self) -> bool {
        Job::new(self.probe[0])
            .arguments(&self.probe[1..])
            .limit(Duration::from_secs(60))
            .succeeds()
    }
}

/// Installs those of `tools` that are missing, and returns a summary.
pub(crate) fn install_missing(tools: &[Tool]) -> Result<String> {
    let missing = missing(tools);
    if missing.is_empty() {
        return Ok(format!("all installed: {}", names(tools)));
    }
    println!("missing: {}", names(&missing));
    let manual = by_hand(&missing);
    let Some(prefix) = prefix() else {
        bail!("missing: {}. {manual}", names(&missing));
    };
    if let Err(error) = install(&prefix, &missing) {
        bail!("{error:#}. {manual}");
    }
    let still = self::missing(&missing);
    if !still.is_empty() {
        bail!("still missing after the installation: {}", names(&still));
    }
    Ok(format!("installed {}", names(&missing)))
}

fn missing(tools: &[Tool]) -> Vec<Tool> {
    let missing = tools.iter().filter(|tool| !tool.is_there());
    missing.copied().collect()
}

/// Installs the packages of `tools`. Fetches the package lists only if the first attempt fails.
fn install(prefix: &[&str], tools: &[Tool]) -> Result<()> {
    let packages: Vec<&str> = tools.iter().map(|tool| tool.package).collect();
    let install = apt(prefix, &["install", "--yes", "--no-install-recommends"]);
    let install = install.arguments(&packages);
    if install.run().is_ok() {
        return Ok(());
    }
    apt(prefix, &["update"]).run()?;
    install.run()
}

fn apt(prefix: &[&str], arguments: &[&str]) -> Job {
    let words = [prefix, APT, arguments].concat();
    Job::new(words[0])
        .arguments(&words[1..])
        .limit(INSTALL_LIMIT)
}

/// Returns the command prefix that gives `apt-get` the permission to install packages. Returns
/// `None` if this program cannot install packages.
fn prefix() -> Option<Vec<&'static str>> {
    if !Job::new("apt-get").arguments(&["--version"]).succeeds() {
        return None;
    }
    if is_root() {
        return Some(Vec::new());
    }
    // `-n` makes sudo fail instead of asking for a password, because the commands have no input.
    let sudo = ["sudo", "-n"];
    let may = Job::new(sudo[0]).arguments(&[sudo[1], "true"]).succeeds();
    may.then(|| sudo.to_vec())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn names(tools: &[Tool]) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    names.join(", ")
}

/// Returns instructions for users of a system on which this program cannot install packages.
fn by_hand(tools: &[Tool]) -> String {
    let packages: Vec<&str> = tools.iter().map(|tool| tool.package).collect();
    format!(
        "Install the missing tools by hand, on Debian with `sudo apt-get install {}`",
        packages.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const THERE: Tool = Tool {
        name: "true",
        package: "coreutils",
        probe: &["true"],
    };

    const NOWHERE: Tool = Tool {
        name: "a tool that nobody wrote",
        package: "no-such-package",
        probe: &["no-such-program-anywhere"],
    };

    #[test]
    fn what_is_there_is_not_installed_again() {
        assert!(missing(&[THERE]).is_empty());
        assert_eq!(install_missing(&[THERE]).unwrap(), "all installed: true");
    }

    #[test]
    fn what_is_missing_is_found_and_named() {
        let missing = missing(&[THERE, NOWHERE]);
        assert_eq!(names(&missing), "a tool that nobody wrote");
        assert!(by_hand(&missing).ends_with("`sudo apt-get install no-such-package`"));
    }

    #[test]
    fn the_version_of_go_is_read() {
        let of = |version: &str| go_version(&format!("go version {version} linux/amd64\n"));
        assert_eq!(of("go1.19.8"), Some((1, 19)));
        assert_eq!(of("go1.26"), Some((1, 26)));
        assert_eq!(of("go1.27rc1"), Some((1, 27)));
        assert_eq!(of("devel"), None);
        assert!(of("go1.9.7") < Some(GO_MIN) && of("go1.21.0") >= Some(GO_MIN));
    }

    #[test]
    fn the_call_asks_nothing_and_runs_as_who_may() {
        let call = apt(&["sudo", "-n"], &["update"]).to_string();
        assert_eq!(
            call,
            "sudo -n env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 update"
        );
        let call = apt(&[], &["update"]).to_string();
        assert!(call.starts_with("env DEBIAN_FRONTEND"), "{call}");
    }
}
