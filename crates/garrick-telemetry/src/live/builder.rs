//! Configures and starts telemetry.

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
#[cfg(feature = "metrics")]
use crate::recorder::Recorder;
use crate::sampler::{Moment, Sampler, Settings};
use crate::server::{self, Loans, Options, Prepared, Site, Token};
use crate::snapshot::Snapshot;
use crate::warning::warn;

use super::bind::{PORTS_MAX, bind};
use super::orders::{Order, Orders};
use super::{StartError, Telemetry, View};

/// Default address of the server, reachable from this machine only.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9900);

/// Time that the sampling thread sleeps when nothing is watched.
const IDLE: Duration = Duration::from_secs(10);

/// Default maximum number of connections: enough for five hundred streams, and within the usual
/// limit of 1024 open files per process.
const CONNECTIONS_MAX: u32 = 640;

/// Maximum of the time limits of the server: one year. The end of a longer limit could be later
/// than the last moment that a clock can express.
const TIMEOUT_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A callback that receives each snapshot except the first, and the alerts that have begun, changed
/// or ended since the previous snapshot.
pub type Observer = Box<dyn FnMut(&Snapshot, &[Transition]) + Send>;

/// A builder for [`Telemetry`]. Returned by [`Telemetry::builder`].
pub struct Builder {
    address: Option<SocketAddr>,
    next_free_port: Option<bool>,
    serves: bool,
    token: Option<String>,
    settings: Settings,
    connections_max: u32,
    write_timeout: Duration,
    head_timeout: Duration,
    heartbeat: Duration,
    observers: Vec<Observer>,
    #[cfg(feature = "metrics")]
    recorder: Option<Recorder>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            address: None,
            next_free_port: None,
            serves: true,
            token: None,
            settings: Settings::default(),
            connections_max: CONNECTIONS_MAX,
            write_timeout: Duration::from_secs(30),
            head_timeout: Duration::from_secs(10),
            heartbeat: Duration::from_secs(15),
            observers: Vec::new(),
            #[cfg(feature = "metrics")]
            recorder: None,
        }
    }
}

impl Builder {
    /// Sets the address that the server listens on. The default is 127.0.0.1:9900. If other
    /// machines can reach the address, also set a [`token`](Self::token).
    #[must_use]
    pub fn address(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Sets whether the server tries the next 99 ports, one after another, if its port is in use.
    ///
    /// By default, the server tries these ports only if no [`address`](Self::address) was set.
    #[must_use]
    pub fn next_free_port(mut self, next: bool) -> Self {
        self.next_free_port = Some(next);
        self
    }

    /// Disables the web server. No port is opened, so the settings of the server have no effect.
    /// The program reads snapshots by [`Telemetry::view`], and can serve them itself, for example
    /// by [`metrics_text`](crate::metrics_text).
    #[must_use]
    pub fn without_server(mut self) -> Self {
        self.serves = false;
        self
    }

    /// Sets a token that clients must send with each request for data. The token must consist of 1
    /// to 256 characters. ASCII letters, digits and the characters `-._~` are allowed.
    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// Sets the time between two samples, from 10 ms to 10 s. The default is 100 ms.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.settings.interval = interval;
        self
    }

    /// Sets the length of the time window over which rates and percentiles are computed. The length
    /// must be from 100 ms to 10 min, and at least the [`interval`](Self::interval). The default is
    /// 10 s.
    #[must_use]
    pub fn window(mut self, window: Duration) -> Self {
        self.settings.window = window;
        self
    }

