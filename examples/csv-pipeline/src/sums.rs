//! Sums of sales.

use std::fmt;

use crate::sale::{REGIONS, Sale};

/// Sum of the sales of a region.
#[derive(Clone, Copy, Default)]
struct Sum {
    sales: u64,
    items: u64,
    cents: u64,
}

/// Sums of all regions.
#[derive(Clone, Default)]
pub(crate) struct Sums([Sum; REGIONS.len()]);

impl Sums {
    pub(crate) fn add(&mut self, sale: &Sale<'_>) {
        let sum = &mut self.0[sale.region];
        sum.sales += 1;
        sum.items += u64::from(sale.count);
        sum.cents += u64::from(sale.count) * u64::from(sale.cents);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (sum, other) in self.0.iter_mut().zip(&other.0) {
            sum.sales += other.sales;
            sum.items += other.items;
            sum.cents += other.cents;
        }
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (
            region,
            Sum {
                sales,
                items,
                cents,
            },
        ) in REGIONS.iter().zip(&self.0)
        {
            writeln!(f, "{region}: {sales} sales, {items} items, {cents} cents")?;
        }
        Ok(())
    }
}
