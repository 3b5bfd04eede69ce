//! Input graph of a drawing.

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Text in the node.
    pub name: String,
    /// Smaller text below the name, such as a shape.
    pub detail: String,
    /// Group of the node, if known, such as a module.
    pub group: Option<String>,
    /// Whether the node is highlighted.
    pub is_marked: bool,
    /// Tooltip.
    pub said: String,
}

/// Use of a node's output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// Index of the producing node.
    pub from: usize,
    /// Index of the consuming node.
    pub to: usize,
    /// Label, such as a shape.
    pub label: String,
}

/// A graph that is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Title above the graph.
    pub title: String,
    /// Nodes, operands before their users as far as possible.
    pub nodes: Vec<Node>,
    /// Edges.
    pub edges: Vec<Edge>,
    /// Description of the marked nodes.
    pub mark: String,
    /// Notes below the graph.
    pub notes: Vec<String>,
}
