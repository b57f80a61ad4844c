//! Renderings of snapshots that clients are reading, with a limit on the total memory of these
//! renderings.
//!
//! ```text
//!   rendering --lent--> loan --piece by piece--> answers and event streams
//!                        \--recalled, if all loans together are too large
//! ```
//!
//! Each new snapshot has new renderings, and a client may read its rendering slowly. Without this
//! limit, each connection could keep another old rendering. Instead, all clients of a rendering
//! share one loan, and a connection only has a copy of the piece that it is sending. If the loans
//! become too large, those that were lent the longest time ago are recalled: their memory is freed
//! immediately, and the connections of their readers end.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::hub::Bytes;

/// Maximum size in bytes of the piece of a rendered response that a connection is sending. Only a
/// larger response is lent to its readers by a loan.
pub(super) const PIECE_BYTES_MAX: usize = 64 * 1024;

/// Default maximum size of all loans (large rendered responses that clients are reading) together,
/// in bytes.
const LENT_BYTES_MAX: usize = 64 << 20;

/// A large rendered response that clients are reading. The memory is free when all clients have
/// ended their reading, or when the loan is recalled.
#[derive(Debug)]
pub(super) struct Loan {
    size: usize,
    /// The rendered response, or `None` after the loan has been recalled.
    bytes: Mutex<Option<Bytes>>,
}

/// All large rendered responses that clients are reading.
#[derive(Debug)]
pub(crate) struct Loans {
    bytes_max: usize,
    /// The loans (large rendered responses that clients are reading) that have not been recalled.
    /// Ordered by the time at which they were lent, the oldest first.
    lent: Mutex<VecDeque<Weak<Loan>>>,
}

/// A rendered response that one client is reading.
#[derive(Debug)]
pub(super) enum Reading {
    /// A small rendered response that has not been read yet.
    Small(Bytes),
    /// A large rendered response, of which `read` bytes have been read.
    Large { loan: Arc<Loan>, read: usize },
    /// The end of a rendered response.
    End,
}

/// The error returned to the reader of a loan (a large rendered response that clients are reading)
/// that was recalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recalled;

impl Default for Loans {
    fn default() -> Self {
        Self::new(LENT_BYTES_MAX)
    }
}

impl Loans {
    /// Creates an empty collection of loans (large rendered responses that clients are reading).
    /// All loans together may have at most `bytes_max` bytes.
    fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            lent: Mutex::default(),
        }
    }

    /// Begins to send a rendered response to a client. If all loans (large responses that clients
    /// are reading) together become too large, recalls the oldest ones.
    pub(super) fn lend(&self, bytes: Bytes) -> Reading {
        if bytes.len() <= PIECE_BYTES_MAX {
            return Reading::Small(bytes);
        }
        let mut lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        // Removes the loan of this rendering, which is added again at the end, and the loans that
        // nobody reads any more.
        let mut same = None;
        let mut total = bytes.len();
        lent.retain(|loan| match loan.upgrade() {
            None => false,
            Some(loan) if loan.is_of(&bytes) => {
                same = Some(loan);
                false
            }
            Some(loan) => {
                total += loan.size;
                true
            }
        });
        while total > self.bytes_max
            && let Some(oldest) = lent.pop_front()
        {
            if let Some(oldest) = oldest.upgrade() {
                total -= oldest.size;
                oldest.recall();
            }
        }
        let loan = same.unwrap_or_else(|| Arc::new(Loan::new(bytes)));
        lent.push_back(Arc::downgrade(&loan));
        Reading::Large { loan, read: 0 }
    }
}

impl Loan {
    fn new(bytes: Bytes) -> Self {
        Self {
            size: bytes.len(),
            bytes: Mutex::new(Some(bytes)),
        }
    }

    fn bytes(&self) -> MutexGuard<'_, Option<Bytes>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if this loan (a large rendered response that clients are reading) lends the
    /// memory of `bytes`. Other memory with equal bytes does not count.
    fn is_of(&self, bytes: &Bytes) -> bool {
        let mine = self.bytes();
        mine.as_ref()
            .is_some_and(|mine| mine.as_ptr() == bytes.as_ptr())
    }

    fn recall(&self) {
        *self.bytes() = None;
    }
}