    /// Sets the name of the process in snapshots. The default is the name of its executable.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.settings.name = Some(name.to_owned());
        self
    }

    /// Adds a threshold to the existing thresholds, which are initially [`Threshold::defaults`].
    #[must_use]
    pub fn threshold(mut self, threshold: Threshold) -> Self {
        self.settings.thresholds.push(threshold);
        self
    }

    /// Removes all thresholds that were set before this call, including the defaults.
    #[must_use]
    pub fn without_thresholds(mut self) -> Self {
        self.settings.thresholds.clear();
        self
    }

    /// Sets the maximum number of simultaneous connections. The default is 640. While the maximum
    /// number of connections are open, up to 64 more clients receive the status 503, which asks
    /// them to retry later. Further connections are closed without a response.
    #[must_use]
    pub fn connections_max(mut self, max: u32) -> Self {
        self.connections_max = max;
        self
    }

    /// Sets how long a client may leave sent data unread. After this time, the connection is
    /// closed. The connection is also closed if the client reads too slowly. A client is too slow
    /// if data has been waiting without a break for the time `timeout`, and the client has read
    /// less than 2 KB for each second of it, or less than 64 KB in total if `timeout` is longer
    /// than 32 s. The default is 30 s. A time of more than one year counts as one year.
    #[must_use]
    pub fn write_timeout(mut self, timeout: Duration) -> Self {
        self.write_timeout = timeout.min(TIMEOUT_MAX);
        self
    }

    /// Sets how long a client may take to send a request. After this time, the connection is
    /// closed. The time starts when the client connects, and starts again after each response. The
    /// default is 10 s. A time of more than one year counts as one year.
    #[must_use]
    pub fn head_timeout(mut self, timeout: Duration) -> Self {
        self.head_timeout = timeout.min(TIMEOUT_MAX);
        self
    }

    /// Sets the time without an event after which an event stream sends a heartbeat. The heartbeat
    /// keeps the connection open. The default is 15 s. A time of more than one year counts as one
    /// year.
    #[must_use]
    pub fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.heartbeat = heartbeat.min(TIMEOUT_MAX);
        self
    }

    /// Adds an observer. The sampling thread calls the observer with each snapshot except the
    /// first, and with the alerts that have begun, changed or ended since the previous snapshot. If
    /// an observer panics, it is never called again.
    #[must_use]
    pub fn observe(
        mut self,
        observer: impl FnMut(&Snapshot, &[Transition]) + Send + 'static,
    ) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Shows the metrics of `recorder`: in snapshots, on the dashboard, and at `/metrics`.
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn recorder(mut self, recorder: &Recorder) -> Self {
        self.recorder = Some(recorder.clone());
        self
    }

    /// Starts the telemetry.
    ///
    /// # Errors
    /// Returns an error in these cases:
    ///
    /// - The interval or the window is out of range.
    /// - The token has a forbidden length or character.
    /// - The server cannot listen at the address, for example because the port is in use.
    /// - The system cannot provide a thread or another resource.
    pub fn start(self) -> Result<Telemetry, StartError> {
        #[cfg_attr(not(feature = "metrics"), expect(unused_mut))]
        let mut sampler = Sampler::new(self.settings.clone())?;
        #[cfg(feature = "metrics")]
        if let Some(recorder) = &self.recorder {
            sampler.watch_recorder(recorder);
        }
        let server = self.serves.then(|| self.prepare_server()).transpose()?;
        let (loops, hub) = Sampling::begin(sampler, self.observers);
        let (ending, is_ending) = watch::channel(false);
        let mut telemetry = Telemetry {
            view: View {
                hub: Arc::clone(&hub),
            },
            address: server.as_ref().map(|server| server.address),
            orders: Arc::clone(&loops.orders),
            numbered: AtomicU64::new(0),
            ending,
            threads: Vec::new(),
        };
        // If the second thread cannot start, dropping `telemetry` ends the first.
        telemetry.spawn("garrick-sample", || loops.run())?;
        if let Some(server) = server {
            let site = Site {
                hub,
                options: server.options,
                loans: Loans::default(),
                ending: is_ending,
            };
            telemetry.spawn("garrick-serve", || server.prepared.run(site))?;
        }
        Ok(telemetry)
    }

    /// Opens the server's port.
    fn prepare_server(&self) -> Result<Server, StartError> {
        let token = self.token.as_deref().map(Token::new).transpose()?;
        let address = self.address.unwrap_or(ADDRESS);
        let next = self.next_free_port.unwrap_or(self.address.is_none());
        let listener = bind(address, if next { PORTS_MAX } else { 1 })?;
        let address = listener.local_addr()?;
        if token.is_none() && !address.ip().is_loopback() {
            warn(&format!(
                "any client that can reach {address} can read the telemetry; set a token to prevent \
                 this"
            ));
        }
        Ok(Server {
            address,
            options: Options {
                token,
                connections_max: self.connections_max.into(),
                head_timeout: self.head_timeout,
                write_timeout: self.write_timeout,
                heartbeat: self.heartbeat,
                is_local: address.ip().is_loopback(),
            },
            prepared: server::prepare(listener)?,
        })
    }
}

/// A server that listens on its port, but does not answer requests yet.
struct Server {
    address: SocketAddr,
    options: Options,
    prepared: Prepared,
}

impl Telemetry {
    fn spawn(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), StartError> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run)?;
        self.threads.push(thread);
        Ok(())
    }
}

/// State of the sampling thread.
struct Sampling {
    sampler: Sampler,
    hub: Arc<Hub>,
    orders: Arc<Orders>,
    observers: Vec<Foreign<Observer>>,
    began: Instant,
}

impl Sampling {
    /// Takes the first sample, so that there always is a newest snapshot.
    fn begin(mut sampler: Sampler, observers: Vec<Observer>) -> (Self, Arc<Hub>) {
        let began = Instant::now();
        let (snapshot, _) = sampler.tick(moment(began));
        let hub = Hub::new(snapshot, sampler.shared_history());
        let hub = Arc::new(hub.with_book(sampler.shared_book()));
        let sampling = Self {
            sampler,
            hub: Arc::clone(&hub),
            orders: Arc::default(),
            observers: observers.into_iter().map(Foreign::new).collect(),
            began,
        };
        (sampling, hub)
    }

    /// Takes samples when they are due or requested, until the sampling thread must stop.
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

    /// Returns the time of the next sample: one interval after the time at which the last sample
    /// was due, so that delays do not accumulate. If this time has already passed, or if the last
    /// sample was taken early, the next sample is due one interval from now. If nothing is watched,
    /// the next sample is due after [`IDLE`].
    fn next_after(&self, due: Instant) -> Instant {
        let now = Instant::now();
        if self.sampler.is_idle() {
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
