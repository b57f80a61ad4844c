#![allow(unsafe_code, clippy::all)]
use garrick_sched::*;
struct Instant(u64);
struct El(u64);
impl El {
    fn as_nanos(&self) -> u64 {
        self.0
    }
}
impl Instant {
    fn cpu() -> u64 {
        unsafe {
            let mut t: libc::timespec = std::mem::zeroed();
            libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t);
            t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
        }
    }
    fn now() -> Self {
        Self(Self::cpu())
    }
    fn elapsed(&self) -> El {
        El(Self::cpu() - self.0)
    }
}
use std::sync::atomic::{AtomicU64, Ordering::*};
struct Count(u64);
impl Task for Count {
    type Message = u64;
    #[inline]
    fn receive(&mut self, m: u64, _: &Turn<'_, u64>) -> Flow {
        self.0 = self.0.wrapping_add(m);
        std::hint::black_box(&self.0);
        Flow::Continue
    }
}
struct Tell {
    to: Address<u64>,
    n: u64,
}
impl Task for Tell {
    type Message = u64;
    fn receive(&mut self, left: u64, t: &Turn<'_, u64>) -> Flow {
        for i in 0..self.n {
            let _ = t.send(&self.to, i);
        }
        if left > 1 {
            let _ = t.send(&t.address(), left - 1);
        }
        Flow::Continue
    }
}
struct Pong(Address<u64>);
struct Ping {
    peer: Option<Address<u64>>,
}
impl Task for Ping {
    type Message = Msg;
    fn receive(&mut self, m: Msg, t: &Turn<'_, Msg>) -> Flow {
        match m {
            Msg::Peer(p) => self.peer = Some(p),
            Msg::N(n) => {
                if n > 0 {
                    let _ = t.send(self.peer.as_ref().unwrap(), n - 1);
                }
            }
        }
        Flow::Continue
    }
}
enum Msg {
    Peer(Address<u64>),
    N(u64),
}
struct P2 {
    peer: Address<P>,
}
enum P {
    Peer(Address<P>),
    N(u64),
}
struct PP(Option<Address<P>>);
impl Task for PP {
    type Message = P;
    fn receive(&mut self, m: P, t: &Turn<'_, P>) -> Flow {
        match m {
            P::Peer(p) => self.0 = Some(p),
            P::N(n) => {
                if n > 0 {
                    let _ = t.send(self.0.as_ref().unwrap(), P::N(n - 1));
                }
            }
        }
        Flow::Continue
    }
}
// fork bomb
enum Tree {
    Fresh(Address<()>),
    Two(Address<()>),
    One(Address<()>),
    Done,
}
struct Node {
    cust: Option<Address<Tr>>,
    wait: u8,
}
enum Tr {
    Grow(u32),
    Any,
}
impl Task for Node {
    type Message = Tr;
    fn receive(&mut self, m: Tr, t: &Turn<'_, Tr>) -> Flow {
        match m {
            Tr::Grow(0) => {
                if let Some(c) = self.cust.take() {
                    let _ = t.send(&c, Tr::Any);
                }
            }
            Tr::Grow(n) => {
                for _ in 0..2 {
                    let c = t.spawn(Node {
                        cust: Some(t.address()),
                        wait: 0,
                    });
                    let _ = t.send(&c, Tr::Grow(n - 1));
                }
            }
            Tr::Any => {
                self.wait += 1;
                if self.wait == 2 {
                    if let Some(c) = self.cust.take() {
                        let _ = t.send(&c, Tr::Any);
                    }
                }
            }
        }
        Flow::Continue
    }
}
struct Spawner {
    left: u64,
}
impl Task for Spawner {
    type Message = u64;
    fn receive(&mut self, n: u64, t: &Turn<'_, u64>) -> Flow {
        for i in 0..64 {
            let a = t.spawn(Count(0));
            let _ = t.send(&a, i);
        }
        if n > 1 {
            let _ = t.send(&t.address(), n - 1);
        }
        Flow::Continue
    }
}
fn only(w: &str) {
    for _ in 0..std::env::var("R")
        .ok()
        .and_then(|d| d.parse().ok())
        .unwrap_or(5)
    {
        match w {
            "pp" => {
                let pp = {
                    let h = Here::new_here().unwrap();
                    let x = h.spawn(PP(None));
                    let y = h.spawn(PP(Some(x.clone())));
                    x.send(P::Peer(y.clone())).unwrap();
                    let n = 10_000_000u64;
                    x.send(P::N(n)).unwrap();
                    let s = Instant::now();
                    h.run();
                    s.elapsed().as_nanos() as f64 / (n as f64 / 2.0)
                };
                println!("{pp}");
            }
            "tell" => {
                let tell = {
                    let h = Here::new_here().unwrap();
                    let c = h.spawn(Count(0));
                    let b = 256;
                    let s_ = h.spawn(Tell { to: c, n: b });
                    let rounds = 100_000;
                    s_.send(rounds).unwrap();
                    let s = Instant::now();
                    h.run();
                    s.elapsed().as_nanos() as f64 / (b * rounds) as f64
                };
                println!("{tell}");
            }
            "fb" => {
                let depth = std::env::var("D")
                    .ok()
                    .and_then(|d| d.parse().ok())
                    .unwrap_or(22u32);
                let fb = {
                    let h = Here::new_here().unwrap();
                    let r = h.spawn(Node {
                        cust: None,
                        wait: 0,
                    });
                    r.send(Tr::Grow(depth)).unwrap();
                    let s = Instant::now();
                    h.run();
                    s.elapsed().as_nanos() as f64 / ((1u64 << (depth + 1)) - 1) as f64
                };
                println!("{fb}");
            }
            _ => {
                let sp = {
                    let h = Here::new_here().unwrap();
                    let r = h.spawn(Spawner { left: 0 });
                    r.send(100_000).unwrap();
                    let s = Instant::now();
                    h.run();
                    s.elapsed().as_nanos() as f64 / 6.4e6
                };
                println!("{sp}");
            }
        }
    }
}
fn main() {
    if std::env::args().nth(1).is_some() {
        return only(&std::env::args().nth(1).unwrap());
    }
    for _ in 0..4 {
        let a = AtomicU64::new(0);
        let s = Instant::now();
        for _ in 0..50_000_000u64 {
            std::hint::black_box(&a).fetch_add(1, Relaxed);
        }
        let rmw = s.elapsed().as_nanos() as f64 / 5e7;
        let tell = {
            let h = Here::new_here().unwrap();
            let c = h.spawn(Count(0));
            let b = 256;
            let s_ = h.spawn(Tell { to: c, n: b });
            let rounds = 100_000;
            s_.send(rounds).unwrap();
            let s = Instant::now();
            h.run();
            s.elapsed().as_nanos() as f64 / (b * rounds) as f64
        };
        let tell1 = {
            let h = Here::new_here().unwrap();
            let c = h.spawn(Count(0));
            let b = 1;
            let s_ = h.spawn(Tell { to: c, n: b });
            let rounds = 5_000_000;
            s_.send(rounds).unwrap();
            let s = Instant::now();
            h.run();
            s.elapsed().as_nanos() as f64 / (b * rounds) as f64
        };
        let pp = {
            let h = Here::new_here().unwrap();
            let x = h.spawn(PP(None));
            let y = h.spawn(PP(Some(x.clone())));
            x.send(P::Peer(y.clone())).unwrap();
            let n = 10_000_000u64;
            x.send(P::N(n)).unwrap();
            let s = Instant::now();
            h.run();
            s.elapsed().as_nanos() as f64 / (n as f64 / 2.0)
        };
        let ring = {
            let h = Here::new_here().unwrap();
            let first = h.spawn(PP(None));
            let mut prev = first.clone();
            for _ in 0..99 {
                let n = h.spawn(PP(Some(prev)));
                prev = n;
            }
            first.send(P::Peer(prev)).unwrap();
            let n = 10_000_000u64;
            first.send(P::N(n)).unwrap();
            let s = Instant::now();
            h.run();
            s.elapsed().as_nanos() as f64 / (n as f64)
        };
        let depth = std::env::var("D")
            .ok()
            .and_then(|d| d.parse().ok())
            .unwrap_or(22u32);
        let fb = {
            let h = Here::new_here().unwrap();
            let r = h.spawn(Node {
                cust: None,
                wait: 0,
            });
            r.send(Tr::Grow(depth)).unwrap();
            let s = Instant::now();
            h.run();
            s.elapsed().as_nanos() as f64 / ((1u64 << (depth + 1)) - 1) as f64
        };
        let sp = {
            let h = Here::new_here().unwrap();
            let r = h.spawn(Spawner { left: 0 });
            r.send(100_000).unwrap();
            let s = Instant::now();
            h.run();
            s.elapsed().as_nanos() as f64 / 6.4e6
        };
        println!(
            "rmw {rmw:.2} tell {tell:.2} ({:.2}) tell1 {tell1:.2} pingpong {pp:.2} ({:.2}) ring {ring:.2} fb {fb:.2} ({:.2}) spawn {sp:.2} ({:.2})",
            tell / rmw,
            pp / rmw,
            fb / rmw,
            sp / rmw
        );
    }
}
