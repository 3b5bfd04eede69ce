//! Rendering of a graph.

use std::collections::{HashMap, HashSet};

use super::fold::{FoldedBlock, fold_graph};
use super::layered_layout::{GraphLayout, layout_graph};
use super::model::{Graph, Node};
use crate::number::float;
use crate::scene::{ColourMode, Paint, Scene, Text, Theme, png, svg};
use crate::text;

/// Maximum number of drawn nodes; larger graphs are folded, or cut.
const MAX_NODES: usize = 600;

/// Maximum number of edges with labels.
const MAX_LABELLED_EDGES: usize = 500;

/// Maximum number of groups with their own colours.
const MAX_GROUPS: usize = 11;

const NAME: f64 = 14.0;
const DETAIL: f64 = 11.0;
const TITLE: f64 = 20.0;
const MARGIN: f64 = 20.0;
/// Gap between nodes of a layer.
const GAP: f64 = 14.0;
const LEADING: f64 = 1.35;
/// Maximum width of a name and of a label.
const NAME_ROOM: f64 = 190.0;
const LABEL_ROOM: f64 = 130.0;
/// Maximum number of lines of a note.
const NOTE_LINES: usize = 3;
/// Number of points of a bend.
const BEND: u8 = 8;

impl Graph {
    /// Renders an SVG document that can be zoomed. Its size is that of all nodes with text of 14 units.
    #[must_use]
    pub fn svg(&self, theme: Theme) -> String {
        svg(&self.scene(), ColourMode::Theme(theme))
    }

    /// Renders SVG for an HTML page that defines the colours.
    #[must_use]
    pub fn figure(&self) -> String {
        svg(&self.scene(), ColourMode::Page)
    }

    /// Renders a PNG file, `width` pixels wide.
    ///
    /// # Errors
    /// For more than 16,384 pixels in either direction, which large graphs need. SVG has no such limit.
    pub fn png(&self, theme: Theme, width: Option<u32>) -> Result<Vec<u8>, String> {
        let scene = self.scene();
        let max_scale = 16_000.0 / scene.size.0.max(scene.size.1);
        let default_width = crate::number::round_to_count(scene.size.0 * max_scale.min(2.0)).max(1);
        let default_width = u32::try_from(default_width).unwrap_or(u32::MAX);
        png(&scene, theme, width.unwrap_or(default_width))
    }

    fn scene(&self) -> Scene {
        let (graph, blocks) = fold_graph(self, MAX_NODES);
        let has_labels = graph.edges.len() <= MAX_LABELLED_EDGES
            && graph.edges.iter().any(|edge| !edge.label.is_empty());
        let boxes: Vec<NodeBox> = graph.nodes.iter().map(NodeBox::new).collect();
        let mut widths: Vec<f64> = boxes.iter().map(|node_box| node_box.width).collect();
        if has_labels {
            // Labels below a node need space, too.
            for edge in &graph.edges {
                let lines = text::wrap(&edge.label, DETAIL, LABEL_ROOM, 1);
                let room = lines.first().map_or(0.0, |line| text::width(line, DETAIL));
                if let Some(width) = widths.get_mut(edge.from) {
                    *width = width.max(room);
                }
            }
        }
        let ends: Vec<(usize, usize)> = graph
            .edges
            .iter()
            .map(|edge| (edge.from, edge.to))
            .collect();
        let layout = layout_graph(&widths, &ends, GAP);
        let groups = ColourGroups::from_graph(&graph);
        let node_height = boxes
            .iter()
            .map(|node_box| node_box.height)
            .fold(0.0, f64::max);
        let step = node_height + if has_labels { 44.0 } else { 30.0 };
        let above = heading_height(&graph, &groups);
        let title_width = text::width(&graph.title, TITLE).min(900.0);
        let width = layout.width.max(title_width).max(320.0) + 2.0 * MARGIN;
        let notes = note_lines(&graph, !blocks.is_empty(), width);
        let below = float(notes.len()) * LEADING * DETAIL + 2.0 * MARGIN;
        let height = above + float(layout.layers.max(1)) * step + below;
        let mut renderer = GraphRenderer {
            scene: Scene::new(width.round(), height.round(), &graph.title),
            graph: &graph,
            boxes: &boxes,
            layout: &layout,
            left: (width - layout.width) / 2.0,
            top: above + MARGIN,
            step,
            node_height,
        };
        renderer.heading(&groups);
        renderer.blocks(&blocks);
        renderer.edges(has_labels);
        renderer.nodes(&groups);
        renderer.notes(&notes);
        renderer.scene
    }
}

