//! How telemetry is to be, and how it starts.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;

use crate::alert::{Threshold, Transition};
use crate::hub::Hub;
use crate::quiet::Foreign;
use crate::sampler::{Moment, Sampler, Settings};
use crate::server::{self, Options, Site, Token};
use crate::snapshot::Snapshot;

use super::bind::{PORTS_MAX, bind};
use super::orders::{Order, Orders};
use super::{StartError, Telemetry, View};

/// Where it serves unless told otherwise: for this machine only.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9900);

/// How long the sampling thread sleeps when nothing is watched.
const IDLE: Duration = Duration::from_secs(10);

/// Room for five hundred streams and then some, within the 1024 files that a process usually may open.
const CONNECTIONS_MAX: u32 = 640;

/// What is called with every snapshot and the transitions of alerts that came with it.
pub type Observer = Box<dyn FnMut(&Snapshot, &[Transition]) + Send>;

/// Says how telemetry is to be; from [`Telemetry::builder`].
pub struct Builder {
    address: Option<SocketAddr>,
    next_free_port: Option<bool>,
    token: Option<String>,
    settings: Settings,
    connections_max: u32,
    write_timeout: Duration,
    head_timeout: Duration,
    heartbeat: Duration,
    observers: Vec<Observer>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            address: None,
            next_free_port: None,
            token: None,
            settings: Settings::default(),
            connections_max: CONNECTIONS_MAX,
            write_timeout: Duration::from_secs(30),
            head_timeout: Duration::from_secs(10),
            heartbeat: Duration::from_secs(15),
            observers: Vec::new(),
        }
    }
}

impl Builder {
    /// Serves at `address`; 127.0.0.1:9900 unless told. Of an address that others can reach, set a
    /// [`token`](Self::token) as well.
    #[must_use]
    pub fn address(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Says whether to go on at the next free port where the first is in use, of a hundred at most.
    ///
    /// Unless told, it does so if no address was named.
    #[must_use]
    pub fn next_free_port(mut self, next: bool) -> Self {
        self.next_free_port = Some(next);
        self
    }

    /// Answers only those who know `token`: 1 to 256 letters, digits and `-._~`.
    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// Looks every `interval`; see [`Settings::interval`].
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.settings.interval = interval;
        self
    }

    /// Takes rates and percentiles over `window`; see [`Settings::window`].
    #[must_use]
    pub fn window(mut self, window: Duration) -> Self {
        self.settings.window = window;
        self
    }

    /// Calls the process `name`.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.settings.name = Some(name.to_owned());
        self
    }

    /// Adds a threshold to those there are, at first [`Threshold::defaults`].
    #[must_use]
    pub fn threshold(mut self, threshold: Threshold) -> Self {
        self.settings.thresholds.push(threshold);
        self
    }

    /// Has no thresholds but those that are added after this.
    #[must_use]
    pub fn without_thresholds(mut self) -> Self {
        self.settings.thresholds.clear();
        self
    }

    /// Allows so many connections at a time; 640 unless told. Others are told to come back later.
    #[must_use]
    pub fn connections_max(mut self, max: u32) -> Self {
        self.connections_max = max;
        self
    }

    /// Hangs up on a client that leaves what was sent to it unread for so long; 30 s unless told.
    #[must_use]
    pub fn write_timeout(mut self, timeout: Duration) -> Self {
        self.write_timeout = timeout;
        self
    }

    /// Hangs up on a client that takes so long to ask, from when it connected or was answered; 10 s unless told.
    #[must_use]
    pub fn head_timeout(mut self, timeout: Duration) -> Self {
        self.head_timeout = timeout;
        self
    }

    /// Says something on event streams at least that often; 15 s unless told.
    #[must_use]
    pub fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.heartbeat = heartbeat;
        self
    }

    /// Calls `observer` with every snapshot and the transitions of alerts that came with it, on the sampling
    /// thread. One that panics is called no more.
    #[must_use]
    pub fn observe(
        mut self,
        observer: impl FnMut(&Snapshot, &[Transition]) + Send + 'static,
    ) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Starts it.
    ///
    /// # Errors
    ///
    /// When a setting is out of range, the port is in use or not allowed, or the system has no means for it.
    pub fn start(self) -> Result<Telemetry, StartError> {
        let sampler = Sampler::new(self.settings.clone())?;
        let token = self.token.as_deref().map(Token::new).transpose()?;
        let address = self.address.unwrap_or(ADDRESS);
        let next = self.next_free_port.unwrap_or(self.address.is_none());
        let listener = bind(address, if next { PORTS_MAX } else { 1 })?;
        let address = listener.local_addr()?;
        if token.is_none() && !address.ip().is_loopback() {
            warn(address);
        }
        let server = server::prepare(listener)?;
        let (loops, hub) = Sampling::begin(sampler, self.observers);
        let (ending, is_ending) = watch::channel(false);
        let site = Site {
            hub: Arc::clone(&hub),
            options: Options {
                token,
                connections_max: self.connections_max.into(),
                head_timeout: self.head_timeout,
                write_timeout: self.write_timeout,
                heartbeat: self.heartbeat,
                is_local: address.ip().is_loopback(),
            },
            ending: is_ending,
        };
        let mut telemetry = Telemetry {
            view: View { hub },
            address,
            orders: Arc::clone(&loops.orders),
            numbered: AtomicU64::new(0),
            ending,
            threads: Vec::new(),
        };
        // Should the second thread not start, dropping `telemetry` ends the first.
        telemetry.spawn("garrick-sample", || loops.run())?;
        telemetry.spawn("garrick-serve", || server.run(site))?;
        Ok(telemetry)
    }
}

