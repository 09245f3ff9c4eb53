//! The ratios to `ping()`, ours beside the historic ones, as an SVG.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Report;
use crate::Outcome;
use crate::cluster::Subject;
use crate::historic::COLUMNS;
use crate::rows::Row;

const SIZE: (u32, u32) = (1100, 560);

/// What is left free between two rows, of 1.
const GAP: f64 = 0.2;

const OURS: RGBColor = RGBColor(200, 60, 30);
const HISTORIC: [RGBColor; 4] = [
    RGBColor(150, 170, 200),
    RGBColor(110, 140, 190),
    RGBColor(60, 100, 170),
    RGBColor(150, 150, 150),
];

/// Bars of one colour: a ratio for each row that has one.
struct Series {
    name: String,
    color: RGBColor,
    ratios: Vec<Option<f64>>,
}

pub(crate) fn draw(report: &Report, path: &Path) -> Outcome<()> {
    let series = series(report);
    let ratios = series.iter().flat_map(|one| one.ratios.iter().flatten());
    let highest = ratios.copied().fold(2.0, f64::max);
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(format!("One operation / ping(): {}", report.config), ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(44)
        .build_cartesian_2d(0.0..Row::ALL.len() as f64, 0.0..highest * 1.05)?;
    chart.configure_mesh().disable_x_mesh().x_labels(0).y_desc("times as long as ping()").draw()?;
    let width = (1.0 - GAP) / series.len() as f64;
    for (place, one) in series.iter().enumerate() {
        let left = GAP / 2.0 + width * place as f64;
        let bars = one.ratios.iter().enumerate().filter_map(|(row, ratio)| {
            let left = row as f64 + left;
            Some(Rectangle::new([(left, 0.0), (left + width, (*ratio)?)], one.color.filled()))
        });
        let color = one.color;
        chart
            .draw_series(bars)?
            .label(&one.name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], color.filled()));
    }
    let (area, style) = (chart.plotting_area(), ("sans-serif", 14).into_text_style(&root));
    let below = style.pos(Pos::new(HPos::Center, VPos::Top));
    for (place, row) in Row::ALL.into_iter().enumerate() {
        let (x, y) = area.map_coordinate(&(place as f64 + 0.5, 0.0));
        root.draw_text(row.name(), &below, (x, y + 8))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE)
        .border_style(BLACK)
        .draw()?;
    Ok(root.present()?)
}

fn series(report: &Report) -> Vec<Series> {
    let ours = Series {
        name: "rmi, here".to_owned(),
        color: OURS,
        ratios: Row::ALL.map(|row| Some(report.ratio_to_ping(Subject::Row(row))?.value)).to_vec(),
    };
    let historic = COLUMNS.iter().zip(HISTORIC).map(|(column, color)| Series {
        name: column.name.to_owned(),
        color,
        ratios: Row::ALL.map(|row| column.ratio_to_ping(row)).to_vec(),
    });
    std::iter::once(ours).chain(historic).collect()
}
