//! A simulated disk without faults behaves like a folder of the operating system.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use garrick_actor::files::{File, Files, Folder};
use garrick_sim::Check;
use proptest::prelude::*;

/// Number of different file names.
const NAMES: usize = 3;

/// An operation on a folder. Names of files are numbers below [`NAMES`]. Handles are numbers that
/// select one of the open files.
#[derive(Debug, Clone)]
enum Operation {
    Create(usize),
    Open(usize),
    Rename(usize, usize),
    Remove(usize),
    Replace(usize, Vec<u8>),
    Append(usize, Vec<u8>),
    WriteAt(usize, u64, Vec<u8>),
    ReadAt(usize, u64, usize),
    SetLength(usize, u64),
    Sync(usize),
    SyncNames,
}

fn operation() -> impl Strategy<Value = Operation> {
    let name = || 0..NAMES;
    let handle = || 0..4_usize;
    let bytes = || prop::collection::vec(any::<u8>(), 0..5);
    prop_oneof![
        name().prop_map(Operation::Create),
        name().prop_map(Operation::Open),
        (name(), name()).prop_map(|(from, to)| Operation::Rename(from, to)),
        name().prop_map(Operation::Remove),
        (name(), bytes()).prop_map(|(name, bytes)| Operation::Replace(name, bytes)),
        (handle(), bytes()).prop_map(|(file, bytes)| Operation::Append(file, bytes)),
        (handle(), 0..9_u64, bytes()).prop_map(|(file, at, b)| Operation::WriteAt(file, at, b)),
        (handle(), 0..9_u64, 0..5_usize).prop_map(|(file, at, n)| Operation::ReadAt(file, at, n)),
        (handle(), 0..9_u64).prop_map(|(file, length)| Operation::SetLength(file, length)),
        handle().prop_map(Operation::Sync),
        Just(Operation::SyncNames),
    ]
}

/// Performs operations. Returns, for each operation, its result and the contents of all files after
/// the operation.
fn perform(files: &dyn Files, operations: &[Operation]) -> Vec<String> {
    let mut open = Vec::new();
    let each = operations.iter().map(|operation| {
        let result = perform_one(files, &mut open, operation).map_err(|error| error.kind());
        let names = files.list().unwrap();
        let contents = names.iter().map(|name| files.read(name).unwrap());
        let contents: Vec<_> = contents.collect();
        let through = open
            .iter_mut()
            .map(|file| (file.read().unwrap(), file.length().unwrap()));
        let through: Vec<_> = through.collect();
        format!("{operation:?}: {result:?}, {names:?} {contents:?} {through:?}")
    });
    each.collect()
}

fn perform_one(
    files: &dyn Files,
    open: &mut Vec<Box<dyn File>>,
    operation: &Operation,
) -> io::Result<Vec<u8>> {
    let name = |name: &usize| ["a", "b", "c"][*name];
    match operation {
        Operation::Create(file) => open.push(files.create(name(file))?),
        Operation::Open(file) => open.push(files.open(name(file))?),
        Operation::Rename(from, to) => files.rename(name(from), name(to))?,
        Operation::Remove(file) => files.remove(name(file))?,
        Operation::Replace(file, bytes) => files.replace(name(file), bytes)?,
        Operation::SyncNames => files.sync_names()?,
        Operation::Append(file, bytes) => on(open, *file, |file| file.append(bytes))?,
        Operation::WriteAt(file, at, bytes) => on(open, *file, |file| file.write_at(*at, bytes))?,
        Operation::SetLength(file, length) => on(open, *file, |file| file.set_length(*length))?,
        Operation::Sync(file) => on(open, *file, |file| file.sync())?,
        Operation::ReadAt(file, at, length) => {
            let mut buffer = vec![0; *length];
            let read = on(open, *file, |file| file.read_at(*at, &mut buffer))?;
            buffer.truncate(read);
            return Ok(buffer);
        }
    }
    Ok(Vec::new())
}

/// Performs an operation on one of the open files, if there are any.
fn on<R: Default>(
    open: &mut [Box<dyn File>],
    index: usize,
    operation: impl FnOnce(&mut dyn File) -> io::Result<R>,
) -> io::Result<R> {
    let count = open.len();
    match open.get_mut(index % count.max(1)) {
        Some(file) => operation(&mut **file),
        None => Ok(R::default()),
    }
}

/// An empty folder, which is removed at the end.
struct Empty(PathBuf);

impl Empty {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = format!("folder-{}-{number}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Empty {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn a_disk_without_faults_is_like_a_folder(
        operations in prop::collection::vec(operation(), 1..30),
    ) {
        let empty = Empty::new();
        let real = perform(&Folder::open(&empty.0).unwrap(), &operations);
        let mut simulated = Vec::new();
        let run = Check::new("folder").only(0).run(|sim| {
            sim.node("n");
            simulated = perform(&sim.disk("n"), &operations);
        });
        prop_assert!(run.is_ok());
        prop_assert_eq!(real, simulated);
    }
}

#[test]
fn a_folder_must_exist() {
    let empty = Empty::new();
    let missing = Folder::open(empty.0.join("missing")).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    fs::write(empty.0.join("file"), "text").unwrap();
    let file = Folder::open(empty.0.join("file")).unwrap_err();
    assert_eq!(file.kind(), io::ErrorKind::NotADirectory);
}

#[test]
fn a_folder_lists_files_only_and_refuses_paths() {
    let empty = Empty::new();
    fs::create_dir(empty.0.join("inner")).unwrap();
    let folder = Folder::open(&empty.0).unwrap();
    folder.replace("file", b"text").unwrap();
    assert_eq!(folder.list().unwrap(), ["file"]);
    for name in ["../file", "", "..", "inner/file"] {
        let error = folder.read(name).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
