//! Messages that come later, and messages because nothing came.

pub(crate) mod receive_timeout;
pub(crate) mod timer;
