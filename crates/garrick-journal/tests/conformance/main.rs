//! Tests of the rules of logs, for each log of this crate.
#![forbid(unsafe_code)]

mod store;

garrick_journal::log_conformance! {
    mod folder: Some(crate::store::Folders::new());
    mod simulated_disk: Some(crate::store::Simulated::new());
    mod memory: Some(crate::store::Memory::default());
}

#[cfg(feature = "sqlite")]
garrick_journal::log_conformance! {
    mod sqlite: Some(crate::store::Databases::new());
}
