//! Pictures in two colors, as text and in the format PNG.

use std::fmt;

/// Maximum number of bytes in an uncompressed block of the zlib format.
const BLOCK_MAX: usize = 65_535;

/// A picture of living and dead cells.
pub(crate) struct Picture {
    width: u32,
    cells: Vec<bool>,
}

impl Picture {
    pub(crate) fn new(width: u32, height: u32) -> Self {
        Self {
            width,
            cells: vec![false; (width * height) as usize],
        }
    }

    pub(crate) fn set(&mut self, number: u32, is_alive: bool) {
        self.cells[number as usize] = is_alive;
    }

    /// Returns the number of living cells.
    pub(crate) fn alive(&self) -> usize {
        self.cells.iter().filter(|cell| **cell).count()
    }

    fn rows(&self) -> impl ExactSizeIterator<Item = &[bool]> {
        self.cells.chunks(self.width as usize)
    }

    /// Returns the picture in the format PNG, uncompressed. Each cell is one pixel, which is dark
    /// if the cell is alive.
    pub(crate) fn png(&self) -> Vec<u8> {
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut header = Vec::new();
        header.extend(self.width.to_be_bytes());
        header.extend((self.rows().len() as u32).to_be_bytes());
        // One bit a pixel, gray.
        header.extend([1, 0, 0, 0, 0]);
        add_chunk(&mut png, b"IHDR", &header);
        let mut pixels = Vec::new();
        for row in self.rows() {
            // The row is stored as it is.
            pixels.push(0);
            pixels.extend(row.chunks(8).map(|bits| {
                let byte = (0..8)
                    .map(|bit| u8::from(!bits.get(bit).copied().unwrap_or(false)) << (7 - bit));
                byte.sum::<u8>()
            }));
        }
        add_chunk(&mut png, b"IDAT", &stored(&pixels));
        add_chunk(&mut png, b"IEND", &[]);
        png
    }
}

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in self.rows() {
            let row: String = row
                .iter()
                .map(|cell| if *cell { '#' } else { '.' })
                .collect();
            writeln!(f, "{row}")?;
        }
        Ok(())
    }
}

/// Adds a chunk of a PNG file: its length, name, content and checksum.
fn add_chunk(png: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    png.extend((content.len() as u32).to_be_bytes());
    let begins = png.len();
    png.extend(name);
    png.extend(content);
    let checksum = crc32(&png[begins..]);
    png.extend(checksum.to_be_bytes());
}

/// Encodes `bytes` in the zlib format, without compression.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut zlib = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(BLOCK_MAX).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        zlib.push(u8::from(blocks.peek().is_none()));
        zlib.extend(length.to_le_bytes());
        zlib.extend((!length).to_le_bytes());
        zlib.extend(block);
    }
    zlib.extend(adler32(bytes).to_be_bytes());
    zlib
}

fn adler32(bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (1u32, 0u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    high << 16 | low
}

fn crc32(bytes: &[u8]) -> u32 {
    let add = |crc: u32, byte: &u8| {
        let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        (0..8).fold(crc ^ u32::from(*byte), step)
    };
    !bytes.iter().fold(u32::MAX, add)
}

#[cfg(test)]
mod tests {
    use super::{adler32, crc32};

    #[test]
    fn checksums_are_those_of_the_standards() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }
}
