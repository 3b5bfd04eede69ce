//! Axis of names with several slots at each name.

use super::axis::Axis;
use super::axis_labels::labels_fit;
use super::data::ChartData;
use super::marks::NamedColumn;
use super::style::Style;
use crate::number::float;

/// Names of bars, boxes or violins.
pub(crate) struct GroupedAxis {
    names: Vec<String>,
    /// Maximum number of slots at one name.
    slots: usize,
    /// Whether the names are listed from top to bottom, for lack of horizontal space.
    is_horizontal: bool,
}

impl GroupedAxis {
    pub(crate) fn new(data: &ChartData, style: &Style) -> Self {
        let names = data.x_names.clone().unwrap_or_else(|| vec![String::new()]);
        let slots = data.panels.iter().map(|panel| panel.series.len()).max();
        let columns = float(data.panels.len().max(1)).sqrt().ceil();
        let slot = 0.8 * style.width / columns.min(2.0) / float(names.len().max(1));
        let min_slot = float(slots.unwrap_or(1))
            * if style.is_terminal() {
                2.0
            } else {
                0.5 * style.label
            };
        let is_horizontal = !labels_fit(style, &names, slot) || slot < min_slot;
        Self {
            names,
            slots: slots.unwrap_or(1),
            is_horizontal,
        }
    }

    /// Returns the axes: of the names, and of the values.
    pub(crate) fn axes(&self, column: NamedColumn<'_>, value_axis: Axis) -> (Axis, Axis) {
        let is_named = self.names.iter().any(|name| !name.is_empty());
        let words = match is_named {
            true => column.categorical(self.names.clone()),
            false => Axis::categorical("", self.names.clone()),
        };
        match self.is_horizontal {
            true => (value_axis, words),
            false => (words, value_axis),
        }
    }

    /// Minimum height, for one line per name and for each slot.
    pub(crate) fn min_height(&self, style: &Style) -> f64 {
        match self.is_horizontal {
            true => {
                let each = match style.is_terminal() {
                    true => float(self.slots).max(1.0) * style.label,
                    false => (0.75 * float(self.slots) + 0.4).max(1.45) * style.label,
                };
                float(self.names.len()) * each
            }
            false => 0.0,
        }
    }
}

/// Fraction of the space of a name that its slots take.
const SLOT_ROOM: f64 = 0.8;

/// Fraction of the space of a name that its bars take: each is at most as thick as five labels.
pub(crate) fn bar_room(style: &Style, space: f64, slots: usize) -> f64 {
    const MAX_LABELS: f64 = 5.0;
    let max_thickness = MAX_LABELS * style.label * float(slots.max(1));
    SLOT_ROOM.min(max_thickness / space)
}

/// Range of a slot among the names.
pub(crate) fn slot_range(name: f64, order: usize, slots: usize) -> (f64, f64) {
    slot_range_in(SLOT_ROOM, name, (order, slots))
}

/// As [`slot_range`], for slots that take the fraction `room` of the space of the name.
pub(crate) fn slot_range_in(room: f64, name: f64, (order, slots): (usize, usize)) -> (f64, f64) {
    let each = room / float(slots.max(1));
    let from = name + (1.0 - room) / 2.0 + each * float(order);
    (from, from + each)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::PlotSize;

    #[test]
    fn few_bars_are_not_wide() {
        let style = Style::for_size(PlotSize::Column);
        let room = bar_room(&style, 300.0, 1);
        assert!((room * 300.0 - 90.0).abs() < 1e-9, "{room}");
        let (from, to) = slot_range_in(room, 1.0, (0, 1));
        assert!((f64::midpoint(from, to) - 1.5).abs() < 1e-9);
        assert!((bar_room(&style, 300.0, 4) - SLOT_ROOM).abs() < 1e-9);
    }
}
