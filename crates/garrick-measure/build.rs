//! Notes what the command was built from: figures without commit and compiler mean nothing.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All sources of the workspace: when one changes, the tree may have become dirty, or clean.
const SOURCES: &[&str] = &["..", "../../Cargo.toml", "../../Cargo.lock"];

fn main() {
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
    }
    // A commit changes neither; what it moves is the branch, which is logged here.
    if let Some(log) = output("git", &["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    println!("cargo:rustc-env=GARRICK_COMMIT={}", commit());
    println!("cargo:rustc-env=GARRICK_COMPILER={}", compiler());
    println!("cargo:rustc-env=GARRICK_PROFILE={}", profile());
}

/// The commit, `-dirty` after it if files have changed since, or `unknown` outside of git.
fn commit() -> String {
    let Some(commit) = output("git", &["rev-parse", "--short", "HEAD"]) else {
        return "unknown".to_owned();
    };
    match output("git", &["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if !changes.is_empty() => format!("{commit}-dirty"),
        _ => commit,
    }
}

/// The profile's own name, which is that of its folder: `PROFILE` tells only what it inherits from.
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

/// Returns what a program prints. None if it is missing or fails.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
