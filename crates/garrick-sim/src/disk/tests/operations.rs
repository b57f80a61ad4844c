//! Tests of disk operations without faults.

use std::io::ErrorKind;

use garrick_actor::files::Files;

use super::disks;

#[test]
fn what_is_written_is_read() {
    let (_disks, disk) = disks(0);
    let mut file = disk.create("log").unwrap();
    file.append(b"one").unwrap();
    file.append(b"two").unwrap();
    file.write_at(2, b"E-T").unwrap();
    assert_eq!(file.read().unwrap(), b"onE-To");
    file.write_at(8, b"!").unwrap();
    assert_eq!(disk.read("log").unwrap(), b"onE-To\0\0!");
    assert_eq!(file.length().unwrap(), 9);
}

#[test]
fn reading_ends_at_the_end_of_the_file() {
    let (_disks, disk) = disks(0);
    let mut file = disk.create("log").unwrap();
    file.append(b"abcdef").unwrap();
    let mut buffer = [0; 4];
    assert_eq!(file.read_at(1, &mut buffer).unwrap(), 4);
    assert_eq!(&buffer, b"bcde");
    assert_eq!(file.read_at(4, &mut buffer).unwrap(), 2);
    assert_eq!(&buffer[..2], b"ef");
    assert_eq!(file.read_at(6, &mut buffer).unwrap(), 0);
    assert_eq!(file.read_at(u64::MAX, &mut buffer).unwrap(), 0);
}

#[test]
fn a_length_is_cut_and_extended() {
    let (_disks, disk) = disks(0);
    let mut file = disk.create("log").unwrap();
    file.append(b"abcdef").unwrap();
    file.set_length(2).unwrap();
    file.set_length(4).unwrap();
    assert_eq!(file.read().unwrap(), b"ab\0\0");
}

#[test]
fn a_file_that_is_opened_to_read_cannot_be_written() {
    let (_disks, disk) = disks(0);
    disk.create("log").unwrap().append(b"one").unwrap();
    let mut file = disk.open_to_read("log").unwrap();
    let kind = |result: std::io::Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(file.append(b"x")), ErrorKind::PermissionDenied);
    assert_eq!(kind(file.write_at(0, b"x")), ErrorKind::PermissionDenied);
    assert_eq!(kind(file.set_length(0)), ErrorKind::PermissionDenied);
    assert_eq!(file.read().unwrap(), b"one");
    file.sync().unwrap();
}

#[test]
fn names_are_listed_in_order() {
    let (_disks, disk) = disks(0);
    for name in ["b", "c", "a"] {
        disk.create(name).unwrap();
    }
    disk.remove("c").unwrap();
    disk.rename("a", "d").unwrap();
    assert_eq!(disk.list().unwrap(), ["b", "d"]);
}

#[test]
fn a_rename_replaces_a_file_and_keeps_handles() {
    let (_disks, disk) = disks(0);
    let mut old = disk.create("old").unwrap();
    let mut new = disk.create("new").unwrap();
    old.append(b"old").unwrap();
    new.append(b"new").unwrap();
    disk.rename("new", "old").unwrap();
    new.append(b"er").unwrap();
    assert_eq!(disk.read("old").unwrap(), b"newer");
    assert_eq!(old.read().unwrap(), b"old");
    disk.rename("old", "old").unwrap();
    assert_eq!(disk.list().unwrap(), ["old"]);
}

#[test]
fn replacing_ends_with_one_file() {
    let (_disks, disk) = disks(0);
    disk.create("state.new").unwrap();
    disk.replace("state", b"one").unwrap();
    disk.replace("state", b"two").unwrap();
    assert_eq!(disk.read("state").unwrap(), b"two");
    assert_eq!(disk.list().unwrap(), ["state"]);
}

#[test]
fn mistakes_have_the_kinds_of_a_real_disk() {
    let (_disks, disk) = disks(0);
    let mut file = disk.create("a").unwrap();
    let kind = |result: std::io::Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(disk.create("a").map(drop)), ErrorKind::AlreadyExists);
    assert_eq!(kind(disk.open("b").map(drop)), ErrorKind::NotFound);
    assert_eq!(kind(disk.rename("b", "c")), ErrorKind::NotFound);
    assert_eq!(kind(disk.remove("b")), ErrorKind::NotFound);
    assert_eq!(kind(disk.read("b").map(drop)), ErrorKind::NotFound);
    assert_eq!(kind(file.write_at(u64::MAX, b"x")), ErrorKind::FileTooLarge);
    assert_eq!(kind(file.set_length(1 << 31)), ErrorKind::FileTooLarge);
    let long = "n".repeat(256);
    for name in ["", ".", "..", "a/b", "a\\b", "a\0b", &long] {
        let error = disk.create(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(
            error.to_string().contains("is not a valid name for a file"),
            "{error}"
        );
        assert_eq!(kind(disk.rename("a", name)), ErrorKind::InvalidInput);
        assert_eq!(kind(disk.remove(name)), ErrorKind::InvalidInput);
    }
}

#[test]
fn two_nodes_have_two_disks() {
    let (disks, disk) = disks(0);
    let other = disks.disk("e");
    disk.create("a").unwrap();
    assert_eq!(other.list().unwrap(), [""; 0]);
    assert_eq!(disks.disk("d").list().unwrap(), ["a"]);
}

#[test]
fn a_disk_of_another_run_is_refused() {
    let (disks, disk) = disks(0);
    let mut file = disk.create("a").unwrap();
    drop(disks);
    let error = file.append(b"x").unwrap_err();
    assert!(error.to_string().contains("is over"), "{error}");
    assert!(disk.list().is_err());
}
