//! Suggestions of known names that are similar to an unknown name.

/// Minimum similarity of a suggested name, from 0 to 1. The command line parser uses the same
/// value.
const LIKENESS_MIN: f64 = 0.7;

/// Similarity of two names that differ by a single slip: one letter is missing, additional or
/// wrong, or two neighboring letters are exchanged.
const SLIP_LIKENESS: f64 = 0.8;

/// Returns the error message for a `name` that is not among the `known` names. The message suggests
/// the most similar name, and lists all names. `kind` is the word for a named thing, such as
/// `suite`.
pub(crate) fn unknown<'a>(
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    let known: Vec<_> = known.into_iter().collect();
    let guess = did_you_mean(name, &known);
    format!(
        "no {kind} is called '{name}'{guess}; the names are: {}",
        known.join(", ")
    )
}

/// Returns a question that suggests the known name most similar to `unknown`. Returns an empty text
/// if no name is similar enough.
#[must_use]
pub fn did_you_mean(unknown: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|name| (likeness(unknown, name), name))
        .filter(|(likeness, _)| *likeness > LIKENESS_MIN)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    nearest.map_or(String::new(), |(_, name)| question(name))
}

/// Returns the similarity of two names, from 0 to 1. Two names that differ by a single slip, such
/// as `tpo` and `top`, count as similar even if they are short.
fn likeness(unknown: &str, name: &str) -> f64 {
    let slips = strsim::damerau_levenshtein(unknown, name);
    let is_slip = slips == 1 && name.len() > 2;
    strsim::jaro_winkler(unknown, name).max(if is_slip { SLIP_LIKENESS } else { 0.0 })
}

/// Returns a question that suggests the given name.
pub(crate) fn question(name: &str) -> String {
    format!(" (did you mean '{name}'?)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_if_it_is_near() {
        let known = ["tell", "tell-named", "rmw"];
        assert_eq!(did_you_mean("tel", &known), " (did you mean 'tell'?)");
        assert_eq!(
            did_you_mean("tell-nmaed", &known),
            " (did you mean 'tell-named'?)"
        );
        assert_eq!(did_you_mean("queue", &known), "");
        assert_eq!(
            did_you_mean("tpo", &["top", "soak"]),
            " (did you mean 'top'?)"
        );
    }
}