/// A node with its size.
struct NodeBox {
    name: Vec<String>,
    detail: Vec<String>,
    width: f64,
    height: f64,
}

impl NodeBox {
    fn new(node: &Node) -> Self {
        let name = text::wrap(&node.name, NAME, NAME_ROOM, 2);
        let detail = text::wrap(&node.detail, DETAIL, NAME_ROOM, 1);
        let widths = name.iter().map(|line| text::width(line, NAME));
        let widths = widths.chain(detail.iter().map(|line| text::width(line, DETAIL)));
        let width = widths.fold(16.0, f64::max) + 16.0;
        let height = float(name.len().max(1)) * LEADING * NAME
            + float(detail.len()) * LEADING * DETAIL
            + 8.0;
        Self {
            name,
            detail,
            width,
            height,
        }
    }
}

/// The largest groups, with colours.
struct ColourGroups {
    names: Vec<String>,
    indices: HashMap<String, usize>,
}

impl ColourGroups {
    fn from_graph(graph: &Graph) -> Self {
        let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            if let Some(group) = &node.group {
                counts.entry(group).or_insert((index, 0)).1 += 1;
            }
        }
        let mut all: Vec<(&str, (usize, usize))> = counts.into_iter().collect();
        all.sort_by_key(|(name, (first, count))| (std::cmp::Reverse(*count), *first, *name));
        all.truncate(MAX_GROUPS);
        all.sort_by_key(|(_, (first, _))| *first);
        let names: Vec<String> = all.iter().map(|(name, _)| (*name).to_owned()).collect();
        let indices = names.iter().cloned().zip(0..).collect();
        Self { names, indices }
    }

    /// Series colours without the second one, which marks nodes.
    fn paint(&self, node: &Node) -> Option<Paint> {
        let index = self.indices.get(node.group.as_deref()?)?;
        Some(Self::colour(*index))
    }

    fn colour(index: usize) -> Paint {
        Paint::series(if index == 0 { 0 } else { index + 1 })
    }
}

/// Colour of marked nodes.
const MARKED: Paint = Paint::series(1);

fn heading_height(graph: &Graph, groups: &ColourGroups) -> f64 {
    let title = if graph.title.is_empty() {
        0.0
    } else {
        LEADING * TITLE
    };
    let marked = usize::from(graph.nodes.iter().any(|node| node.is_marked));
    title + float(groups.names.len().div_ceil(4) + marked) * LEADING * NAME + MARGIN
}

struct GraphRenderer<'a> {
    scene: Scene,
    graph: &'a Graph,
    boxes: &'a [NodeBox],
    layout: &'a GraphLayout,
    left: f64,
    top: f64,
    step: f64,
    node_height: f64,
}

