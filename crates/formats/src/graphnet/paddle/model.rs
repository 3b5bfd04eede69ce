//! What the writer of a file of paddle is given, beside the layout.

use tsql_codecs::opgraph::OpGraph;
use tsql_codecs::tensors::Tensor;

/// What a file says besides its layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model<'a> {
    /// All before the class.
    pub prelude: &'a str,
    /// What it computes.
    pub graph: &'a OpGraph,
    /// Names of what `forward` takes.
    pub arguments: &'a [String],
    /// Names of what each node returns.
    pub names: &'a [String],
    /// Types of what each node returns.
    pub output_types: &'a [String],
    /// Weights and inputs, which say the types of arguments.
    pub tensors: &'a [Tensor],
}