impl Telemetry {
    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), StartError> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run)?;
        self.threads.push(thread);
        Ok(())
    }
}

/// Says that anybody can look.
fn warn(address: SocketAddr) {
    let text = format!("telemetry at {address} can be read by anybody who reaches it: set a token");
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "garrick::telemetry", "{text}");
    #[cfg(not(feature = "tracing"))]
    eprintln!("warning: {text}");
}

/// What the sampling thread has.
struct Sampling {
    sampler: Sampler,
    hub: Arc<Hub>,
    orders: Arc<Orders>,
    observers: Vec<Foreign<Observer>>,
    began: Instant,
}

impl Sampling {
    /// Takes the first look, so that there always is one.
    fn begin(mut sampler: Sampler, observers: Vec<Observer>) -> (Self, Arc<Hub>) {
        let began = Instant::now();
        let (snapshot, _) = sampler.tick(moment(began));
        let hub = Arc::new(Hub::new(snapshot, sampler.shared_history()));
        let sampling = Self {
            sampler,
            hub: Arc::clone(&hub),
            orders: Arc::default(),
            observers: observers.into_iter().map(Foreign::new).collect(),
            began,
        };
        (sampling, hub)
    }

    /// Looks whenever it is time to, until told to stop.
    fn run(mut self) {
        let mut due = Instant::now();
        while let Some(taken) = self.orders.wait_until(due) {
            for order in taken.orders {
                match order {
                    Order::Watch(id, source) => self.sampler.watch_as(id, source),
                    Order::Forget(id) => self.sampler.forget(id),
                }
            }
            self.look();
            self.orders.answer(taken.asked);
            due = self.next_after(due);
        }
    }

    fn look(&mut self) {
        let (snapshot, transitions) = self.sampler.tick(moment(self.began));
        self.observers.retain_mut(|observer| {
            let called = observer.call(|observer| observer(&snapshot, &transitions));
            called.is_some()
        });
        self.hub.publish(snapshot, &transitions);
    }

    /// An interval after the last look was due, so that lateness does not add up; or after now, if that is past.
    fn next_after(&self, due: Instant) -> Instant {
        let now = Instant::now();
        if self.sampler.watched() == 0 {
            return now + IDLE;
        }
        let interval = self.sampler.interval();
        let next = due.min(now) + interval;
        if next > now { next } else { now + interval }
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.orders.end();
    }
}

fn moment(began: Instant) -> Moment {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Moment {
        uptime: began.elapsed(),
        unix_ms: since_1970.map_or(0, |time| time.as_millis() as u64),
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("address", &self.address)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
