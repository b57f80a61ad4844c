//! Parses server-sent events from a stream of bytes.
//!
//! The format is that of the HTML standard. An event is a group of lines of the form `field:
//! value`, followed by an empty line. Lines that begin with a colon are heartbeats. A line ends in
//! LF, CR or both.

use std::io::{self, BufRead};

/// Maximum size of an event, in bytes. A snapshot has about 300 bytes per row, so this allows a
/// hundred thousand rows.
const BYTES_MAX: usize = 32 << 20;

/// An event of a stream of server-sent events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    /// Type of the event. Empty for a plain message.
    pub(crate) name: String,
    /// Contents of the event.
    pub(crate) data: String,
}

/// A reader of the events of a stream of server-sent events.
#[derive(Debug)]
pub(crate) struct Events<R> {
    bytes: R,
    /// True if the line that was read last ended in CR. If an LF follows, it is part of the same
    /// line ending.
    after_cr: bool,
    /// Bytes of the current line.
    line: Vec<u8>,
}

impl<R: BufRead> Events<R> {
    pub(crate) fn new(bytes: R) -> Self {
        Self {
            bytes,
            after_cr: false,
            line: Vec::new(),
        }
    }

    /// Waits for the next event. Returns `None` at the end of the stream.
    pub(crate) fn next(&mut self) -> io::Result<Option<Event>> {
        let mut event = Event::default();
        let mut has_data = false;
        while self.read_line(BYTES_MAX.saturating_sub(event.data.len()))? {
            let line = String::from_utf8_lossy(&self.line);
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "" if line.is_empty() && has_data => return Ok(Some(event)),
                "" if line.is_empty() => event = Event::default(),
                "event" => value.clone_into(&mut event.name),
                "data" => {
                    if has_data {
                        event.data.push('\n');
                    }
                    event.data.push_str(value);
                    has_data = true;
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Reads a line of at most `max` bytes, without its line ending. Returns false if there is no
    /// line.
    fn read_line(&mut self, max: usize) -> io::Result<bool> {
        self.line.clear();
        loop {
            let bytes = match self.bytes.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            if bytes.is_empty() {
                return Ok(false);
            }
            let skip = usize::from(std::mem::take(&mut self.after_cr) && bytes[0] == b'\n');
            let bytes = &bytes[skip..];
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line
                .extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if self.line.len() > max {
                return Err(io::Error::other(format!(
                    "the process sent an event of more than {BYTES_MAX} bytes"
                )));
            }
            self.after_cr = end.is_some_and(|end| bytes[end] == b'\r');
            let used = skip + end.map_or(bytes.len(), |end| end + 1);
            self.bytes.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    /// Returns the events of `text`, read through a buffer of `capacity` bytes.
    fn events(text: &[u8], capacity: usize) -> Vec<(String, String)> {
        let mut events = Events::new(BufReader::with_capacity(capacity, text));
        std::iter::from_fn(|| events.next().unwrap())
            .map(|event| (event.name, event.data))
            .collect()
    }

    #[test]
    fn fields_make_events_however_the_stream_is_cut() {
        let text = b": hello\n\ndata: one\n\nevent: alert\nid: 7\ndata: two\ndata:  lines\n\nretry: 3\n\ndata\n\n";
        let expected = [("", "one"), ("alert", "two\n lines"), ("", "")]
            .map(|(name, data)| (name.to_owned(), data.to_owned()));
        for capacity in 1..text.len() {
            assert_eq!(events(text, capacity), expected, "{capacity}");
        }
    }

    #[test]
    fn lines_end_in_lf_or_cr_or_both() {
        for text in [
            "data: a\ndata: b\n\n",
            "data: a\rdata: b\r\r",
            "data: a\r\ndata: b\r\n\r\n",
        ] {
            for capacity in 1..text.len() {
                let seen = events(text.as_bytes(), capacity);
                assert_eq!(
                    seen,
                    [(String::new(), "a\nb".to_owned())],
                    "{text:?} {capacity}"
                );
            }
        }
    }

    #[test]
    fn what_is_cut_off_is_no_event_and_bad_bytes_are_replaced() {
        assert_eq!(events(b"data: a\n\ndata: half", 5).len(), 1);
        assert_eq!(events(b"data: \xff\n\n", 5)[0].1, "\u{fffd}");
    }

    #[test]
    fn an_endless_line_is_an_error() {
        let mut events = Events::new(BufReader::new(io::repeat(b'x')));
        assert!(events.next().unwrap_err().to_string().contains("more than"));
        let lines = io::Read::chain(&b"data: "[..], io::repeat(b'x'));
        assert!(Events::new(BufReader::new(lines)).next().is_err());
    }
}
