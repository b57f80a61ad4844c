//! Parses the lines of the CSV file.

use std::fmt;

/// Names of the regions in which sales are made.
pub(crate) const REGIONS: [&str; 4] = ["north", "east", "south", "west"];

/// First line of the CSV file.
pub(crate) const HEAD: &str = "region,product,count,cents";

/// A sale, parsed from one line of the CSV file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sale<'a> {
    /// Index in [`REGIONS`].
    pub(crate) region: usize,
    pub(crate) product: &'a str,
    pub(crate) count: u32,
    /// Price of one item in cents.
    pub(crate) cents: u32,
}

/// Reason why a line is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Fields(usize),
    Region,
    Number(&'static str),
}

/// An invalid line.
#[derive(Clone)]
pub(crate) struct Wrong {
    pub(crate) number: u64,
    pub(crate) line: String,
    pub(crate) why: Why,
}

impl<'a> Sale<'a> {
    /// Parses a line such as `north,tea,2,350`. Fields have no quotes.
    pub(crate) fn parse(line: &'a str) -> Result<Self, Why> {
        let mut fields = line.split(',');
        let (Some(region), Some(product), Some(count), Some(cents), None) = (
            fields.next(),
            fields.next(),
            fields.next(),
            fields.next(),
            fields.next(),
        ) else {
            return Err(Why::Fields(line.split(',').count()));
        };
        let region = REGIONS.iter().position(|known| *known == region);
        Ok(Self {
            region: region.ok_or(Why::Region)?,
            product,
            count: count.parse().map_err(|_| Why::Number("count"))?,
            cents: cents.parse().map_err(|_| Why::Number("cents"))?,
        })
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fields(count) => write!(f, "{count} fields instead of 4"),
            Self::Region => f.write_str("the region is unknown"),
            Self::Number(field) => write!(f, "the field {field} is no number"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Sale, Why};

    #[test]
    fn lines_are_parsed_or_refused_with_the_reason() {
        let sale = Sale {
            region: 0,
            product: "tea",
            count: 2,
            cents: 350,
        };
        assert_eq!(Sale::parse("north,tea,2,350"), Ok(sale));
        for (line, why) in [
            ("", Why::Fields(1)),
            ("north,tea,2", Why::Fields(3)),
            ("north,tea,2,3,4", Why::Fields(5)),
            ("up,tea,2,3", Why::Region),
            ("north,tea,-2,3", Why::Number("count")),
            ("north,tea,2,4294967296", Why::Number("cents")),
        ] {
            assert_eq!(Sale::parse(line), Err(why), "{line}");
        }
    }
}
