//! The feed: an iterator that generates packets, in place of a socket.

use std::thread;
use std::time::{Duration, Instant};

use crate::trade::{Packet, SHARES, Trade};

/// Time between two reads of the clock.
const TICK: Duration = Duration::from_millis(1);

/// Number of packets of which one is damaged.
const DAMAGED: u64 = 1_009;

/// A feed of generated trades, which are the same in every run.
pub(crate) struct Feed {
    began: Instant,
    /// Trades per second, or 0 for as many as possible.
    rate: u64,
    left: Option<u64>,
    number: u64,
    /// Number of packets that are due according to the rate.
    due: u64,
    prices: Vec<u32>,
}

impl Feed {
    pub(crate) fn new(rate: u64, trades: Option<u64>) -> Self {
        Self {
            began: Instant::now(),
            rate,
            left: trades,
            number: 0,
            due: 0,
            prices: (0..SHARES).map(|share| 5_000 + 1_000 * share).collect(),
        }
    }

    /// Waits until the next packet is due.
    fn wait(&mut self) {
        while self.rate > 0 && self.number >= self.due {
            let passed = self.began.elapsed().as_micros() as u64;
            self.due = passed.saturating_mul(self.rate) / 1_000_000;
            if self.number >= self.due {
                thread::sleep(TICK);
            }
        }
    }
}

impl Iterator for Feed {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        if self.left == Some(self.number) {
            return None;
        }
        self.wait();
        let chance = self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let share = (chance % u64::from(SHARES)) as u32;
        let price = &mut self.prices[share as usize];
        // Prices go up and down by a cent.
        *price = match chance / 64 % 3 {
            0 => *price + 1,
            1 => (*price).saturating_sub(1).max(1),
            _ => *price,
        };
        let trade = Trade {
            share,
            cents: *price,
            count: 1 + (chance / 1_024 % 100) as u32,
        };
        self.number += 1;
        let mut packet = trade.encode();
        if self.number.is_multiple_of(DAMAGED) {
            packet[5] ^= 1;
        }
        Some(packet)
    }
}
