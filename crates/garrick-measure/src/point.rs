//! Parameters, and their values in a sweep.

use std::ops::Index;
use std::str::FromStr;

/// Maximum number of values of one parameter. A larger number is a mistake.
const VALUES_MAX: usize = 256;

/// The values of all parameters at one point of a sweep.
///
/// # Examples
/// ```
/// use garrick_measure::Point;
///
/// let point = Point::default().with("n", 1000);
/// assert_eq!(point["n"], 1000);
/// assert_eq!(point.get("depth"), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Point(Vec<(String, u64)>);

impl Point {
    /// Returns the value of the parameter `name`, or `None` if there is no such parameter.
    pub fn get(&self, name: &str) -> Option<u64> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        Some(*value)
    }

    /// Returns this point with one more parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: u64) -> Self {
        self.0.push((name.to_owned(), value));
        self
    }

    /// Returns the names and values of all parameters, in the order in which they were added.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

/// Returns the value of a parameter that is swept.
///
/// # Panics
/// Panics if there is no parameter with this name. [`Point::get`] returns `None` instead.
impl Index<&str> for Point {
    type Output = u64;

    #[track_caller]
    fn index(&self, name: &str) -> &u64 {
        let found = self.0.iter().find(|(known, _)| known == name);
        &found
            .unwrap_or_else(|| panic!("no parameter '{name}' is swept"))
            .1
    }
}

/// A parameter and all values that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) name: String,
    /// Values of the parameter, in the order in which they are measured.
    pub(crate) values: Vec<u64>,
}

/// Returns every combination of the values of all axes. The last axis changes fastest. If there are
/// no axes, returns one point without parameters.
pub(crate) fn grid(axes: &[Axis]) -> Vec<Point> {
    let mut points = vec![Point::default()];
    for axis in axes {
        let each = |point: &Point| {
            let with = |value: &u64| point.clone().with(&axis.name, *value);
            axis.values.iter().map(with).collect::<Vec<_>>()
        };
        points = points.iter().flat_map(each).collect();
    }
    points
}

/// Parses an axis. `depth=5..24` is every number from 5 to 24, and `n=0..1000+100` is every
/// hundredth number. `n=1..4096*2` doubles the value each time, and `n=1,10,500` lists the values.
impl FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) = text
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| format!("'{text}' is not NAME=VALUES, such as depth=5..24"))?;
        let values = match values.split_once("..") {
            Some((from, rest)) => range(from, rest)?,
            None => values.split(',').map(whole).collect::<Result<_, _>>()?,
        };
        match values.len() {
            0 => Err(format!("'{text}' has no values")),
            count if count > VALUES_MAX => Err(format!(
                "'{text}' has more than {VALUES_MAX} values: use a step such as +100, or a factor \
                 such as *2"
            )),
            _ => Ok(Self {
                name: name.to_owned(),
                values,
            }),
        }
    }
}

/// Parses the values of a range. `rest` is the text after the two dots.
fn range(from: &str, rest: &str) -> Result<Vec<u64>, String> {
    let from = whole(from)?;
    let (to, next): (_, Box<dyn Fn(u64) -> Option<u64>>) = match rest.split_once(['+', '*']) {
        None => (whole(rest)?, Box::new(|value| value.checked_add(1))),
        Some((to, by)) if rest.contains('+') => {
            let step = at_least(1, by)?;
            (
                whole(to)?,
                Box::new(move |value: u64| value.checked_add(step)),
            )
        }
        Some((to, by)) => {
            let factor = at_least(2, by)?;
            if from == 0 {
                return Err("a range with a factor cannot begin at 0".to_owned());
            }
            (
                whole(to)?,
                Box::new(move |value: u64| value.checked_mul(factor)),
            )
        }
    };
    let values = std::iter::successors(Some(from), |value| next(*value));
    // One value more than allowed is enough to see that there are too many.
    Ok(values
        .take_while(|value| *value <= to)
        .take(VALUES_MAX + 1)
        .collect())
}

fn at_least(min: u64, text: &str) -> Result<u64, String> {
    match whole(text)? {
        value if value >= min => Ok(value),
        value => Err(format!("the step or factor {value} is less than {min}")),
    }
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("'{text}' is not a whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<u64> {
        text.parse::<Axis>().unwrap().values
    }

    #[test]
    fn ranges_are_typed_in_four_ways() {
        assert_eq!(values("depth=5..8"), [5, 6, 7, 8]);
        assert_eq!(values("n=0..1000+400"), [0, 400, 800]);
        assert_eq!(values("n=1..20*3"), [1, 3, 9]);
        assert_eq!(values("n=7,1,500"), [7, 1, 500]);
        assert_eq!(
            values("n=18446744073709551614..18446744073709551615").len(),
            2
        );
    }

    #[test]
    fn what_is_wrong_with_a_range_is_said() {
        for (text, word) in [
            ("depth", "NAME=VALUES"),
            ("=1..2", "NAME=VALUES"),
            ("n=a..2", "'a'"),
            ("n=1..b", "'b'"),
            ("n=1,,2", "''"),
            ("n=3..2", "no values"),
            ("n=1..9+0", "less than 1"),
            ("n=1..9*1", "less than 2"),
            ("n=0..9*2", "begin at 0"),
            ("n=0..99999", "256"),
            ("n=-1", "'-1'"),
        ] {
            let said = text.parse::<Axis>().unwrap_err();
            assert!(said.contains(word), "{text}: {said}");
        }
    }

    #[test]
    fn a_grid_has_every_combination() {
        let axis = |text: &str| text.parse::<Axis>().unwrap();
        let points = grid(&[axis("a=1..2"), axis("b=5,6")]);
        let pairs: Vec<_> = points
            .iter()
            .map(|point| (point["a"], point["b"]))
            .collect();
        assert_eq!(pairs, [(1, 5), (1, 6), (2, 5), (2, 6)]);
        assert_eq!(grid(&[]), [Point::default()]);
    }

    #[test]
    #[should_panic(expected = "no parameter 'x' is swept")]
    fn a_parameter_that_is_not_there_is_named() {
        let _ = Point::default()["x"];
    }
}
