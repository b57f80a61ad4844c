//! The weaker orderings of each memory ordering.

/// An ordering that can be weakened. `Relaxed` is the weakest ordering, and cannot be weakened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

/// The access of an operation to its atomic word. It determines the possible orderings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads, including a compare-and-exchange that fails.
    Load,
    Store,
    /// Reads and writes in one step.
    Change,
    /// Accesses no word.
    Fence,
    /// Accesses no word, and exists only in models.
    FenceForLoom,
}

/// Name for a fence that is omitted.
pub(super) const NONE: &str = "none";

impl Strength {
    /// Returns the ordering with this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "Acquire" => Self::Acquire,
            "Release" => Self::Release,
            "AcqRel" => Self::AcqRel,
            "SeqCst" => Self::SeqCst,
            _ => return None,
        })
    }

    /// Returns the name of the ordering.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Acquire => "Acquire",
            Self::Release => "Release",
            Self::AcqRel => "AcqRel",
            Self::SeqCst => "SeqCst",
        }
    }

    /// Returns all orderings that are weaker by one step. For `SeqCst`, also returns the weakest
    /// possibility, because loom may not distinguish `SeqCst` from the ordering that is one step
    /// weaker.
    pub(super) fn weaker(self, access: Access) -> &'static [&'static str] {
        match (self, access) {
            (Self::Acquire | Self::Release, Access::Fence) | (_, Access::FenceForLoom) => &[NONE],
            (Self::Acquire | Self::Release, _) => &["Relaxed"],
            (Self::AcqRel, _) => &["Acquire", "Release"],
            (Self::SeqCst, Access::Load) => &["Acquire", "Relaxed"],
            (Self::SeqCst, Access::Store) => &["Release", "Relaxed"],
            (Self::SeqCst, Access::Change) => &["AcqRel", "Relaxed"],
            (Self::SeqCst, Access::Fence) => &["AcqRel", NONE],
        }
    }
}

/// Returns the name and the access of ordering number `nth` (from 0) among the arguments of
/// `operation`. Returns `None` if `operation` is not an atomic operation, or has fewer orderings.
pub(super) fn operation(operation: &str, nth: usize) -> Option<(String, Access)> {
    let access = match (operation, nth) {
        ("load", 0) => Access::Load,
        ("store", 0) => Access::Store,
        ("fence" | "compiler_fence", 0) => Access::Fence,
        ("swap" | "compare_exchange" | "compare_exchange_weak" | "fetch_update", 0) => {
            Access::Change
        }
        ("fetch_add" | "fetch_sub" | "fetch_and" | "fetch_or" | "fetch_xor", 0) => Access::Change,
        ("fetch_nand" | "fetch_max" | "fetch_min", 0) => Access::Change,
        ("compare_exchange" | "compare_exchange_weak" | "fetch_update", 1) => {
            return Some((format!("{operation}/failure"), Access::Load));
        }
        _ => return None,
    };
    Some((operation.to_owned(), access))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_strength_is_known_by_its_name() {
        for name in ["Acquire", "Release", "AcqRel", "SeqCst"] {
            assert_eq!(Strength::of(name).map(Strength::name), Some(name));
        }
        assert_eq!(Strength::of("Relaxed"), None);
    }

    #[test]
    fn a_load_never_gets_what_only_a_store_may_have() {
        for strength in [Strength::Acquire, Strength::SeqCst] {
            let weaker = strength.weaker(Access::Load);
            assert!(!weaker.contains(&"Release") && !weaker.contains(&"AcqRel"));
        }
        let weaker = Strength::SeqCst.weaker(Access::Store);
        assert!(!weaker.contains(&"Acquire") && !weaker.contains(&"AcqRel"));
    }

    #[test]
    fn a_fence_is_left_out_rather_than_relaxed() {
        for strength in [Strength::Acquire, Strength::Release, Strength::SeqCst] {
            let weaker = strength.weaker(Access::Fence);
            assert!(weaker.contains(&NONE) && !weaker.contains(&"Relaxed"));
        }
    }

    #[test]
    fn the_second_ordering_of_an_exchange_is_a_load() {
        let name = "compare_exchange/failure".to_owned();
        assert_eq!(operation("compare_exchange", 1), Some((name, Access::Load)));
        assert_eq!(operation("load", 1), None);
        assert_eq!(operation("push", 0), None);
    }
}
