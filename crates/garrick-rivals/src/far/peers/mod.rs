//! The contenders that run in this program: the receiving and the sending node of each.

mod frame;

pub(super) mod garrick;
pub(super) mod nats;
pub(super) mod ractor;
pub(super) mod tcp;
