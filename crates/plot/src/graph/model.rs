//! A graph, as it is given.

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// What stands in it.
    pub name: String,
    /// What stands below that, smaller: a shape.
    pub detail: String,
    /// What it is part of, where that is known: a module.
    pub group: Option<String>,
    /// Is it pointed out?
    pub is_marked: bool,
    /// What is said of it where a pointer rests.
    pub said: String,
}

/// A use of what a node gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// The node that gives, by its place.
    pub from: usize,
    /// The node that takes.
    pub to: usize,
    /// What stands beside it: a shape.
    pub label: String,
}

/// A graph that is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// What stands above.
    pub title: String,
    /// Its nodes, operands before their users as far as that is possible.
    pub nodes: Vec<Node>,
    /// Its edges.
    pub edges: Vec<Edge>,
    /// What is said of the marked nodes.
    pub mark: String,
    /// What is said below.
    pub notes: Vec<String>,
}
