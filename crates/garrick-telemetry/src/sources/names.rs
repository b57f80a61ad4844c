//! Shortened names of types, as in the paths of actors.

pub(super) use garrick_actor::short_type_name as short;
