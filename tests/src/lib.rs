//! Garrick's tests, which are in the folder `tests` of this package.
//!
//! This crate root tests the programs in the guides for people who know other libraries. These
//! programs are not tested in the facade, because they need the other libraries.
#![forbid(unsafe_code)]

/// Runs the programs of a guide: those with tokio's channels, and the same programs with Garrick.
#[cfg(doctest)]
#[doc = include_str!("../../docs/from-channels.md")]
pub struct FromChannels;

/// Runs the programs of a guide: those with actix, and the same programs with Garrick.
#[cfg(doctest)]
#[doc = include_str!("../../docs/from-actix.md")]
pub struct FromActix;

/// Runs the programs of a guide: those with kameo, and the same programs with Garrick.
#[cfg(doctest)]
#[doc = include_str!("../../docs/from-kameo.md")]
pub struct FromKameo;

/// Runs the programs of a guide: those with ractor, and the same programs with Garrick.
#[cfg(doctest)]
#[doc = include_str!("../../docs/from-ractor.md")]
pub struct FromRactor;
