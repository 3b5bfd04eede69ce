//! Input of the writer of paddle files, apart from the layout.

use tsql_codecs::opgraph::OpGraph;
use tsql_codecs::tensors::Tensor;

/// Content of a file, apart from its layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PaddleModel<'a> {
    /// Text before the class.
    pub prelude: &'a str,
    /// Captured graph.
    pub graph: &'a OpGraph,
    /// Names of the arguments of `forward`.
    pub arguments: &'a [String],
    /// Result names of each node.
    pub names: &'a [String],
    /// Result types of each node.
    pub output_types: &'a [String],
    /// Weights and inputs, which define the types of the arguments.
    pub tensors: &'a [Tensor],
}
