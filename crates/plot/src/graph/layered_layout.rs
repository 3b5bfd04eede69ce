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
    let mut passed: Vec<Vec<usize>> = Vec::with_capacity(edges.len());
    for (from, to) in edges {
        let layers = layer.get(*from).copied().zip(layer.get(*to).copied());
        let (first, last) = layers.unwrap_or_default();
        let mut way = Vec::new();
        let mut before = *from;
        if last - first.min(last) <= MAX_PASSED_LAYERS {
            for layer in first + 1..last {
                let place = items.len();
                items.push(LayerItem {
                    layer,
                    width: 0.35 * gap,
                    above: Vec::new(),
                    below: Vec::new(),
                    x: 0.0,
                });
                connect_items(&mut items, before, place);
                way.push(place);
                before = place;
            }
            connect_items(&mut items, before, *to);
        }
        passed.push(way);
    }
    let count = layer.iter().map(|layer| layer + 1).max().unwrap_or(0);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (place, item) in items.iter().enumerate() {
        if let Some(row) = rows.get_mut(item.layer) {
            row.push(place);
        }
    }
    order_layers(&items, &mut rows);
    let width = shift_layers(&mut items, &rows, gap);
    let at = |place: &usize| {
        items
            .get(*place)
            .map_or((0, 0.0), |item| (item.layer, item.x))
    };
    GraphLayout {
        nodes: (0..widths.len()).map(|place| at(&place)).collect(),
        edges: passed
            .iter()
            .map(|way| way.iter().map(at).collect())
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
        if let Some(own) = layer.get_mut(*to) {
            *own = (*own).max(above + 1);
        }
    }
    // A second pass in reverse order of operands, whose users already have their layers.
    sorted.sort_by_key(|(from, to)| (std::cmp::Reverse(*from), *to));
    for same in sorted.chunk_by(|a, b| a.0 == b.0) {
        let users = same.iter().filter_map(|(_, to)| layer.get(*to));
        let first = users.min().copied();
        let place = same.first().map(|(from, _)| *from);
        if let Some((own, first)) = place.and_then(|place| layer.get_mut(place)).zip(first) {
            *own = first.saturating_sub(1);
        }
    }
    layer
}

/// Orders each layer by the mean position of neighbours in the previous layer, downwards and upwards.
fn order_layers(items: &[LayerItem], rows: &mut [Vec<usize>]) {
    let mut places = vec![0.0; items.len()];
    let number = |row: &[usize], places: &mut Vec<f64>| {
        for (order, place) in row.iter().enumerate() {
            if let Some(at) = places.get_mut(*place) {
                *at = float(order);
            }
        }
    };
    for row in rows.iter() {
        number(row, &mut places);
    }
    for sweep in 0..ORDER_SWEEPS {
        let is_down = sweep % 2 == 0;
        let count = rows.len();
        for step in 0..count {
            let layer = if is_down { step } else { count - 1 - step };
            let Some(row) = rows.get_mut(layer) else {
                continue;
            };
            let key = |place: &usize| {
                let item = items.get(*place);
                let near = item.map(|item| if is_down { &item.above } else { &item.below });
                let own = places.get(*place).copied().unwrap_or_default();
                let Some(near) = near.filter(|near| !near.is_empty()) else {
                    return own;
                };
                let sum: f64 = near.iter().filter_map(|place| places.get(*place)).sum();
                sum / float(near.len())
            };
            let mut keyed: Vec<(f64, usize)> =
                row.iter().map(|place| (key(place), *place)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            *row = keyed.into_iter().map(|(_, place)| place).collect();
            number(row, &mut places);
        }
    }
}

/// Moves the items of a layer towards their neighbours without changing the order; returns the total width.
fn shift_layers(items: &mut [LayerItem], rows: &[Vec<usize>], gap: f64) -> f64 {
    for row in rows {
        let mut x = 0.0;
        for place in row {
            if let Some(item) = items.get_mut(*place) {
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
    let wanted = |item: &LayerItem| {
        let (first, second) = if is_down {
            (&item.above, &item.below)
        } else {
            (&item.below, &item.above)
        };
        let near = if first.is_empty() { second } else { first };
        let mut at: Vec<f64> = near
            .iter()
            .filter_map(|place| items.get(*place))
            .map(|item| item.x)
            .collect();
        at.sort_by(f64::total_cmp);
        let middle = at
            .get(at.len() / 2)
            .copied()
            .zip(at.get(at.len().saturating_sub(1) / 2).copied());
        middle.map_or(item.x, |(a, b)| f64::midpoint(a, b))
    };
    let own: Vec<(f64, f64)> = row
        .iter()
        .filter_map(|place| items.get(*place))
        .map(|item| (wanted(item), item.width))
        .collect();
    let apart = |a: f64, b: f64| (a + b) / 2.0 + gap;
    // The mean of the leftmost and the rightmost placement preserves the order.
    let mut left: Vec<f64> = Vec::with_capacity(own.len());
    for (place, (at, width)) in own.iter().enumerate() {
        let least = place
            .checked_sub(1)
            .and_then(|before| Some(left.get(before)? + apart(own.get(before)?.1, *width)));
        left.push(least.map_or(*at, |least| least.max(*at)));
    }
    let mut right: Vec<f64> = vec![0.0; own.len()];
    for place in (0..own.len()).rev() {
        let Some((at, width)) = own.get(place) else {
            continue;
        };
        let most = own
            .get(place + 1)
            .and_then(|(_, after)| Some(right.get(place + 1)? - apart(*width, *after)));
        if let Some(own) = right.get_mut(place) {
            *own = most.map_or(*at, |most| most.min(*at));
        }
    }
    for ((place, left), right) in row.iter().zip(left).zip(right) {
        if let Some(item) = items.get_mut(*place) {
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
        let laid = layout_graph(&widths, &edges, 8.0);
        let layers: Vec<usize> = laid.nodes.iter().map(|(layer, _)| *layer).collect();
        assert_eq!(layers, [0, 1, 1, 2, 2, 3]);
        assert_eq!(laid.layers, 4);
        assert_eq!(laid.edges[4].len(), 1);
        for a in 0..widths.len() {
            for b in 0..a {
                let ((la, xa), (lb, xb)) = (laid.nodes[a], laid.nodes[b]);
                let apart = (xa - xb).abs() - (widths[a] + widths[b]) / 2.0;
                assert!(la != lb || apart >= 8.0 - 1e-9, "{a} {b} {apart}");
            }
        }
        let ends = laid
            .nodes
            .iter()
            .zip(&widths)
            .map(|((_, x), width)| x + width / 2.0);
        assert!(ends.clone().fold(0.0, f64::max) <= laid.width + 1e-9);
    }

    #[test]
    fn crossings_are_undone() {
        // Two chains whose nodes are interleaved.
        let edges = [(0, 3), (1, 2), (2, 5), (3, 4)];
        let laid = layout_graph(&[10.0; 6], &edges, 5.0);
        let x = |node: usize| laid.nodes[node].1;
        assert_eq!(x(0) < x(1), x(3) < x(2));
        assert_eq!(x(3) < x(2), x(4) < x(5));
    }

    #[test]
    fn nothing_and_a_thousand_nodes_are_laid_out() {
        assert_eq!(layout_graph(&[], &[], 5.0).layers, 0);
        let edges: Vec<(usize, usize)> = (1..3000)
            .flat_map(|to| [(to - 1, to), (to / 2, to)])
            .collect();
        let laid = layout_graph(&vec![10.0; 3000], &edges, 5.0);
        assert!(laid.nodes.iter().all(|(_, x)| x.is_finite()) && laid.layers == 3000);
    }
}
