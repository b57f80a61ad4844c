//! Lines that clients send.

/// Maximum length of a line in bytes.
pub(crate) const LINE_BYTES_MAX: usize = 1_024;

/// Maximum length of a name in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 32;

/// Received bytes of a client, which are not parsed into lines yet.
#[derive(Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
}

/// Error for a line that is too long or is not text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadLine;

impl Lines {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Returns the next line without its newline, or `None` if no whole line has been received yet.
    pub(crate) fn next(&mut self) -> Result<Option<String>, BadLine> {
        let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') else {
            let is_long = self.bytes.len() > LINE_BYTES_MAX;
            return if is_long { Err(BadLine) } else { Ok(None) };
        };
        if end > LINE_BYTES_MAX {
            return Err(BadLine);
        }
        let line: Vec<u8> = self.bytes.drain(..=end).collect();
        let line = String::from_utf8(line).map_err(|_| BadLine)?;
        Ok(Some(line.trim_end().to_owned()))
    }
}

/// A line that a client has sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Join(String),
    Who,
    Quit,
    Unknown,
    Text(String),
}

impl Said {
    pub(crate) fn parse(line: String) -> Self {
        match line
            .strip_prefix('/')
            .map(|command| command.split_once(' '))
        {
            None => Self::Text(line),
            Some(Some(("join", room))) => Self::Join(room.trim().to_owned()),
            Some(None) if line == "/who" => Self::Who,
            Some(None) if line == "/quit" => Self::Quit,
            Some(_) => Self::Unknown,
        }
    }
}

/// Returns true if a text is a valid name for a client or a room.
pub(crate) fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::{BadLine, LINE_BYTES_MAX, Lines, Said};

    #[test]
    fn lines_come_as_a_whole_and_are_bounded() {
        let mut lines = Lines::default();
        lines.add(b"one\r\ntw");
        assert_eq!(lines.next(), Ok(Some("one".to_owned())));
        assert_eq!(lines.next(), Ok(None));
        lines.add(b"o\n\n");
        assert_eq!(lines.next(), Ok(Some("two".to_owned())));
        assert_eq!(lines.next(), Ok(Some(String::new())));
        lines.add(&[b'a'; LINE_BYTES_MAX]);
        assert_eq!(lines.next(), Ok(None));
        lines.add(b"a");
        assert_eq!(lines.next(), Err(BadLine));
        let mut lines = Lines::default();
        lines.add(b"\xff\n");
        assert_eq!(lines.next(), Err(BadLine));
    }

    #[test]
    fn commands_begin_with_a_slash() {
        let said = |line: &str| Said::parse(line.to_owned());
        assert_eq!(said("a /who"), Said::Text("a /who".to_owned()));
        assert_eq!(said("/who"), Said::Who);
        assert_eq!(said("/join garden"), Said::Join("garden".to_owned()));
        assert_eq!(said("/join"), Said::Unknown);
        assert_eq!(said("/quit now"), Said::Unknown);
    }
}
