//! Trades, and the packets of the feed.

/// Number of shares.
pub(crate) const SHARES: u32 = 12;

/// Share number of a packet that was damaged.
pub(crate) const NONE: u32 = u32::MAX;

/// A packet: the share, the price, the count and a checksum, each of 4 bytes.
pub(crate) type Packet = [u8; 16];

/// A trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trade {
    /// Number of the share, or [`NONE`] for a damaged packet.
    pub(crate) share: u32,
    /// Price of one piece of the share in cents.
    pub(crate) cents: u32,
    pub(crate) count: u32,
}

impl Trade {
    /// Encodes the trade as a packet.
    pub(crate) fn encode(self) -> Packet {
        let mut packet = [0; 16];
        let words = [self.share, self.cents, self.count];
        for (bytes, word) in packet.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        packet[12..].copy_from_slice(&checksum(words).to_le_bytes());
        packet
    }

    /// Decodes a packet. If the packet is damaged, the share of the trade is [`NONE`].
    pub(crate) fn decode(packet: &Packet) -> Self {
        let word = |at: usize| {
            let bytes = [packet[at], packet[at + 1], packet[at + 2], packet[at + 3]];
            u32::from_le_bytes(bytes)
        };
        let [share, cents, count] = [word(0), word(4), word(8)];
        let is_good = word(12) == checksum([share, cents, count]) && share < SHARES;
        Self {
            share: if is_good { share } else { NONE },
            cents,
            count,
        }
    }
}

fn checksum(words: [u32; 3]) -> u32 {
    let add = |sum: u32, word: u32| (sum ^ word).wrapping_mul(0x0100_0193);
    words.into_iter().fold(0x811c_9dc5, add)
}

#[cfg(test)]
mod tests {
    use super::{NONE, Trade};

    #[test]
    fn a_packet_with_a_changed_byte_is_damaged() {
        let trade = Trade {
            share: 3,
            cents: 12_345,
            count: 7,
        };
        let packet = trade.encode();
        assert_eq!(Trade::decode(&packet), trade);
        for byte in 0..16 {
            let mut damaged = packet;
            damaged[byte] ^= 0x40;
            assert_eq!(Trade::decode(&damaged).share, NONE, "{byte}");
        }
    }
}
