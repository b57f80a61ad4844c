//! Tests of files in a folder of the operating system.

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::{env, fs, thread};

use garrick_actor::files::{Files, Folder, check_name};

/// Returns an empty folder for the test `test`, and its path.
fn empty(test: &str) -> (PathBuf, Folder) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    (path.clone(), Folder::open(path).unwrap())
}

#[test]
fn a_file_is_written_and_read() {
    let (path, folder) = empty("folder-written");
    let mut file = folder.create("log").unwrap();
    file.append(b"one").unwrap();
    file.write_at(1, b"NE!").unwrap();
    file.append(b"?").unwrap();
    file.sync().unwrap();
    folder.sync_names().unwrap();
    let mut buffer = [0; 9];
    assert_eq!(file.read_at(2, &mut buffer).unwrap(), 3);
    assert_eq!(&buffer[..3], b"E!?");
    file.set_length(2).unwrap();
    assert_eq!(file.length().unwrap(), 2);
    assert_eq!(fs::read(path.join("log")).unwrap(), b"oN");
    assert_eq!(file.read().unwrap(), b"oN");
}

#[test]
fn replacing_leaves_one_file() {
    let (_, folder) = empty("folder-replaced");
    folder.create("state.new").unwrap();
    folder.replace("state", b"one").unwrap();
    folder.replace("state", b"two").unwrap();
    assert_eq!(folder.list().unwrap(), ["state"]);
    assert_eq!(folder.read("state").unwrap(), b"two");
}

#[test]
fn a_file_that_is_opened_to_read_cannot_be_written() {
    let (path, folder) = empty("folder-read");
    folder.create("log").unwrap().append(b"one").unwrap();
    let mut permissions = fs::metadata(path.join("log")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(path.join("log"), permissions).unwrap();
    assert_eq!(folder.read("log").unwrap(), b"one");
    let mut file = folder.open_to_read("log").unwrap();
    assert!(file.append(b"two").is_err());
    assert!(file.set_length(0).is_err());
    assert_eq!(file.read().unwrap(), b"one");
    let missing = folder.open_to_read("missing").unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let outside = folder.open_to_read("../log").unwrap_err();
    assert_eq!(outside.kind(), ErrorKind::InvalidInput);
}

#[test]
fn mistakes_have_kinds() {
    let (path, folder) = empty("folder-mistakes");
    folder.create("a").unwrap();
    assert_eq!(
        folder.create("a").unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    assert_eq!(folder.open("b").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(folder.remove("b").unwrap_err().kind(), ErrorKind::NotFound);
    let missing = Folder::open(path.join("missing")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let file = Folder::open(path.join("a")).unwrap_err();
    assert_eq!(file.kind(), ErrorKind::NotADirectory);
}

#[test]
fn names_that_lead_out_of_the_folder_are_refused() {
    let (_, folder) = empty("folder-names");
    for name in ["", ".", "..", "../a", "a/b", "a\\b", "a\0b"] {
        assert_eq!(
            folder.create(name).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
    }
    assert!(check_name(&"n".repeat(255)).is_ok());
    assert!(check_name(&"n".repeat(256)).is_err());
    assert!(check_name("...").is_ok());
}

#[test]
fn a_lock_ends_when_it_is_dropped_although_processes_are_started() {
    let (_, folder) = empty("folder-locked");
    let is_over = AtomicBool::new(false);
    let lock_again = || -> io::Result<()> {
        for _ in 0..3_000 {
            let lock = folder.lock()?;
            let second = folder.lock().unwrap_err();
            assert_eq!(second.kind(), ErrorKind::ResourceBusy);
            drop(lock);
        }
        Ok(())
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                let program = env::current_exe().unwrap();
                let started = Command::new(program).arg("--list").output();
                assert!(started.unwrap().status.success());
            }
        });
        let locked = lock_again();
        is_over.store(true, Relaxed);
        locked.unwrap();
    });
}
