//! Layered graph layout (Sugiyama, Tagawa and Toda 1981).
//!
//! Layers follow the longest path from above. Barycentre sweeps from layer to layer reduce edge crossings. Each node is
//! placed near the middle of its neighbours.

use crate::number::float;

/// Number of sweeps over the layers, for the order and for the positions.
const ORDER_SWEEPS: usize = 12;
const SHIFT_SWEEPS: usize = 24;

/// Maximum number of layers in which a long edge has its own position.
const MAX_PASSED_LAYERS: usize = 24;

/// An item of a layer: a node, or an edge that passes.
#[derive(Clone, Debug)]
struct LayerItem {
    layer: usize,
    width: f64,
    above: Vec<usize>,
    below: Vec<usize>,
    x: f64,
}

/// Layer and centre of each node, and waypoints of each edge.
pub(super) struct GraphLayout {
    /// Layer and horizontal centre of each node.
    pub(super) nodes: Vec<(usize, f64)>,
    /// Layers and positions that each edge passes.
    pub(super) edges: Vec<Vec<(usize, f64)>>,
    pub(super) layers: usize,
    pub(super) width: f64,
}

/// Lays out nodes of these widths with a distance of `gap`. Each edge goes from a node to a later one.
pub(super) fn layout_graph(widths: &[f64], edges: &[(usize, usize)], gap: f64) -> GraphLayout {
    let layer = assign_layers(widths.len(), edges);
    let mut items: Vec<LayerItem> = widths
        .iter()
        .zip(&layer)
        .map(|(width, layer)| LayerItem {
            layer: *layer,
            width: *width,
            above: Vec::new(),
            below: Vec::new(),
            x: 0.0,
        })
        .collect();
    let mut passed_items: Vec<Vec<usize>> = Vec::with_capacity(edges.len());
    for (from, to) in edges {
        let layers = layer.get(*from).copied().zip(layer.get(*to).copied());
        let (first, last) = layers.unwrap_or_default();
        let mut waypoints = Vec::new();
        let mut previous = *from;
        if last - first.min(last) <= MAX_PASSED_LAYERS {
            for layer in first + 1..last {
                let index = items.len();
                items.push(LayerItem {
                    layer,
                    width: 0.35 * gap,
                    above: Vec::new(),
                    below: Vec::new(),
                    x: 0.0,
                });
                connect_items(&mut items, previous, index);
                waypoints.push(index);
                previous = index;
            }
            connect_items(&mut items, previous, *to);
        }
        passed_items.push(waypoints);
    }
    let count = layer.iter().map(|layer| layer + 1).max().unwrap_or(0);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (index, item) in items.iter().enumerate() {
        if let Some(row) = rows.get_mut(item.layer) {
            row.push(index);
        }
    }
    order_layers(&items, &mut rows);
    let width = shift_layers(&mut items, &rows, gap);
    let position = |index: &usize| {
        items
            .get(*index)
            .map_or((0, 0.0), |item| (item.layer, item.x))
    };
    GraphLayout {
        nodes: (0..widths.len()).map(|index| position(&index)).collect(),
        edges: passed_items
            .iter()
            .map(|waypoints| waypoints.iter().map(position).collect())
            .collect(),
        layers: count,
        width,
    }
}

fn connect_items(items: &mut [LayerItem], above: usize, below: usize) {
    if let Some(item) = items.get_mut(above) {
        item.below.push(below);
    }
    if let Some(item) = items.get_mut(below) {
        item.above.push(above);
    }
}