impl GraphRenderer<'_> {
    /// Middle of the top of a node, and its height.
    fn node_top(&self, node: usize) -> (f64, f64, f64) {
        let (layer, x) = self.layout.nodes.get(node).copied().unwrap_or_default();
        let height = self.boxes.get(node).map_or(0.0, |node_box| node_box.height);
        let y = self.top + float(layer) * self.step + (self.node_height - height) / 2.0;
        (self.left + x, y, height)
    }

    fn heading(&mut self, groups: &ColourGroups) {
        let mut y = MARGIN;
        for line in text::wrap(
            &self.graph.title,
            TITLE,
            self.scene.size.0 - 2.0 * MARGIN,
            1,
        ) {
            self.scene.text(&line, Text::new(TITLE, MARGIN, y));
            y += LEADING * TITLE;
        }
        let swatch = |scene: &mut Scene, paint: Paint, x: f64, y: f64| {
            scene.rect((x, y), (x + 16.0, y + 10.0), paint);
        };
        if self.graph.nodes.iter().any(|node| node.is_marked) {
            swatch(&mut self.scene, MARKED, MARGIN, y);
            self.scene
                .text(&self.graph.mark, Text::new(NAME, MARGIN + 22.0, y));
            y += LEADING * NAME;
        }
        let room = (self.scene.size.0 - 2.0 * MARGIN) / 4.0;
        for (index, name) in groups.names.iter().enumerate() {
            let x = MARGIN + float(index % 4) * room;
            let y = y + float(index / 4) * LEADING * NAME;
            swatch(&mut self.scene, ColourGroups::colour(index), x, y);
            for line in text::wrap(name, NAME, (room - 30.0).max(40.0), 1) {
                self.scene.text(&line, Text::new(NAME, x + 22.0, y));
            }
        }
    }

    fn blocks(&mut self, blocks: &[FoldedBlock]) {
        for block in blocks {
            let mut bounds = (f64::MAX, f64::MAX, f64::MIN, f64::MIN);
            for node in &block.nodes {
                let (x, y, height) = self.node_top(*node);
                let half = self
                    .boxes
                    .get(*node)
                    .map_or(0.0, |node_box| node_box.width / 2.0);
                bounds = (
                    bounds.0.min(x - half),
                    bounds.1.min(y),
                    bounds.2.max(x + half),
                    bounds.3.max(y + height),
                );
            }
            let (left, top, right, bottom) = bounds;
            if left > right {
                continue;
            }
            let (left, top, right, bottom) = (left - 6.0, top - 6.0, right + 6.0, bottom + 6.0);
            self.scene
                .rect((left, top), (right, bottom), Paint::RULE.with_alpha(0.45));
            let corners = [
                (left, top),
                (right, top),
                (right, bottom),
                (left, bottom),
                (left, top),
            ];
            self.scene.dashes(&corners, Paint::GREY, 1.0, (6.0, 4.0));
            let text = format!("× {}", block.times);
            let placement = Text::new(NAME, right - 4.0, bottom + 2.0).align_right();
            self.scene.text(&text, placement.with_paint(Paint::GREY));
        }
    }

    fn edges(&mut self, has_labels: bool) {
        for (edge, waypoints) in self.graph.edges.iter().zip(&self.layout.edges) {
            let (from_x, from_y, height) = self.node_top(edge.from);
            let (to_x, to_y, _) = self.node_top(edge.to);
            let mut points = vec![(from_x, from_y + height)];
            for (layer, x) in waypoints {
                let y = self.top + float(*layer) * self.step;
                // The edge is straight beside the nodes of a layer.
                let ends = [(self.left + x, y), (self.left + x, y + self.node_height)];
                for end in ends {
                    push_bend(&mut points, end);
                }
            }
            push_bend(&mut points, (to_x, to_y));
            let name = |node: usize| {
                self.graph
                    .nodes
                    .get(node)
                    .map_or("", |node| node.name.as_str())
            };
            let tooltip = format!("{} → {}\n{}", name(edge.from), name(edge.to), edge.label);
            self.scene.set_tooltip(tooltip.trim_end().to_owned());
            self.scene.line(&points, Paint::GREY.with_alpha(0.75), 1.1);
            let tip = [
                (to_x, to_y),
                (to_x - 3.0, to_y - 6.0),
                (to_x + 3.0, to_y - 6.0),
            ];
            self.scene.area(&tip, Paint::GREY);
        }
        if has_labels {
            self.labels();
        }
    }

    /// Draws the label of each node's output once, over the edges.
    fn labels(&mut self) {
        let mut labelled: HashSet<(usize, &str)> = HashSet::new();
        for edge in &self.graph.edges {
            if edge.label.is_empty() || !labelled.insert((edge.from, &edge.label)) {
                continue;
            }
            let (x, y, height) = self.node_top(edge.from);
            for line in text::wrap(&edge.label, DETAIL, LABEL_ROOM, 1) {
                let half = text::width(&line, DETAIL) / 2.0;
                let y = y + height + 5.0;
                let (left, right) = (x - half - 2.0, x + half + 2.0);
                let background = Paint::BACKGROUND.with_alpha(0.85);
                self.scene
                    .rect((left, y - 1.0), (right, y + DETAIL), background);
                let placement = Text::new(DETAIL, x, y).align_centre();
                self.scene.text(&line, placement.with_paint(Paint::GREY));
            }
        }
    }

    fn nodes(&mut self, groups: &ColourGroups) {
        for (index, (node, node_box)) in self.graph.nodes.iter().zip(self.boxes).enumerate() {
            let (x, y, height) = self.node_top(index);
            let (left, right) = (x - node_box.width / 2.0, x + node_box.width / 2.0);
            let attributes = vec![
                ("class", "node".to_owned()),
                ("data-node", index.to_string()),
                ("data-name", node.name.clone()),
            ];
            self.scene.open(attributes);
            let tooltip = if node.said.is_empty() {
                &node.name
            } else {
                &node.said
            };
            let edge = groups.paint(node);
            self.scene.set_tooltip(tooltip.clone());
            self.scene
                .rect((left, y), (right, y + height), Paint::BACKGROUND);
            if let Some(paint) = edge {
                self.scene
                    .rect((left, y), (right, y + height), paint.with_alpha(0.16));
                self.scene.rect((left, y), (left + 5.0, y + height), paint);
            }
            let corners = [
                (left, y),
                (right, y),
                (right, y + height),
                (left, y + height),
                (left, y),
            ];
            let (paint, width) = match node.is_marked {
                true => (MARKED, 2.6),
                false => (Paint::GREY, 1.0),
            };
            self.scene.line(&corners, paint, width);
            let mut line_y = y + 6.0;
            for line in &node_box.name {
                self.scene
                    .text(line, Text::new(NAME, x, line_y).align_centre());
                line_y += LEADING * NAME;
            }
            for line in &node_box.detail {
                let placement = Text::new(DETAIL, x, line_y - 2.0).align_centre();
                self.scene.text(line, placement.with_paint(Paint::GREY));
            }
            self.scene.close();
        }
    }

    fn notes(&mut self, lines: &[String]) {
        let mut y = self.scene.size.1 - MARGIN - float(lines.len()) * LEADING * DETAIL;
        for line in lines {
            let placement = Text::new(DETAIL, MARGIN, y).with_paint(Paint::GREY);
            self.scene.text(line, placement);
            y += LEADING * DETAIL;
        }
    }
}

