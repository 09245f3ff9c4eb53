//! The historic figures, in µs: KaRMI's ticket 147.
//!
//! "Eager" is from before its fix, "lazy" from after. What follows ± is as printed there.

use crate::rows::Row;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub(crate) mean_us: f64,
    pub(crate) plus_minus_us: Option<f64>,
}

pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// In the order of [`Row::ALL`]; the eighth row is ours.
    figures: [Option<Figure>; 7],
}

impl Column {
    pub(crate) fn figure(&self, row: Row) -> Option<Figure> {
        let index = Row::ALL.iter().position(|&known| known == row)?;
        self.figures.get(index).copied().flatten()
    }

    /// To the `ping()` of the same column.
    pub(crate) fn ratio_to_ping(&self, row: Row) -> Option<f64> {
        Some(self.figure(row)?.mean_us / self.figure(Row::Ping)?.mean_us)
    }
}

const fn exactly(mean_us: f64) -> Option<Figure> {
    Some(Figure { mean_us, plus_minus_us: None })
}

const fn about(mean_us: f64, plus_minus_us: f64) -> Option<Figure> {
    Some(Figure { mean_us, plus_minus_us: Some(plus_minus_us) })
}

pub(crate) const COLUMNS: [Column; 4] = [
    Column {
        name: "KaRMI eager Myrinet",
        figures: [
            exactly(93.008),
            exactly(264.632),
            exactly(238.974),
            None,
            exactly(1049.859),
            exactly(1020.029),
            exactly(168.109),
        ],
    },
    Column {
        name: "KaRMI lazy Myrinet",
        figures: [
            about(93.441, 1.101),
            about(260.262, 4.386),
            about(237.287, 20.265),
            about(358.264, 55.810),
            about(536.787, 36.892),
            about(565.000, 50.006),
            about(172.106, 0.168),
        ],
    },
    Column {
        name: "KaRMI lazy TCP",
        figures: [
            about(200.295, 1.855),
            about(416.443, 4.801),
            about(328.531, 24.257),
            about(538.933, 111.142),
            about(709.770, 69.030),
            about(730.650, 79.527),
            about(359.134, 0.326),
        ],
    },
    Column {
        name: "Java RMI TCP",
        figures: [
            about(295.238, 1.102),
            about(628.288, 11.353),
            about(1090.861, 138.926),
            about(2255.411, 135.265),
            about(2224.026, 58.650),
            about(2232.143, 61.107),
            about(586.212, 0.719),
        ],
    },
];
