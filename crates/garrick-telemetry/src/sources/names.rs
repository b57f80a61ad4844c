//! Shortened names of types, as in the paths of actors, and identifiers of groups of actors.

pub(super) use garrick_actor::short_type_name as short;

/// Identifier of a sponsor (thread pool or thread) in the readings of its source.
pub(super) const SPONSOR: &str = "sponsor";

/// Character that is put before the name of a group of actors if the name would be the identifier
/// of the sponsor.
const MARK: char = '=';

/// Returns the identifier of the group of actors whose type has the name `name`. A program can
/// choose this name, but two names have different identifiers, and none is [`SPONSOR`].
pub(super) fn id_of_group(name: &str) -> String {
    if name.trim_start_matches(MARK) == SPONSOR {
        format!("{MARK}{name}")
    } else {
        name.to_owned()
    }
}
