//! Synthetic programs, written in the format of each tool.

mod nodes;
mod te;
mod tir;

use crate::computation::{
    Computation, NoCanonicalForm, computation_of_module, computation_of_tensors,
};
use crate::tvm_json::TvmGraph;
use nodes::Writer;

/// Expression.
#[derive(Clone, Debug)]
pub(super) enum E {
    /// Axis of its stage: spatial axes first, then reduced axes.
    Axis(usize),
    /// Integer of the type of axes.
    Integer(i64),
    /// Float.
    Float(f64),
    /// Element of a tensor: inputs first, then stages.
    Load(usize, Vec<E>),
    /// Binary operator such as `Add` or `LE`.
    Op(&'static str, Box<[E; 2]>),
    /// `if_then_else` or another function; also `select`, which is not a function.
    Call(&'static str, Vec<E>),
    /// Negation.
    Not(Box<E>),
    /// Cast to this type.
    Cast(&'static str, Box<E>),
}

/// Stage.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) shape: Vec<i64>,
    /// Reduction: operator, extents, initial value.
    pub(super) reduction: Option<(&'static str, Vec<i64>, f64)>,
    pub(super) body: E,
}

/// Program of floats whose last stage is the output.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) dtype: &'static str,
    pub(super) inputs: Vec<Vec<i64>>,
    pub(super) stages: Vec<Stage>,
}

/// Tool with its version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tool {
    Te,
    Older,
    Later,
}

pub(super) const TOOLS: [Tool; 3] = [Tool::Te, Tool::Older, Tool::Later];

/// Builds a binary expression such as a sum or a product.
pub(super) fn op(name: &'static str, a: E, b: E) -> E {
    E::Op(name, Box::new([a, b]))
}

impl Program {
    /// Computation, as read from the output of a tool.
    pub(super) fn read(&self, tool: Tool) -> Result<Computation, NoCanonicalForm> {
        computation_of(tool, &self.to_json(tool))
    }

    /// Canonical form, which is the same for all tools.
    pub(super) fn text(&self) -> String {
        let texts = TOOLS.map(|tool| self.read(tool).unwrap().text);
        assert_eq!(texts[0], texts[1]);
        assert_eq!(texts[1], texts[2]);
        texts[0].clone()
    }

    /// Graph in the format of a tool.
    pub(super) fn to_json(&self, tool: Tool) -> String {
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

/// Returns the computation of a tool's graph.
pub(super) fn computation_of(tool: Tool, json: &str) -> Result<Computation, NoCanonicalForm> {
    let graph = TvmGraph::read(json.as_bytes()).unwrap();
    match tool {
        Tool::Te => computation_of_tensors(&graph),
        _ => computation_of_module(&graph),
    }
}
