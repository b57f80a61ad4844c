//! A TCP connection between two sides with the same key. One side asks, the other side answers, and
//! then both close the connection gracefully. A third side has another key, and receives nothing.

use std::sync::mpsc::{Sender, channel};

use garrick::prelude::*;
use garrick::secure::{Event, Listener, Options, PreSharedKey, Role, Transport, Writer, open};
use garrick::{Handle, Incoming};
use tokio::net::{TcpListener, TcpStream};

/// The server, which answers every question with its reverse.
async fn server(mut events: Incoming<Event>) {
    let mut writer: Option<Writer> = None;
    while let Some(event) = events.recv().await {
        match event {
            Event::Opened(opened) => writer = Some(opened),
            Event::Frame(frame) => {
                let answer: Vec<u8> = frame.iter().rev().copied().collect();
                if let Some(writer) = &writer {
                    // A closed connection is reported as its last event.
                    let _ = writer.send(answer).await;
                }
            }
            // The client has no more questions, so there are no more answers.
            Event::Finished => writer = None,
            Event::Closed(outcome) => return println!("server: {outcome:?}"),
            _ => {}
        }
    }
}

/// The client, which asks two questions, and prints the answers.
struct Client {
    writer: Option<Writer>,
    answers: usize,
    done: Sender<()>,
}

impl Actor for Client {
    type Msg = Event;
    type Outcome = Next;

    fn receive(&mut self, event: Event, _: &mut Context<'_, Event>) -> Next {
        match event {
            Event::Opened(writer) => {
                let asked = ["stressed", "drawer"].map(|word| writer.try_send(word));
                assert!(
                    asked.iter().all(Result::is_ok),
                    "the queue has room for two"
                );
                self.writer = Some(writer);
            }
            Event::Frame(frame) => {
                println!("client: {}", String::from_utf8_lossy(&frame));
                self.answers += 1;
                if self.answers == 2
                    && let Some(writer) = self.writer.take()
                {
                    writer.finish();
                }
            }
            Event::Closed(outcome) => {
                println!("client: {outcome:?}");
                let _ = self.done.send(());
                return Next::Stop;
            }
            _ => {}
        }
        Next::Continue
    }
}

fn connect(
    system: &Handle,
    stream: TcpStream,
    key: &PreSharedKey,
    role: Role,
    listener: impl Into<Listener>,
) -> Result<(), Box<dyn std::error::Error>> {
    // Each write contains a whole frame, which should be sent at once.
    stream.set_nodelay(true)?;
    let (read, write) = stream.into_split();
    let transport = Transport::new(read, write);
    open(
        system,
        transport,
        key.clone(),
        role,
        Options::default(),
        listener,
    )?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The runtime's thread waits for the sockets. The actors read and write them.
    let driver = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_io()
        .build()?;
    let system = System::new()?;
    let handle = system.handle();
    let listener = driver.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let key = PreSharedKey::random()?;

    for clients_key in [key.clone(), PreSharedKey::random()?] {
        let near = driver.block_on(TcpStream::connect(address))?;
        let (far, _) = driver.block_on(listener.accept())?;
        let (done, is_done) = channel();
        let client = system.spawn(Client {
            writer: None,
            answers: 0,
            done,
        })?;
        connect(&handle, far, &key, Role::Server, system.spawn(server)?)?;
        connect(&handle, near, &clients_key, Role::Client, client)?;
        is_done.recv()?;
    }
    system.shutdown();
    Ok(())
}