impl Reading {
    /// Returns the number of bytes that have not been read yet.
    pub(super) fn left(&self) -> usize {
        match self {
            Self::Small(bytes) => bytes.len(),
            Self::Large { loan, read } => loan.size - read,
            Self::End => 0,
        }
    }

    /// Returns the next piece of the rendered response, or `None` at its end. Returns an error if
    /// the loan (a large rendered response that clients are reading) was recalled.
    pub(super) fn next(&mut self) -> Option<Result<Bytes, Recalled>> {
        match std::mem::replace(self, Self::End) {
            Self::End => None,
            Self::Small(bytes) => Some(Ok(bytes)),
            Self::Large { loan, read } => {
                // The piece is a copy. A part of the rendering would keep the whole rendering.
                let piece = loan.bytes().as_ref().map(|bytes| {
                    let end = bytes.len().min(read + PIECE_BYTES_MAX);
                    Bytes::copy_from_slice(&bytes[read..end])
                });
                let Some(piece) = piece else {
                    return Some(Err(Recalled));
                };
                let read = read + piece.len();
                if read < loan.size {
                    *self = Self::Large { loan, read };
                }
                Some(Ok(piece))
            }
        }
    }
}

impl fmt::Display for Recalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the client was too slow, and the memory of its answer was needed for others")
    }
}

impl std::error::Error for Recalled {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Size of the rendered responses in these tests, in bytes: two whole pieces and a part.
    const SIZE: usize = 2 * PIECE_BYTES_MAX + 10;

    fn rendering(byte: u8) -> Bytes {
        vec![byte; SIZE].into()
    }

    fn read_all(mut reading: Reading) -> Result<Vec<u8>, Recalled> {
        let mut all = Vec::new();
        while let Some(piece) = reading.next() {
            all.extend_from_slice(&piece?);
        }
        Ok(all)
    }

    #[test]
    fn a_rendering_is_read_in_pieces() {
        let loans = Loans::new(usize::MAX);
        let mut reading = loans.lend(rendering(7));
        assert_eq!(reading.left(), SIZE);
        let first = reading.next().expect("it is not empty");
        assert_eq!(first.map(|piece| piece.len()), Ok(PIECE_BYTES_MAX));
        assert_eq!(reading.left(), SIZE - PIECE_BYTES_MAX);
        assert_eq!(read_all(reading), Ok(vec![7; SIZE - PIECE_BYTES_MAX]));
        let small = Bytes::from_static(b"small");
        assert_eq!(read_all(loans.lend(small)).as_deref(), Ok(&b"small"[..]));
    }

    #[test]
    fn the_oldest_loans_are_recalled_if_all_are_too_large() {
        let loans = Loans::new(3 * SIZE);
        let mut readings: Vec<_> = (0..3).map(|byte| loans.lend(rendering(byte))).collect();
        assert!(
            readings
                .iter_mut()
                .all(|reading| reading.next().is_some_and(|p| p.is_ok()))
        );
        let newest = loans.lend(rendering(3));
        let results: Vec<_> = readings.into_iter().map(read_all).collect();
        assert_eq!(results[0], Err(Recalled));
        assert!(results[1].is_ok() && results[2].is_ok());
        assert_eq!(read_all(newest), Ok(vec![3; SIZE]));
        // A rendering that is too large alone can still be read.
        let loans = Loans::new(SIZE - 1);
        assert_eq!(read_all(loans.lend(rendering(4))), Ok(vec![4; SIZE]));
    }

    #[test]
    fn readers_of_one_rendering_share_a_loan_and_free_it_together() {
        let loans = Loans::new(2 * SIZE);
        let shared = rendering(0);
        let first = loans.lend(shared.clone());
        let other = loans.lend(rendering(1));
        let readings: Vec<_> = (0..10).map(|_| loans.lend(shared.clone())).collect();
        assert_eq!(loans.lent.lock().expect("nothing panics").len(), 2);
        // The shared rendering was lent last, so the other one is recalled.
        let newest = loans.lend(rendering(2));
        assert_eq!(read_all(other), Err(Recalled));
        assert!(
            readings
                .into_iter()
                .chain([first, newest])
                .all(|r| read_all(r).is_ok())
        );
        // Only this test still has the bytes.
        assert!(shared.is_unique());
    }
}
