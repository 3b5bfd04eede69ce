//! Plot of the best time so far.

use std::path::Path;

use tsql_error::{Error, Result};
use tsql_plot::{Categories, ChartKind, Column, ColumnValues, LogAxes, PlotSpec, PlotTable};

use super::curve::CurvePoint;
use super::options::ReplayAxis;
use super::report::{PolicyReplay, Replay, TaskReplay};
use crate::plot_file::{draw, is_png};

/// Maximum number of tasks in a plot.
const MAX_TASKS: usize = 6;

/// Maximum number of characters of a task in the title of a panel.
const MAX_NAME_CHARS: usize = 60;

fn curve(policy: &PolicyReplay, axis: ReplayAxis) -> &[CurvePoint] {
    match axis {
        ReplayAxis::Draws => &policy.draws_curve,
        ReplayAxis::Seconds => &policy.seconds_curve,
    }
}

impl Replay {
    /// Draws the best time so far over the best of the task, with a panel for each of the first six tasks and a band from
    /// the 5 % to the 95 % quantile. The extension selects SVG, or PNG of `png_width` pixels across.
    ///
    /// # Errors
    /// [`Error::Empty`] without a curve, [`Error::Argument`] for another extension, [`Error::Io`] if the file cannot be
    /// written, [`Error::Drawing`] in a build without the feature `plot`.
    pub fn draw(&self, path: &Path, axis: ReplayAxis, png_width: u32) -> Result<()> {
        is_png(path)?;
        let table = self.table(axis).ok_or_else(|| {
            let reason = match axis {
                ReplayAxis::Draws => "no search to plot",
                ReplayAxis::Seconds => "no search to plot: the seconds of draws are unknown",
            };
            Error::Empty(reason.to_owned())
        })?;
        draw(table, &spec(axis), path, png_width)
    }

    /// A row for each point of a curve; `None` without points.
    fn table(&self, axis: ReplayAxis) -> Option<PlotTable> {
        let mut numbers: [Vec<f64>; 4] = Default::default();
        let (mut policies, mut names) = (Categories::default(), Categories::default());
        let has_points = |task: &&TaskReplay| {
            let mut policies = task.policies.iter();
            policies.any(|policy| !curve(policy, axis).is_empty())
        };
        for task in self.tasks.iter().filter(has_points).take(MAX_TASKS) {
            let (name, best) = (panel_name(task), task.best_ns.unwrap_or(f64::NAN));
            for policy in &task.policies {
                let timed = curve(policy, axis).iter();
                for point in timed.filter(|point| point.best_ns.is_some()) {
                    let relative = |ns: Option<f64>| ns.unwrap_or(f64::NAN) / best;
                    let row = [point.best_ns, point.low_ns, point.high_ns].map(relative);
                    let row = [point.at, row[0], row[1], row[2]];
                    numbers
                        .iter_mut()
                        .zip(row)
                        .for_each(|(column, value)| column.push(value));
                    policies.push(Some(policy.policy.name()));
                    names.push(Some(&name));
                }
            }
        }
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            unit: None,
            values,
        };
        let [at, best, low, high] = numbers.map(ColumnValues::Numbers);
        let is_empty = matches!(&at, ColumnValues::Numbers(at) if at.is_empty());
        (!is_empty).then(|| PlotTable {
            columns: vec![
                column(axis.name(), at),
                column("best", best),
                column("low", low),
                column("high", high),
                column("policy", ColumnValues::Words(policies)),
                column("task", ColumnValues::Words(names)),
            ],
            ..PlotTable::default()
        })
    }
}

fn spec(axis: ReplayAxis) -> PlotSpec {
    PlotSpec {
        kind: Some(ChartKind::Step),
        x: Some(axis.name().to_owned()),
        y: Some("best".to_owned()),
        low: Some("low".to_owned()),
        high: Some("high".to_owned()),
        by: Some("policy".to_owned()),
        facet: Some("task".to_owned()),
        log: Some(LogAxes::Xy),
        title: Some("Best time so far".to_owned()),
        y_title: Some("time over best time of the task".to_owned()),
        ..PlotSpec::default()
    }
}

/// Name of a panel: workload key and platform.
fn panel_name(task: &TaskReplay) -> String {
    let mut name: String = task.name.chars().take(MAX_NAME_CHARS).collect();
    name.push_str(" on ");
    name.push_str(&task.platform);
    name
}
