//! Rounds in which the contenders are measured alternately, and statistics over the rounds.

use std::time::Duration;

use garrick_measure::{Result, Span};

/// A contender, with the function that runs one of its rounds.
pub(super) struct Contender<P, R> {
    pub(super) name: &'static str,
    pub(super) round: fn(&P) -> Result<R>,
}

/// The results of all rounds. Each entry contains the name of a contender and the results of its
/// rounds.
pub(super) type Rounds<R> = Vec<(&'static str, Vec<R>)>;

/// Runs `rounds` rounds of each contender. Rotates the order, so that a contender does not always
/// run after the same contender.
pub(super) fn in_turns<P, R>(
    contenders: &[Contender<P, R>],
    plan: &P,
    rounds: usize,
) -> Result<Rounds<R>> {
    let mut all: Rounds<R> = contenders
        .iter()
        .map(|contender| (contender.name, Vec::new()))
        .collect();
    for number in 0..rounds {
        for place in 0..contenders.len() {
            let index = (place + number) % contenders.len();
            all[index].1.push((contenders[index].round)(plan)?);
        }
    }
    Ok(all)
}

/// Returns the median of `figure` over the rounds.
pub(super) fn median<R, T: PartialOrd + Copy + Default>(
    rounds: &[R],
    figure: impl Fn(&R) -> T,
) -> T {
    let mut figures: Vec<T> = rounds.iter().map(figure).collect();
    figures.sort_by(|a, b| a.partial_cmp(b).expect("figures are numbers"));
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// Returns the quantile of the sorted `times` at `share`: the median for 0.5, and the maximum for
/// 1.
pub(super) fn quantile(times: &[Duration], share: f64) -> Duration {
    let place = (times.len().saturating_sub(1) as f64 * share).round() as usize;
    times.get(place).copied().unwrap_or_default()
}

/// Returns how many cores were used on average: CPU time divided by wall time.
pub(super) fn busy(span: &Span) -> f64 {
    span.cpu.as_secs_f64() / span.wall.as_secs_f64()
}

/// Formats a time for a table.
pub(super) fn shown(time: Duration) -> String {
    format!("{time:.1?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_all_rounds() {
        let contenders = [1, 2, 3].map(|_| Contender {
            name: "one",
            round: |plan: &u64| Ok(plan + 1),
        });
        let rounds = in_turns(&contenders, &4, 5).expect("nothing fails");
        assert!(rounds.iter().all(|(_, rounds)| *rounds == [5; 5]));
    }

    #[test]
    fn medians_and_quantiles_are_places_in_order() {
        assert_eq!(median(&[3, 1, 2], |round| *round), 2);
        assert_eq!(median(&[] as &[u64], |round| *round), 0);
        let times: Vec<_> = (0..=100).map(Duration::from_secs).collect();
        assert_eq!(quantile(&times, 0.99), Duration::from_secs(99));
        assert_eq!(quantile(&[], 0.5), Duration::ZERO);
    }
}
