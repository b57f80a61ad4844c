//! Conversion of NATS errors into messages of the command line.

use garrick_cluster::nats::NatsError;
use garrick_measure::Result;
use garrick_measure::commands::{Ended, did_you_mean};

/// Converts the error of a failed command into the outcome of this command.
pub(super) fn refusal(error: &NatsError) -> Result<Ended> {
    let why = match error {
        NatsError::PlainText { server } => format!(
            "the connection to {server} would not be encrypted: use `tls://`, --tls, or \
             --plain-text-on-purpose"
        ),
        NatsError::NoCluster { cluster, known } => unknown(
            "cluster",
            cluster,
            known,
            "none of its nodes has used entities on this NATS server",
        ),
        NatsError::NoNode { node, known } => {
            unknown("member", node, known, "the cluster has no members")
        }
        NatsError::Forbidden { why } => {
            return Err(format!(
                "the NATS server does not permit it: {why}. `garrick cluster permissions` prints \
                 what the user needs; --as must have the name for which they were made"
            )
            .into());
        }
        NatsError::Address { .. } | NatsError::Name { .. } => error.to_string(),
        // The command line was right.
        _ => return Err(error.to_string().into()),
    };
    Ok(Ended::Refused(why))
}

/// Returns the error message for a name that is not among the known names.
pub(super) fn unknown(what: &str, name: &str, known: &[String], none: &str) -> String {
    if known.is_empty() {
        return format!("no {what} is called '{name}': {none}");
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let guess = did_you_mean(name, &known);
    let known = known.join(", ");
    format!("no {what} is called '{name}'{guess}; the names are: {known}")
}

#[cfg(test)]
mod tests {
    use super::unknown;

    #[test]
    fn a_name_that_is_similar_is_suggested() {
        let known = ["bank-1", "bank-2"].map(str::to_owned);
        assert_eq!(
            unknown("member", "bamk-1", &known, ""),
            "no member is called 'bamk-1' (did you mean 'bank-1'?); the names are: bank-1, bank-2"
        );
        assert_eq!(
            unknown("member", "a", &[], "there is none"),
            "no member is called 'a': there is none"
        );
    }
}
