//! Notes what the command was built from: figures without commit and compiler mean nothing.

use std::env;
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
    let profile = env::var("PROFILE").unwrap_or_default();
    println!("cargo:rustc-env=GARRICK_PROFILE={profile}");
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

fn compiler() -> String {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    output(&rustc, &["--version"]).unwrap_or_else(|| "unknown".to_owned())
}

/// What a program prints, or nothing if it is missing or fails.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
