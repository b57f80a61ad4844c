//! Bars. A bar consists of the first, highest, lowest, last and mean price of a thousand trades of
//! one share.

use crate::trade::{NONE, SHARES, Trade};

/// Number of trades in a full bar.
const TRADES: u64 = 1_000;

/// A bar, which is full when it contains [`TRADES`] trades.
#[derive(Clone, Copy, Default)]
struct Bar {
    trades: u64,
    open: u32,
    high: u32,
    low: u32,
    close: u32,
    /// Total number of traded shares. The next field is the total price of these shares.
    count: u64,
    cents: u64,
}

/// The newest full bar of each share, and the number of its trades.
#[derive(Default)]
pub(crate) struct Bars {
    now: [Bar; SHARES as usize],
    full: [Bar; SHARES as usize],
    trades: [u64; SHARES as usize],
    damaged: u64,
}

impl Bars {
    pub(crate) fn add(&mut self, trade: &Trade) {
        if trade.share == NONE {
            self.damaged += 1;
            return;
        }
        let share = trade.share as usize;
        let bar = &mut self.now[share];
        if bar.trades == 0 {
            (bar.open, bar.low) = (trade.cents, trade.cents);
        }
        bar.trades += 1;
        bar.high = bar.high.max(trade.cents);
        bar.low = bar.low.min(trade.cents);
        bar.close = trade.cents;
        bar.count += u64::from(trade.count);
        bar.cents += u64::from(trade.count) * u64::from(trade.cents);
        self.trades[share] += 1;
        if bar.trades == TRADES {
            self.full[share] = std::mem::take(bar);
        }
    }

    /// Adds the bars of other shares, which another stage has computed.
    pub(crate) fn merge(&mut self, other: &Self) {
        for share in 0..SHARES as usize {
            if other.trades[share] > 0 {
                self.full[share] = other.full[share];
                self.trades[share] += other.trades[share];
            }
        }
        self.damaged += other.damaged;
    }

    pub(crate) fn trades(&self) -> u64 {
        self.trades.iter().sum()
    }

    pub(crate) fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Returns the newest full bar of a share as text.
    pub(crate) fn line(&self, share: u32) -> String {
        let (bar, trades) = (&self.full[share as usize], self.trades[share as usize]);
        let Some(mean) = bar.cents.checked_div(bar.count) else {
            return format!("share {share}: {trades} trades, no bar");
        };
        let Bar {
            open,
            high,
            low,
            close,
            ..
        } = bar;
        format!("share {share}: {trades} trades, {open} {high} {low} {close}, mean {mean}")
    }
}
