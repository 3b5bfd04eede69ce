//! Axis of names with several slots at each name.

use super::axis::Axis;
use super::axis_labels::labels_fit;
use super::data::ChartData;
use super::style::Style;
use crate::number::float;

/// Names of bars, boxes or violins.
pub(crate) struct GroupedAxis {
    names: Vec<String>,
    /// Maximum number of slots at one name.
    beside: usize,
    /// Whether the names are listed from top to bottom, for lack of horizontal space.
    is_turned: bool,
}

impl GroupedAxis {
    pub(crate) fn new(data: &ChartData, style: &Style) -> Self {
        let names = data.x_names.clone().unwrap_or_else(|| vec![String::new()]);
        let beside = data.panels.iter().map(|panel| panel.series.len()).max();
        let columns = float(data.panels.len().max(1)).sqrt().ceil();
        let slot = 0.8 * style.width / columns.min(2.0) / float(names.len().max(1));
        let least = float(beside.unwrap_or(1))
            * if style.is_terminal() {
                2.0
            } else {
                0.5 * style.label
            };
        let is_turned = !labels_fit(style, &names, slot) || slot < least;
        Self {
            names,
            beside: beside.unwrap_or(1),
            is_turned,
        }
    }

    /// Returns the axes: of the names, and of the values.
    pub(crate) fn axes(&self, title: &str, measured: Axis) -> (Axis, Axis) {
        let is_named = self.names.iter().any(|name| !name.is_empty());
        let words = Axis::categorical(if is_named { title } else { "" }, self.names.clone());
        match self.is_turned {
            true => (measured, words),
            false => (words, measured),
        }
    }

    /// Minimum height, for one line per name and for each slot.
    pub(crate) fn min_height(&self, style: &Style) -> f64 {
        match self.is_turned {
            true => {
                let each = match style.is_terminal() {
                    true => float(self.beside).max(1.0) * style.label,
                    false => (0.75 * float(self.beside) + 0.4).max(1.45) * style.label,
                };
                float(self.names.len()) * each
            }
            false => 0.0,
        }
    }
}

/// Range of a slot among the names.
pub(crate) fn slot_range(name: f64, order: usize, beside: usize) -> (f64, f64) {
    let room = 0.8;
    let each = room / float(beside.max(1));
    let from = name + (1.0 - room) / 2.0 + each * float(order);
    (from, from + each)
}
