//! Cargo's description of the workspace: its packages, their targets and their dependencies.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand, TargetKind};

/// Name of the crate that programs depend on.
pub(crate) const FACADE: &str = "garrick";

/// The workspace that contains the current directory.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Folder of the root `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Folder of cargo's build output.
    pub(crate) target: PathBuf,
    /// Members, in cargo's order.
    pub(crate) packages: Vec<Package>,
    /// Version of the facade, and of all public members.
    pub(crate) version: String,
}

/// A member of the workspace.
#[derive(Debug, Default)]
pub(crate) struct Package {
    /// Name of the package in `Cargo.toml`.
    pub(crate) name: String,
    /// Version of the package.
    pub(crate) version: String,
    /// True if the package may be published.
    pub(crate) is_public: bool,
    /// Number of keywords.
    pub(crate) keywords: usize,
    /// Number of categories.
    pub(crate) categories: usize,
    /// Folder of the package, relative to the root.
    pub(crate) dir: PathBuf,
    /// Names of the dependencies that the package has, except for dependencies of its tests.
    pub(crate) dependencies: Vec<String>,
    /// Names of the dependencies that only the tests, examples and benchmarks of the package have.
    pub(crate) test_dependencies: Vec<String>,
    /// Members of the workspace that must be published before the package, and the versions that
    /// the package asks for. Dependencies of tests that have no version are left out, because they
    /// are not published.
    pub(crate) siblings: Vec<(String, String)>,
    /// Names of the features of the package, without `default`.
    pub(crate) features: Vec<String>,
    /// True if other crates can call functions of the package. Libraries of macros do not count.
    pub(crate) is_library: bool,
    /// Targets of the package.
    pub(crate) targets: Vec<Target>,
}

/// A target of a package, with its crate root.
#[derive(Debug)]
pub(crate) struct Target {
    /// Name for `--bin`, `--example`, `--bench` or `--test`.
    pub(crate) name: String,
    /// Kind of the target.
    pub(crate) kind: Kind,
    /// Root file, relative to the workspace.
    pub(crate) path: PathBuf,
}

/// The kinds of targets that Garrick has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Lib,
    Bin,
    Test,
    Example,
    Bench,
    /// A build script.
    Build,
}

impl Workspace {
    /// Loads the workspace from `cargo metadata`.
    pub(crate) fn load() -> Result<Self> {
        let metadata = MetadataCommand::new()
            .no_deps()
            .exec()
            .context("cargo metadata failed: run this inside the Garrick workspace")?;
        let root = metadata.workspace_root.into_std_path_buf();
        let packages: Vec<_> = metadata
            .packages
            .into_iter()
            .map(|package| Package::from_metadata(&root, package))
            .collect();
        let facade = packages.iter().find(|package| package.name == FACADE);
        let version = facade
            .context("the workspace has no facade")?
            .version
            .clone();
        Ok(Self {
            target: metadata.target_directory.into_std_path_buf(),
            root,
            packages,
            version,
        })
    }

    /// Returns the packages that may be published.
    pub(crate) fn public(&self) -> Vec<&Package> {
        let packages = self.packages.iter();
        packages.filter(|package| package.is_public).collect()
    }

    /// Creates the folder for the output of steps and programs, and returns it.
    pub(crate) fn log_folder(&self) -> Result<PathBuf> {
        let folder = self.target.join("xtask-logs");
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }

    /// Returns every target of `kind`, with its package.
    pub(crate) fn targets(&self, kind: Kind) -> impl Iterator<Item = (&Package, &Target)> {
        self.packages
            .iter()
            .flat_map(|package| package.targets.iter().map(move |target| (package, target)))
            .filter(move |(_, target)| target.kind == kind)
    }

    /// Returns the Rust files under `dir`. All paths are relative to the root. Returns an empty
    /// list if the folder does not exist.
    pub(crate) fn rust_files(&self, dir: &Path) -> Result<Vec<PathBuf>> {
        self.files(dir, "rs", true)
    }

    /// Returns the pages in Markdown: those in the root, the guides, and those of the crates. The
    /// pages in the sources of macros are a part of the reference, and are not returned.
    pub(crate) fn pages(&self) -> Result<Vec<PathBuf>> {
        let mut pages = self.files(Path::new(""), "md", false)?;
        pages.extend(self.files(Path::new("docs"), "md", true)?);
        let of_crates = self.files(Path::new("crates"), "md", true)?;
        pages.extend(
            of_crates
                .into_iter()
                .filter(|page| page.ends_with("README.md")),
        );
        pages.sort_unstable();
        Ok(pages)
    }

    /// Returns the files with `extension` in `dir`, and also in its subfolders if `deep` is true.
    fn files(&self, dir: &Path, extension: &str, deep: bool) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        let entries = match fs::read_dir(self.root.join(dir)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
            entries => entries.with_context(|| format!("cannot list {}", dir.display()))?,
        };
        for entry in entries {
            let entry = entry?;
            let path = dir.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                if deep {
                    files.extend(self.files(&path, extension, deep)?);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
        Ok(files)
    }
}

impl Package {
    fn from_metadata(root: &Path, package: cargo_metadata::Package) -> Self {
        let manifest = relative(root, package.manifest_path.as_std_path());
        let siblings = package.dependencies.iter();
        let siblings = siblings.filter(|d| d.path.is_some() && !d.req.comparators.is_empty());
        let siblings = siblings
            .map(|d| (d.name.clone(), d.req.to_string()))
            .collect();
        let (for_tests, for_all): (Vec<_>, Vec<_>) = package
            .dependencies
            .into_iter()
            .partition(|dependency| dependency.kind == DependencyKind::Development);
        Self {
            dir: manifest.parent().unwrap_or(Path::new("")).to_owned(),
            name: package.name.to_string(),
            version: package.version.to_string(),
            is_public: package.publish.is_none(),
            keywords: package.keywords.len(),
            categories: package.categories.len(),
            siblings,
            features: package
                .features
                .into_keys()
                .filter(|name| name != "default")
                .collect(),
            dependencies: for_all.into_iter().map(|d| d.name).collect(),
            is_library: package
                .targets
                .iter()
                .any(|target| target.kind.contains(&TargetKind::Lib)),
            test_dependencies: for_tests.into_iter().map(|d| d.name).collect(),
            targets: package
                .targets
                .iter()
                .map(|target| Target {
                    name: target.name.clone(),
                    kind: Kind::from_metadata(&target.kind),
                    path: relative(root, target.src_path.as_std_path()),
                })
                .collect(),
        }
    }
}

impl Kind {
    pub(crate) fn from_metadata(kinds: &[TargetKind]) -> Self {
        match kinds.first() {
            Some(TargetKind::Bin) => Self::Bin,
            Some(TargetKind::Test) => Self::Test,
            Some(TargetKind::Example) => Self::Example,
            Some(TargetKind::Bench) => Self::Bench,
            Some(TargetKind::CustomBuild) => Self::Build,
            _ => Self::Lib,
        }
    }
}

fn relative(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).unwrap_or(path).to_owned()
}
