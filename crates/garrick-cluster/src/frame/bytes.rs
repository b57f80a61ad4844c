//! Functions that write and read numbers and texts in frames.

/// Reason why the entries of a frame cannot be read.
pub(crate) type Bad = &'static str;

/// Appends a number in a variable-length format: 1 to 10 bytes, each with 7 bits, lowest bits
/// first.
pub(super) fn put_number(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Returns the number of bytes in which [`put_number`] writes a number.
pub(super) fn number_bytes(number: u64) -> usize {
    let bits = u64::BITS - (number | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// Appends the length of `bytes`, followed by `bytes`.
pub(super) fn put_bytes(bytes: &[u8], to: &mut Vec<u8>) {
    put_number(bytes.len() as u64, to);
    to.extend_from_slice(bytes);
}

/// Reads values from the beginning of a byte slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn byte(&mut self) -> Result<u8, Bad> {
        let (byte, rest) = self.0.split_first().ok_or("a frame ends within an entry")?;
        self.0 = rest;
        Ok(*byte)
    }

    pub(super) fn number(&mut self) -> Result<u64, Bad> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number has more than 64 bits")
    }

    pub(super) fn small(&mut self) -> Result<u32, Bad> {
        u32::try_from(self.number()?).map_err(|_| "a number has more than 32 bits")
    }

    pub(super) fn take(&mut self, length: u64) -> Result<&'a [u8], Bad> {
        let length = usize::try_from(length).map_err(|_| "a length is too large")?;
        let (bytes, rest) = (self.0.split_at_checked(length))
            .ok_or("a length is larger than the rest of the frame")?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Bad> {
        let length = self.number()?;
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, Bad> {
        std::str::from_utf8(self.bytes()?).map_err(|_| "a text is not UTF-8")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Reader, number_bytes, put_bytes, put_number};

    proptest! {
        #[test]
        fn numbers_and_bytes_are_read_as_they_were_written(number: u64, bytes: Vec<u8>) {
            let mut written = Vec::new();
            put_number(number, &mut written);
            prop_assert_eq!(number_bytes(number), written.len());
            put_bytes(&bytes, &mut written);
            let mut reader = Reader(&written);
            prop_assert_eq!(reader.number(), Ok(number));
            prop_assert_eq!(reader.bytes(), Ok(&bytes[..]));
            prop_assert!(reader.0.is_empty());
            for length in 0..written.len() {
                let mut reader = Reader(&written[..length]);
                prop_assert!(reader.number().and_then(|_| reader.bytes()).is_err());
            }
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_refused() {
        for last in [2, 0x7f, 0x80] {
            let mut bytes = vec![0xff; 9];
            bytes.push(last);
            assert!(Reader(&bytes).number().is_err(), "{last}");
        }
    }
}
