//! Programs of our own making, written as each tool writes them.

mod nodes;
mod te;
mod tir;

use crate::computation::{Computation, NoForm, of_module, of_tensors};
use crate::tvm_json::Graph;
use nodes::Writer;

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum E {
    /// An axis of its stage: first those of its elements, then those of its reduction.
    Axis(usize),
    /// A whole number of the type of axes.
    Whole(i64),
    /// A float.
    Float(f64),
    /// An element of a tensor: first the inputs, then the stages.
    Load(usize, Vec<E>),
    /// `Add`, `LE` and the like.
    Op(&'static str, Box<[E; 2]>),
    /// `if_then_else` or another function; `select`, which is none.
    Call(&'static str, Vec<E>),
    /// The other way round.
    Not(Box<E>),
    /// A number of this type.
    Cast(&'static str, Box<E>),
}

/// A stage.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) shape: Vec<i64>,
    /// By what it combines, over how many, and from where.
    pub(super) reduction: Option<(&'static str, Vec<i64>, f64)>,
    pub(super) body: E,
}

/// A program of floats, of which the last stage comes out.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) dtype: &'static str,
    pub(super) inputs: Vec<Vec<i64>>,
    pub(super) stages: Vec<Stage>,
}

/// A tool, and its version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tool {
    Te,
    Older,
    Later,
}

pub(super) const TOOLS: [Tool; 3] = [Tool::Te, Tool::Older, Tool::Later];

/// A sum, a product and the like.
pub(super) fn op(name: &'static str, a: E, b: E) -> E {
    E::Op(name, Box::new([a, b]))
}

impl Program {
    /// What it computes, as read from what a tool writes.
    pub(super) fn read(&self, tool: Tool) -> Result<Computation, NoForm> {
        of(tool, &self.written(tool))
    }

    /// The form of it, which is the same whoever writes it.
    pub(super) fn text(&self) -> String {
        let texts = TOOLS.map(|tool| self.read(tool).unwrap().text);
        assert_eq!(texts[0], texts[1]);
        assert_eq!(texts[1], texts[2]);
        texts[0].clone()
    }

    /// The graph that a tool writes of it.
    pub(super) fn written(&self, tool: Tool) -> String {
        let mut writer = Writer {
            tool,
            nodes: Vec::new(),
            tensors: Vec::new(),
            axes: Vec::new(),
        };
        writer.node("", "");
        writer.node("root", "");
        let root = match tool {
            Tool::Te => writer.te(self),
            _ => writer.module(self),
        };
        writer.nodes[1] = writer.nodes[root].clone();
        let (nodes, key) = (
            writer.nodes.join(",\n"),
            if tool == Tool::Later {
                "root_index"
            } else {
                "root"
            },
        );
        format!("{{\"{key}\": 1, \"nodes\": [{nodes}]}}")
    }
}

/// What a graph of a tool computes.
pub(super) fn of(tool: Tool, json: &str) -> Result<Computation, NoForm> {
    let graph = Graph::read(json.as_bytes()).unwrap();
    match tool {
        Tool::Te => of_tensors(&graph),
        _ => of_module(&graph),
    }
}
