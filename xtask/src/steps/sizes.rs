//! Costs for new users: crates and seconds of a first build, bytes of a hello-world program, and
//! the number of public names.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::process::{Ended, Job, empty};
use crate::tidy;
use crate::workspace::Workspace;

/// The smallest program with an actor, for a package that depends only on the facade.
const HELLO: &str = r#"use garrick::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new()?;
    let greeter = system.spawn(behavior(|name: String, _| {
        println!("Hello, {name}!");
    }))?;
    greeter.send("actor".to_owned())?;
    system.shutdown();
    Ok(())
}
"#;

/// Counts crates, times builds into empty folders, and counts public names.
pub(super) fn sizes(workspace: &Workspace) -> Result<String> {
    let folder = workspace.target.join("sizes");
    empty(&folder)?;
    let hello = folder.join("hello");
    write_hello(workspace, &hello)?;
    let manifest = hello.join("Cargo.toml").display().to_string();
    let hello_crates = crates(&["--manifest-path", &manifest])?;
    let hello_seconds = build(
        &["--manifest-path", &manifest],
        &folder.join("hello-target"),
    )?;
    let binary = folder.join("hello-target/release/hello");
    let bytes = fs::metadata(&binary)
        .with_context(|| format!("no {}", binary.display()))?
        .len();
    let command_crates = crates(&["-p", "garrick-cli"])?;
    let command_seconds = build(&["-p", "garrick-cli"], &folder.join("command-target"))?;
    let root = root_names(&workspace.root)?;
    let functions = functions(workspace)?;
    let with = |prefix: &str| -> Vec<&str> {
        let names = functions.iter().map(String::as_str);
        names.filter(|name| name.starts_with(prefix)).collect()
    };
    println!("hello-world: {hello_crates} crates, {hello_seconds:.1} s, {bytes} bytes");
    println!("the command: {command_crates} crates, {command_seconds:.1} s");
    println!("names at the root of garrick: {}", root.len());
    println!("functions that spawn actors: {}", with("spawn").join(", "));
    println!("functions that ask: {}", with("ask").join(", "));
    Ok(format!(
        "the command in {command_seconds:.0} s, {} root names",
        root.len()
    ))
}

fn write_hello(workspace: &Workspace, hello: &Path) -> Result<()> {
    let facade = workspace.root.join("crates/garrick");
    let manifest = format!(
        "[package]\nname = \"hello\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\ngarrick = {{ path = {facade:?} }}\n"
    );
    fs::create_dir_all(hello.join("src"))?;
    fs::write(hello.join("Cargo.toml"), manifest)?;
    fs::write(hello.join("src/main.rs"), HELLO)?;
    // Use the same versions as in the workspace.
    fs::copy(workspace.root.join("Cargo.lock"), hello.join("Cargo.lock"))?;
    Ok(())
}

/// Returns the number of crates in a build of a package, including the package itself.
fn crates(package: &[&str]) -> Result<usize> {
    let tree = Job::cargo(&["tree", "-e", "normal,build", "--prefix", "none"]).arguments(package);
    let listed = tree.watch()?;
    anyhow::ensure!(listed.ended == Ended::Passed, "cargo tree failed");
    let lines = listed.output.lines().filter(|line| line.contains(" v"));
    let names: BTreeSet<&str> = lines.map(|line| line.trim_end_matches(" (*)")).collect();
    Ok(names.len())
}

/// Builds a package in the profile `release` into an empty folder, and returns the time in seconds.
fn build(package: &[&str], target: &Path) -> Result<f64> {
    let time = Job::cargo(&["build", "--release"])
        .arguments(package)
        .environment("CARGO_TARGET_DIR", target)
        .run_logged(&target.with_extension("log"))?;
    Ok(time.as_secs_f64())
}

/// Returns the names that the facade's root exports.
fn root_names(root: &Path) -> Result<BTreeSet<String>> {
    let source = fs::read_to_string(root.join("crates/garrick/src/lib.rs"))?;
    Ok(tidy::names_of_root(&syn::parse_file(&source)?))
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

/// Returns the names of the public methods of actors' addresses, contexts and systems.
fn functions(workspace: &Workspace) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for folder in ["crates/garrick-actor/src", "crates/garrick-sched/src/reply"] {
        let files = workspace.rust_files(Path::new(folder))?;
        anyhow::ensure!(!files.is_empty(), "no Rust files in {folder}");
        for file in files {
            names.extend(methods(&fs::read_to_string(workspace.root.join(file))?)?);
        }
    }
    Ok(names)
}

/// Returns the names of the public methods in a file, without those hidden from the documentation.
fn methods(source: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for item in syn::parse_file(source)?.items {
        let syn::Item::Impl(block) = item else {
            continue;
        };
        for item in block.items {
            if let syn::ImplItem::Fn(method) = item
                && is_public(&method.vis)
                && !method.attrs.iter().any(is_hidden)
            {
                names.push(method.sig.ident.to_string());
            }
        }
    }
    Ok(names)
}

fn is_hidden(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("doc")
        && attribute
            .meta
            .require_list()
            .is_ok_and(|list| list.tokens.to_string() == "hidden")
}
