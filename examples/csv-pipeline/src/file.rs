//! Creates the CSV file. For the same number of lines, the file is always the same.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::sale::{HEAD, REGIONS};

const PRODUCTS: [&str; 5] = ["tea", "coffee", "milk", "bread", "jam"];

/// Number of lines of which one is invalid.
const WRONG: u64 = 997;

/// Creates a file with a given number of sales. Some of its lines are invalid.
pub(crate) fn make(path: &Path, lines: u64) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    writeln!(file, "{HEAD}")?;
    for number in 0..lines {
        let chance = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        let region = REGIONS[(chance % 4) as usize];
        let product = PRODUCTS[(chance / 4 % 5) as usize];
        let (count, cents) = (1 + chance / 20 % 9, 50 + chance / 180 % 950);
        match (number % WRONG, number / WRONG % 3) {
            (0, 0) => writeln!(file, "{region},{product},{count}")?,
            (0, 1) => writeln!(file, "nowhere,{product},{count},{cents}")?,
            (0, _) => writeln!(file, "{region},{product},many,{cents}")?,
            _ => writeln!(file, "{region},{product},{count},{cents}")?,
        }
    }
    file.flush()
}
