//! Tests that run the program as a user does, and compare its sums with the sums that a simple loop
//! computes.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A temporary folder for one test. The folder is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("csv-pipeline-{}-{name}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_csv-pipeline"));
        command
            .args(arguments)
            .arg("--folder")
            .arg(&self.0)
            .output()
            .unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the lines that the program must print for the CSV file `file`, and the number of invalid
/// lines.
fn expected(file: &str) -> (Vec<String>, usize) {
    let (mut sums, mut wrong) = ([[0u64; 3]; 4], 0);
    let regions = ["north", "east", "south", "west"];
    for line in file.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let numbers: Vec<u64> = fields
            .iter()
            .skip(2)
            .flat_map(|field| field.parse())
            .collect();
        let region = regions.iter().position(|region| region == &fields[0]);
        let (Some(region), [count, cents]) = (region, &numbers[..]) else {
            wrong += 1;
            continue;
        };
        for (sum, more) in sums[region].iter_mut().zip([1, *count, count * cents]) {
            *sum += more;
        }
    }
    let line = |(region, [sales, items, cents]): (&str, [u64; 3])| {
        format!("{region}: {sales} sales, {items} items, {cents} cents")
    };
    (regions.into_iter().zip(sums).map(line).collect(), wrong)
}

#[test]
fn the_sums_are_those_of_a_loop_with_any_number_of_parsers() {
    let folder = Folder::new("sums");
    for (arguments, lines) in [
        (&["--lines", "54321"][..], 54_321),
        (&["sum", "--parsers", "1"], 54_321),
        (&["sum", "--parsers", "5"], 54_321),
        (&["--lines", "1"], 1),
        (&["--lines", "0"], 0),
    ] {
        let output = folder.run(arguments);
        assert!(output.status.success(), "{output:?}");
        let output = String::from_utf8(output.stdout).unwrap();
        let file = folder.read("sales.csv");
        assert_eq!(file.lines().count(), lines + 1);
        let (sums, wrong) = expected(&file);
        let printed: Vec<&str> = output
            .lines()
            .filter(|line| line.contains(" sales,"))
            .collect();
        assert_eq!(printed, sums);
        assert!(
            output.contains(&format!("{wrong} wrong lines are in")),
            "{output}"
        );
        assert_eq!(folder.read("wrong.csv").lines().count(), wrong);
    }
}

#[test]
fn wrong_lines_are_listed_with_their_numbers_and_reasons() {
    let folder = Folder::new("wrong");
    assert!(folder.run(&["make", "--lines", "0"]).status.success());
    let lines = "region,product,count,cents\nnorth,tea,1,2\n\nwest,tea,x,2\neast,tea,1,2";
    fs::write(folder.0.join("sales.csv"), lines).unwrap();
    assert!(folder.run(&["sum"]).status.success());
    assert_eq!(
        folder.read("wrong.csv"),
        "line 3: 1 fields instead of 4: \nline 4: the field count is no number: west,tea,x,2\n"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let folder = Folder::new("unreadable");
    let missing = folder.run(&["sum"]);
    assert!(!missing.status.success());
    fs::write(folder.0.join("sales.csv"), b"head\nnorth,\xff,1,2\n").unwrap();
    let bad = folder.run(&["sum"]);
    assert!(!bad.status.success());
    let why = String::from_utf8(bad.stderr).unwrap();
    assert!(
        why.contains("sales.csv: ") && why.contains("UTF-8"),
        "{why}"
    );
}
