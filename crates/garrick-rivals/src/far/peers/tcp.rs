//! Plain TCP by hand, with blocking sockets of the standard library. Each frame has a kind and a
//! length before it.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::frame::{FRAME, Message, count_all, pack};
use crate::far::child::{is_ready, wait_for_end};
use crate::far::near::{Count, Near, Place, Tally, answer_to, check, content_of, numbers, serve};
use crate::far::order::{Fault, SMALL};

/// Size of the buffer for reading.
const BUFFER: usize = 64 << 10;

/// Kinds of frames: messages without answers, a question, and a question for the tally.
const TELL: u8 = 0;
const ASK: u8 = 1;
const TALLY: u8 = 2;

/// Runs the receiving process.
pub(in crate::far) fn far(_: &Place) -> Result<(), Fault> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    is_ready(&listener.local_addr()?.to_string())?;
    thread::spawn(move || {
        // Ends with the connection, or with the process.
        let _ = listener.accept().and_then(|(stream, _)| answer(&stream));
    });
    wait_for_end();
    Ok(())
}

fn answer(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BufReader::with_capacity(BUFFER, stream);
    let (mut output, mut to) = (Vec::new(), stream);
    let (mut count, mut frame) = (Count::new(), Vec::new());
    loop {
        let kind = read_frame(&mut input, &mut frame)?;
        match kind {
            TELL => count_all(&frame, &mut count),
            ASK => {
                let [first, second] = numbers(&frame).ok_or(io::ErrorKind::InvalidData)?;
                output.extend_from_slice(&answer_to(first, second).to_le_bytes());
            }
            _ => output.extend_from_slice(&count.tally().to_bytes()),
        }
        // The answers to all questions that have come are written together.
        if input.buffer().is_empty() && !output.is_empty() {
            to.write_all(&output)?;
            output.clear();
        }
    }
}

/// Reads a frame, and returns its kind.
fn read_frame(input: &mut impl Read, frame: &mut Vec<u8>) -> io::Result<u8> {
    let mut head = [0; 5];
    input.read_exact(&mut head)?;
    let [kind, length @ ..] = head;
    frame.resize(u32::from_le_bytes(length) as usize, 0);
    input.read_exact(frame)?;
    Ok(kind)
}

/// Runs the sending process.
pub(in crate::far) fn near(place: &Place) -> Result<(), Fault> {
    let stream = TcpStream::connect(&place.far)?;
    stream.set_nodelay(true)?;
    serve(Sender {
        input: BufReader::with_capacity(BUFFER, stream.try_clone()?),
        stream,
    })
}

struct Sender {
    input: BufReader<TcpStream>,
    stream: TcpStream,
}

impl Near for Sender {
    fn tell(&mut self, bytes: usize, count: u64) -> Result<Option<Duration>, Fault> {
        let mut message = Message::new(bytes);
        let mut frame = new_frame();
        for number in 0..count {
            pack(&mut frame, message.numbered(number));
            if frame.len() >= FRAME || number + 1 == count {
                set_length(&mut frame);
                self.stream.write_all(&frame)?;
                frame.truncate(HEAD);
            }
        }
        Ok(None)
    }

    fn ask(&mut self, in_flight: usize, count: u64) -> Result<Vec<Duration>, Fault> {
        let (mut asked, mut times) = (0, Vec::new());
        let (mut under_way, mut output) = (VecDeque::new(), Vec::new());
        while (times.len() as u64) < count {
            while under_way.len() < in_flight && asked < count {
                under_way.push_back((asked, Instant::now()));
                put(&mut output, ASK, &content_of(asked, asked + 1));
                asked += 1;
            }
            // The questions after all answers that have come are written together.
            if self.input.buffer().is_empty() {
                self.stream.write_all(&output)?;
                output.clear();
            }
            let mut answer = [0; 8];
            self.input.read_exact(&mut answer)?;
            let (number, began) = under_way.pop_front().ok_or("an answer without question")?;
            check(number, u64::from_le_bytes(answer))?;
            times.push(began.elapsed());
        }
        Ok(times)
    }

    fn tally(&mut self) -> Result<Tally, Fault> {
        let mut question = Vec::new();
        put(&mut question, TALLY, &[]);
        self.stream.write_all(&question)?;
        let mut answer = [0; SMALL];
        self.input.read_exact(&mut answer)?;
        Tally::from_bytes(&answer)
    }
}

/// Size of the head of a frame: its kind, and the length of its content.
const HEAD: usize = 5;

fn new_frame() -> Vec<u8> {
    let mut frame = Vec::with_capacity(2 * FRAME);
    frame.extend_from_slice(&[TELL, 0, 0, 0, 0]);
    frame
}

fn set_length(frame: &mut [u8]) {
    let length = (frame.len() - HEAD) as u32;
    frame[1..HEAD].copy_from_slice(&length.to_le_bytes());
}

/// Adds a frame to the output.
fn put(output: &mut Vec<u8>, kind: u8, content: &[u8]) {
    output.push(kind);
    pack(output, content);
}
