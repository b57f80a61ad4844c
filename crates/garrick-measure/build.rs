//! Records the commit, the compiler and the profile of the build. Figures mean nothing without
//! them.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Paths that contain all sources of the workspace. If one of these files changes, this script runs
/// again, because the working tree may have become dirty or clean.
const SOURCES: &[&str] = &["..", "../../Cargo.toml", "../../Cargo.lock"];

fn main() {
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
    }
    // A commit changes none of these files, but git records it in this log.
    if let Some(log) = output("git", &["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    println!("cargo:rustc-env=GARRICK_COMMIT={}", commit());
    println!("cargo:rustc-env=GARRICK_COMPILER={}", compiler());
    println!("cargo:rustc-env=GARRICK_PROFILE={}", profile());
}

/// Returns the commit, with the suffix `-dirty` if files have changed since that commit. Returns
/// `unknown` outside of git.
fn commit() -> String {
    let Some(commit) = output("git", &["rev-parse", "--short", "HEAD"]) else {
        return "unknown".to_owned();
    };
    match output("git", &["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if !changes.is_empty() => format!("{commit}-dirty"),
        _ => commit,
    }
}

/// Returns the name of the Cargo profile, which is the name of its build folder. The variable
/// `PROFILE` contains only the name of the profile that it inherits from.
fn profile() -> String {
    let out = env::var_os("OUT_DIR").map(PathBuf::from);
    // profile/build/package/out
    let folder = out.as_deref().and_then(|out| out.ancestors().nth(3));
    let name = folder.and_then(Path::file_name).and_then(OsStr::to_str);
    name.unwrap_or("unknown").to_owned()
}

fn compiler() -> String {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    output(&rustc, &["--version"]).unwrap_or_else(|| "unknown".to_owned())
}

/// Returns the output of a program, or `None` if the program is missing or fails.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