/// Assigns a layer to each node: below all its operands, and just above its first user, so that constants are beside
/// their use. Nodes without users are as high as possible.
fn assign_layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layer = vec![0_usize; count];
    let mut sorted = edges.to_vec();
    // Users come after their operands, so one pass in the order of users is sufficient.
    sorted.sort_by_key(|(from, to)| (*to, *from));
    for (from, to) in &sorted {
        let above = layer.get(*from).copied().unwrap_or_default();
        if let Some(node_layer) = layer.get_mut(*to) {
            *node_layer = (*node_layer).max(above + 1);
        }
    }
    // A second pass in reverse order of operands, whose users already have their layers.
    sorted.sort_by_key(|(from, to)| (std::cmp::Reverse(*from), *to));
    for same in sorted.chunk_by(|a, b| a.0 == b.0) {
        let users = same.iter().filter_map(|(_, to)| layer.get(*to));
        let first = users.min().copied();
        let source = same.first().map(|(from, _)| *from);
        if let Some((node_layer, first)) =
            source.and_then(|source| layer.get_mut(source)).zip(first)
        {
            *node_layer = first.saturating_sub(1);
        }
    }
    layer
}

/// Orders each layer by the mean position of neighbours in the previous layer, downwards and upwards.
fn order_layers(items: &[LayerItem], rows: &mut [Vec<usize>]) {
    let mut positions = vec![0.0; items.len()];
    let number = |row: &[usize], positions: &mut Vec<f64>| {
        for (order, index) in row.iter().enumerate() {
            if let Some(position) = positions.get_mut(*index) {
                *position = float(order);
            }
        }
    };
    for row in rows.iter() {
        number(row, &mut positions);
    }
    for sweep in 0..ORDER_SWEEPS {
        let is_down = sweep % 2 == 0;
        let count = rows.len();
        for step in 0..count {
            let layer = if is_down { step } else { count - 1 - step };
            let Some(row) = rows.get_mut(layer) else {
                continue;
            };
            let key = |index: &usize| {
                let item = items.get(*index);
                let neighbours = item.map(|item| if is_down { &item.above } else { &item.below });
                let position = positions.get(*index).copied().unwrap_or_default();
                let Some(neighbours) = neighbours.filter(|neighbours| !neighbours.is_empty())
                else {
                    return position;
                };
                let sum: f64 = neighbours
                    .iter()
                    .filter_map(|index| positions.get(*index))
                    .sum();
                sum / float(neighbours.len())
            };
            let mut keyed: Vec<(f64, usize)> =
                row.iter().map(|index| (key(index), *index)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            *row = keyed.into_iter().map(|(_, index)| index).collect();
            number(row, &mut positions);
        }
    }
}

/// Moves the items of a layer towards their neighbours without changing the order; returns the total width.
fn shift_layers(items: &mut [LayerItem], rows: &[Vec<usize>], gap: f64) -> f64 {
    for row in rows {
        let mut x = 0.0;
        for index in row {
            if let Some(item) = items.get_mut(*index) {
                item.x = x + item.width / 2.0;
                x += item.width + gap;
            }
        }
    }
    for sweep in 0..SHIFT_SWEEPS {
        let is_down = sweep % 2 == 0;
        for step in 0..rows.len() {
            let layer = if is_down { step } else { rows.len() - 1 - step };
            if let Some(row) = rows.get(layer) {
                shift_layer(items, row, gap, is_down);
            }
        }
    }
    let left = items
        .iter()
        .map(|item| item.x - item.width / 2.0)
        .fold(f64::MAX, f64::min);
    let left = if left == f64::MAX { 0.0 } else { left };
    for item in items.iter_mut() {
        item.x -= left;
    }
    items
        .iter()
        .map(|item| item.x + item.width / 2.0)
        .fold(0.0, f64::max)
}

/// Places a layer as near to its targets as its order allows.
fn shift_layer(items: &mut [LayerItem], row: &[usize], gap: f64, is_down: bool) {
    let target = |item: &LayerItem| {
        let (first, second) = if is_down {
            (&item.above, &item.below)
        } else {
            (&item.below, &item.above)
        };
        let neighbours = if first.is_empty() { second } else { first };
        let mut positions: Vec<f64> = neighbours
            .iter()
            .filter_map(|index| items.get(*index))
            .map(|item| item.x)
            .collect();
        positions.sort_by(f64::total_cmp);
        let middle = positions.get(positions.len() / 2).copied().zip(
            positions
                .get(positions.len().saturating_sub(1) / 2)
                .copied(),
        );
        middle.map_or(item.x, |(a, b)| f64::midpoint(a, b))
    };
    let targets: Vec<(f64, f64)> = row
        .iter()
        .filter_map(|index| items.get(*index))
        .map(|item| (target(item), item.width))
        .collect();
    let distance = |a: f64, b: f64| (a + b) / 2.0 + gap;
    // The mean of the leftmost and the rightmost placement preserves the order.
    let mut left: Vec<f64> = Vec::with_capacity(targets.len());
    for (index, (target, width)) in targets.iter().enumerate() {
        let minimum = index.checked_sub(1).and_then(|previous| {
            Some(left.get(previous)? + distance(targets.get(previous)?.1, *width))
        });
        left.push(minimum.map_or(*target, |minimum| minimum.max(*target)));
    }
    let mut right: Vec<f64> = vec![0.0; targets.len()];
    for index in (0..targets.len()).rev() {
        let Some((target, width)) = targets.get(index) else {
            continue;
        };
        let maximum = targets
            .get(index + 1)
            .and_then(|(_, after)| Some(right.get(index + 1)? - distance(*width, *after)));
        if let Some(position) = right.get_mut(index) {
            *position = maximum.map_or(*target, |maximum| maximum.min(*target));
        }
    }
    for ((index, left), right) in row.iter().zip(left).zip(right) {
        if let Some(item) = items.get_mut(*index) {
            item.x = f64::midpoint(left, right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_below_what_they_use_and_nothing_overlaps() {
        // A diamond with a long edge, and a constant with a late use.
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (3, 5), (4, 5)];
        let widths = [30.0, 40.0, 50.0, 20.0, 10.0, 30.0];
        let layout = layout_graph(&widths, &edges, 8.0);
        let layers: Vec<usize> = layout.nodes.iter().map(|(layer, _)| *layer).collect();
        assert_eq!(layers, [0, 1, 1, 2, 2, 3]);
        assert_eq!(layout.layers, 4);
        assert_eq!(layout.edges[4].len(), 1);
        for a in 0..widths.len() {
            for b in 0..a {
                let ((la, xa), (lb, xb)) = (layout.nodes[a], layout.nodes[b]);
                let distance = (xa - xb).abs() - (widths[a] + widths[b]) / 2.0;
                assert!(la != lb || distance >= 8.0 - 1e-9, "{a} {b} {distance}");
            }
        }
        let ends = layout
            .nodes
            .iter()
            .zip(&widths)
            .map(|((_, x), width)| x + width / 2.0);
        assert!(ends.clone().fold(0.0, f64::max) <= layout.width + 1e-9);
    }

    #[test]
    fn crossings_are_removed() {
        // Two chains whose nodes are interleaved.
        let edges = [(0, 3), (1, 2), (2, 5), (3, 4)];
        let layout = layout_graph(&[10.0; 6], &edges, 5.0);
        let x = |node: usize| layout.nodes[node].1;
        assert_eq!(x(0) < x(1), x(3) < x(2));
        assert_eq!(x(3) < x(2), x(4) < x(5));
    }

    #[test]
    fn nothing_and_a_thousand_nodes_are_laid_out() {
        assert_eq!(layout_graph(&[], &[], 5.0).layers, 0);
        let edges: Vec<(usize, usize)> = (1..3000)
            .flat_map(|to| [(to - 1, to), (to / 2, to)])
            .collect();
        let layout = layout_graph(&vec![10.0; 3000], &edges, 5.0);
        assert!(layout.nodes.iter().all(|(_, x)| x.is_finite()) && layout.layers == 3000);
    }
}
