//! Names of types, which are composed from parts at compile time.

/// Maximum length of the name of a type, in bytes.
const LEN_MAX: usize = 512;

/// A name that was joined from parts.
#[doc(hidden)]
#[derive(Debug)]
pub struct Joined {
    bytes: [u8; LEN_MAX],
    len: usize,
}

impl Joined {
    const EMPTY: Self = Self {
        bytes: [0; LEN_MAX],
        len: 0,
    };

    const fn push(&mut self, byte: u8) {
        assert!(
            self.len < LEN_MAX,
            "the name of a type has at most 512 bytes; give the type a shorter one by `#[wire(name = \"..\")]`"
        );
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Returns the joined name.
    pub const fn as_str(&self) -> &str {
        let (name, _) = self.bytes.split_at(self.len);
        match str::from_utf8(name) {
            Ok(name) => name,
            Err(_) => panic!("the parts are texts"),
        }
    }
}

/// Joins `parts` into one name, at compile time.
#[doc(hidden)]
pub const fn join(parts: &[&str]) -> Joined {
    let mut joined = Joined::EMPTY;
    let mut part = 0;
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut index = 0;
        while index < bytes.len() {
            joined.push(bytes[index]);
            index += 1;
        }
        part += 1;
    }
    joined
}

/// Returns the decimal digits of `number`.
pub(crate) const fn digits(number: usize) -> Joined {
    let mut joined = Joined::EMPTY;
    let mut unit = 1;
    while number / unit >= 10 {
        unit *= 10;
    }
    while unit > 0 {
        joined.push(b'0' + (number / unit % 10) as u8);
        unit /= 10;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_digits_are_joined() {
        const NAME: &str = const { &join(&["list<", "u8", ">"]) }.as_str();
        assert_eq!(NAME, "list<u8>");
        for number in [0, 9, 10, 32, 1_000, usize::MAX] {
            assert_eq!(digits(number).as_str(), number.to_string());
        }
    }
}
