//! Garrick's tests, one file each beside this crate root.
//!
//! The programs of the guides for people who know other libraries are tested here, and not in the
//! facade, because they need these libraries.
#![forbid(unsafe_code)]

/// Runs the programs with tokio's channels, and the same programs with Garrick.
#[cfg(doctest)]
#[doc = include_str!("../../docs/from-channels.md")]
pub struct FromChannels;

/// Runs the programs with actix, and the same programs with Garrick.
#[cfg(doctest)]
#[doc = include_str!("../../docs/from-actix.md")]
pub struct FromActix;

/// Runs the programs with kameo, and the same programs with Garrick.
#[cfg(doctest)]
#[doc = include_str!("../../docs/from-kameo.md")]
pub struct FromKameo;

/// Runs the programs with ractor, and the same programs with Garrick.
#[cfg(doctest)]
#[doc = include_str!("../../docs/from-ractor.md")]
pub struct FromRactor;
