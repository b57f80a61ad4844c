//! Busy rooms: one client of each room sends the current time, and all clients measure the age of
//! the lines that they receive.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};

use garrick_examples::sessions::client::{Client, Heard};

/// Number of clients in a busy room.
pub(super) const IN_ROOM: usize = 10;
/// Number of busy rooms.
const ROOMS: usize = 10;
/// Text of a line, a few words long.
const WORDS: &str = "lorem ipsum dolor sit amet consectetur";
/// Time after which a line counts as lost if it has not arrived.
const LOST_AFTER: Duration = Duration::from_secs(10);

/// Busy clients of one server, and their results.
pub(super) struct Busy {
    /// Senders that make one client of each room send a line.
    talkers: Vec<mpsc::UnboundedSender<()>>,
    /// Receiver of the measured latencies of lines.
    heard: mpsc::UnboundedReceiver<Duration>,
    latencies: Vec<Duration>,
    /// CPU time that the server has used for the load.
    pub(super) server_time: Duration,
}

/// The results. Times are in microseconds.
pub(super) struct Figures {
    pub(super) lines: usize,
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) p999: f64,
    pub(super) cpu: f64,
}

impl Busy {
    /// Makes all clients enter their rooms. Must be called in the runtime in which the clients run.
    pub(super) async fn enter(at: SocketAddr) -> io::Result<Self> {
        let (tell, heard) = mpsc::unbounded_channel();
        let origin = Instant::now();
        let mut talkers = Vec::new();
        for room in 0..ROOMS {
            let room = format!("busy-{room}");
            let mut clients = Vec::new();
            let is_in = |member| format!("* m{member} is in {room}");
            for member in 0..IN_ROOM {
                // Wait for this client to enter, because a server with several threads could let
                // the next client enter first.
                let mut client = Client::enter(at, &room, &format!("m{member}")).await?;
                client.await_line(&is_in(member)).await?;
                clients.push(client);
            }
            for (member, mut client) in clients.into_iter().enumerate() {
                if member + 1 < IN_ROOM {
                    client.await_line(&is_in(IN_ROOM - 1)).await?;
                }
                let (talker, asked) = mpsc::unbounded_channel();
                if member == 0 {
                    talkers.push(talker);
                }
                tokio::spawn(take_part(client, asked, tell.clone(), origin));
            }
        }
        Ok(Self {
            talkers,
            heard,
            latencies: Vec::new(),
            server_time: Duration::ZERO,
        })
    }

    /// Sends lines in the busy rooms for `milliseconds`, round-robin. Waits until each line has
    /// reached all clients of its room.
    pub(super) async fn talk(&mut self, rate: u32, milliseconds: u32) -> io::Result<()> {
        let messages = rate * milliseconds / 1_000;
        let mut ticks = interval(Duration::from_millis(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut said = 0;
        for tick in 1..=milliseconds {
            ticks.tick().await;
            while said < messages * tick / milliseconds {
                let talker = &self.talkers[said as usize % ROOMS];
                talker.send(()).map_err(|_| gone())?;
                said += 1;
            }
        }
        for _ in 0..said as usize * IN_ROOM {
            let latency = timeout(LOST_AFTER, self.heard.recv()).await;
            let latency = latency.map_err(|_| io::Error::other("a line was lost"))?;
            self.latencies.push(latency.ok_or_else(gone)?);
        }
        Ok(())
    }

    /// Sends lines like [`talk`](Self::talk), and discards the results.
    pub(super) async fn warm_up(&mut self, rate: u32, milliseconds: u32) -> io::Result<()> {
        self.talk(rate, milliseconds).await?;
        self.latencies.clear();
        Ok(())
    }

    /// Returns the results.
    pub(super) fn figures(&self) -> Figures {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let at = |share: f64| {
            let index = (sorted.len() as f64 * share) as usize;
            sorted.get(index).map_or(f64::NAN, |it| micros(*it))
        };
        Figures {
            lines: sorted.len(),
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            cpu: micros(self.server_time) / sorted.len() as f64,
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("a session of a busy client has ended")
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Runs a client: sends the time on request, and reports the age of the times that it receives.
async fn take_part(
    mut client: Client,
    mut asked: mpsc::UnboundedReceiver<()>,
    tell: mpsc::UnboundedSender<Duration>,
    origin: Instant,
) {
    loop {
        tokio::select! {
            Some(()) = asked.recv() => {
                let words = format!("{} {WORDS}", origin.elapsed().as_nanos());
                if client.say(&words).await.is_err() {
                    return;
                }
            }
            heard = client.hear() => {
                let Heard::Line(line) = heard else {
                    return;
                };
                let said = line.split(' ').nth(1).and_then(|nanos| nanos.parse().ok());
                if let Some(said) = said {
                    let latency = origin.elapsed().saturating_sub(Duration::from_nanos(said));
                    if tell.send(latency).is_err() {
                        return;
                    }
                }
            }
        }
    }
}
