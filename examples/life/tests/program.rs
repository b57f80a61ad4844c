//! Tests that run the program as a user does, with patterns whose generations are known.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the program with a separate picture file for each test. Returns the output of the program,
/// and the picture.
fn run(name: &str, arguments: &str) -> (String, Vec<u8>) {
    let file = format!("life-{}-{name}.png", std::process::id());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    let mut command = Command::new(env!("CARGO_BIN_EXE_life"));
    let output = command
        .args(arguments.split(' '))
        .arg("--picture")
        .arg(&file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let picture = fs::read(&file).unwrap();
    fs::remove_file(file).unwrap();
    (String::from_utf8(output.stdout).unwrap(), picture)
}

/// Returns the rows of the grid in the output.
fn rows(output: &str) -> Vec<&str> {
    let is_row = |line: &&str| line.chars().all(|cell| matches!(cell, '#' | '.'));
    output.lines().filter(is_row).collect()
}

#[test]
fn a_glider_moves_by_one_cell_in_four_generations() {
    for workers in [1, 4] {
        let arguments =
            format!("--width 8 --height 7 --generations 4 --pattern glider --workers {workers}");
        let (output, picture) = run("glider", &arguments);
        assert_eq!(
            rows(&output),
            [
                "........", "..#.....", "...#....", ".###....", "........", "........", "........"
            ]
        );
        assert!(output.contains("spawned 56 actors"), "{output}");
        assert!(
            output.contains("4 generations by 1792 messages"),
            "{output}"
        );
        assert!(output.contains("5 of 56 cells are alive"), "{output}");
        assert_eq!(
            pixels(&picture, 7),
            [0xff, 0xdf, 0xef, 0x8f, 0xff, 0xff, 0xff]
        );
    }
}

/// Returns the bytes of a picture with 8 cells in a row, one byte for each row.
fn pixels(picture: &[u8], height: u32) -> Vec<u8> {
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08"));
    assert_eq!(picture[20..24], height.to_be_bytes());
    let data = picture.windows(4).position(|name| name == b"IDAT").unwrap();
    // After the name and the heads of zlib and of its block.
    let rows = &picture[data + 4 + 7..][..2 * height as usize];
    rows.chunks(2).map(|row| row[1]).collect()
}

#[test]
fn cells_at_the_border_have_neighbors_at_the_other_one() {
    // A glider is back after as many times four generations as there are cells in a row.
    let (output, _) = run(
        "around",
        "--width 6 --height 6 --generations 24 --pattern glider",
    );
    assert_eq!(rows(&output)[..4], [".#....", "..#...", "###...", "......"]);
}

#[test]
fn many_cells_on_many_workers_give_the_same_result() {
    let arguments =
        |workers| format!("--width 70 --height 120 --generations 21 --workers {workers}");
    let (one, first) = run("one", &arguments(1));
    let (four, second) = run("four", &arguments(4));
    assert_eq!(rows(&one), rows(&four));
    assert_eq!(rows(&one).len(), 120);
    assert!(first == second, "the pictures differ");
}
