//! A median, and how well it is known.

/// The median, with a 95 % confidence interval from order statistics: it assumes nothing about
/// how the values are distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Median {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Median {
    /// `None` of no values.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let count = values.len();
        let middle = *values.get(count / 2)?;
        let value =
            if count % 2 == 1 { middle } else { (middle + values.get(count / 2 - 1)?) / 2.0 };
        // The number of values below the true median is binomial; its standard deviation is
        // √n/2, and 1.96 of them to each side make 95 %.
        let half = count as f64 / 2.0;
        let below = (half - 0.98 * (count as f64).sqrt()).floor().max(0.0) as usize;
        let (low, high) = (values.get(below)?, values.get(count - 1 - below)?);
        Some(Self { value, low: *low, high: *high })
    }
}