/// Lines of the notes below a graph of this width.
fn note_lines(graph: &Graph, has_blocks: bool, width: f64) -> Vec<String> {
    let folded = has_blocks
        .then(|| "dashed: a block that repeats in sequence, with its number of repeats".to_owned());
    let notes = folded.iter().chain(&graph.notes);
    let lines = notes.flat_map(|note| text::wrap(note, DETAIL, width - 2.0 * MARGIN, NOTE_LINES));
    lines.collect()
}

/// Appends a curve to a point below, vertical at both ends.
fn push_bend(points: &mut Vec<(f64, f64)>, to: (f64, f64)) {
    let Some(from) = points.last().copied() else {
        return;
    };
    if (from.0 - to.0).abs() > 1.0 {
        for step in 1..BEND {
            let fraction = f64::from(step) / f64::from(BEND);
            let eased = fraction * fraction * (3.0 - 2.0 * fraction);
            points.push((
                from.0 + eased * (to.0 - from.0),
                from.1 + fraction * (to.1 - from.1),
            ));
        }
    }
    points.push(to);
}

#[cfg(test)]
mod tests {
    use super::super::model::Edge;
    use super::*;

    #[test]
    fn nodes_edges_and_blocks_are_rendered() {
        let node = |name: &str, group: Option<&str>, is_marked| Node {
            name: name.to_owned(),
            group: group.map(str::to_owned),
            is_marked,
            ..Node::default()
        };
        let mut graph = Graph {
            title: "a <graph>".to_owned(),
            nodes: vec![
                node("parameter", None, false),
                node("convolution", Some("layer1"), true),
                node("add", Some("layer1"), false),
            ],
            edges: vec![
                Edge {
                    from: 0,
                    to: 1,
                    label: "8×224×224".to_owned(),
                },
                Edge {
                    from: 1,
                    to: 2,
                    ..Edge::default()
                },
            ],
            mark: "configurable".to_owned(),
            // The second note has several lines.
            notes: vec!["a note".to_owned(), format!("{} end", "long ".repeat(20))],
        };
        let svg = graph.svg(Theme::Light);
        for text in [
            "a &lt;graph&gt;",
            ">convolution</text>",
            ">8×224×224</text>",
            ">configurable</text>",
            ">layer1</text>",
            ">a note</text>",
            " end</text>",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(!svg.contains('…'), "{svg}");
        assert_eq!(svg.matches("class=\"node\"").count(), 3);
        assert!(
            svg.contains("viewBox")
                && graph
                    .png(Theme::Dark, None)
                    .unwrap()
                    .starts_with(b"\x89PNG")
        );
        for copy in 0..700 {
            for (name, back) in [("a", 1), ("b", 1), ("c", 1)] {
                let index = graph.nodes.len();
                graph.nodes.push(node(name, None, false));
                graph.edges.push(Edge {
                    from: index - back,
                    to: index,
                    ..Edge::default()
                });
                assert!(copy < 700);
            }
        }
        let svg = graph.svg(Theme::Light);
        assert!(
            svg.contains(">× 700</text>") && svg.matches("class=\"node\"").count() == 6,
            "{}",
            svg.matches("class=\"node\"").count()
        );
        assert!(Graph::default().svg(Theme::Light).contains("</svg>"));
    }
}
