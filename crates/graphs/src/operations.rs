//! Names of GraphNet's operations, in a fixed order for counting.

/// Operation names as in `nodes.op`: those of 315 torch and paddle graphs, and further functions and methods of torch.
/// Their number is the documented number of operations in all torch graphs of GraphNet.
///
/// The list is fixed, so that counts have the same positions in all stores and versions.
#[rustfmt::skip]
pub const OPERATIONS: [&str; 292] = [
    "Size", "Tensor.__and__", "Tensor.__eq__", "Tensor.abs", "Tensor.add", "Tensor.add_", "Tensor.all", "Tensor.any",
    "Tensor.argmax", "Tensor.argsort", "Tensor.bool", "Tensor.ceil", "Tensor.chunk", "Tensor.clamp", "Tensor.clone",
    "Tensor.contiguous", "Tensor.copy_", "Tensor.cos", "Tensor.cuda", "Tensor.cumsum", "Tensor.detach", "Tensor.dim",
    "Tensor.div", "Tensor.div_", "Tensor.eq", "Tensor.exp", "Tensor.expand", "Tensor.expand_as", "Tensor.fill_",
    "Tensor.flatten", "Tensor.float", "Tensor.floor", "Tensor.gather", "Tensor.ge", "Tensor.gt", "Tensor.half",
    "Tensor.index_add_", "Tensor.index_fill", "Tensor.index_select", "Tensor.int", "Tensor.item", "Tensor.le",
    "Tensor.log", "Tensor.log_softmax", "Tensor.long", "Tensor.lt", "Tensor.masked_fill", "Tensor.masked_fill_",
    "Tensor.matmul", "Tensor.max", "Tensor.mean", "Tensor.min", "Tensor.mul", "Tensor.mul_", "Tensor.narrow",
    "Tensor.ne", "Tensor.neg", "Tensor.new_empty", "Tensor.new_full", "Tensor.new_ones", "Tensor.new_tensor",
    "Tensor.new_zeros", "Tensor.nonzero", "Tensor.norm", "Tensor.numel", "Tensor.permute", "Tensor.pow", "Tensor.pow_",
    "Tensor.relu", "Tensor.relu_", "Tensor.repeat", "Tensor.reshape", "Tensor.reshape_as", "Tensor.roll",
    "Tensor.round", "Tensor.rsqrt", "Tensor.scatter", "Tensor.scatter_add_", "Tensor.scatter_reduce_",
    "Tensor.sigmoid", "Tensor.sin", "Tensor.size", "Tensor.softmax", "Tensor.sort", "Tensor.split", "Tensor.sqrt",
    "Tensor.square", "Tensor.squeeze", "Tensor.std", "Tensor.sub", "Tensor.sum", "Tensor.t", "Tensor.tanh",
    "Tensor.tile", "Tensor.to", "Tensor.topk", "Tensor.transpose", "Tensor.tril", "Tensor.triu", "Tensor.type_as",
    "Tensor.unbind", "Tensor.unflatten", "Tensor.unfold", "Tensor.unsqueeze", "Tensor.var", "Tensor.view",
    "Tensor.view_as", "Tensor.zero_", "_add_batch_dim", "_check_is_size", "_local_scalar_dense", "_log_api_usage_once",
    "_native_multi_head_attention", "_remove_batch_dim", "_vmap_decrement_nesting", "_vmap_increment_nesting",
    "_weight_norm", "abs", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool2d",
    "add", "addcmul", "all", "any", "arange", "argmax", "argmin", "argsort", "assign", "assign_value_", "avg_pool1d",
    "avg_pool2d", "baddbmm", "batch_norm", "bce_loss", "bilinear_interp", "bitwise_not", "bmm", "broadcast_to", "cast",
    "cat", "ceil", "chunk", "clamp", "clip", "concat", "conv1d", "conv2d", "conv2d_transpose", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cos", "cross_entropy", "cumsum", "default",
    "depthwise_conv2d", "distribute_fpn_proposals", "div", "divide", "dropout", "dropout2d", "einsum",
    "elementwise_pow", "elu", "embedding", "empty", "eq", "equal", "exp", "expand", "flatten", "floor", "floor_divide",
    "floordiv", "full", "full_like", "full_with_tensor", "gather", "gather_nd", "ge", "gelu", "getitem", "glu",
    "greater_equal", "greater_than", "grid_sample", "group_norm", "gt", "hardsigmoid", "hardswish", "hardtanh", "iadd",
    "imul", "index", "index_select", "int", "interpolate", "invert", "isnan", "layer_norm", "lazy_load_decompositions",
    "le", "leaky_relu", "less_equal", "less_than", "linalg_norm", "linear", "linspace", "list", "log", "logical_and",
    "lt", "matmul", "max", "max_pool2d", "maximum", "mean", "meshgrid", "min", "minimum", "mul",
    "multi_head_attention_forward", "multiply", "ne", "nearest_interp", "neg", "normalize", "not_equal", "numel",
    "one_hot", "ones", "p_norm", "pad", "pad3d", "permute", "pool2d", "pow", "prelu", "prod", "rand", "reciprocal",
    "relu", "relu6", "repeat_interleave", "reshape", "rms_norm", "roi_align", "roll", "rsqrt", "scale",
    "scaled_dot_product_attention", "scatter", "set_value_", "set_value_with_tensor_", "setitem", "shape64", "sigmoid",
    "sigmoid_cross_entropy_with_logits", "silu", "sin", "slice", "softmax", "split", "split_with_num", "sqrt",
    "square", "squeeze", "stack", "strided_slice", "sub", "subtract", "sum", "swapaxes", "sym_sum", "tanh", "tensor",
    "tile", "topk", "transpose", "triu", "truediv", "unfold", "uniform", "unsqueeze", "var", "where", "zeros",
    "zeros_like",
];

/// Index of an operation in [`OPERATIONS`]; `None` for others.
pub fn operation_index(name: &str) -> Option<usize> {
    OPERATIONS.binary_search(&name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_found() {
        assert!(OPERATIONS.is_sorted_by(|a, b| a < b));
        for (index, name) in OPERATIONS.iter().enumerate() {
            assert_eq!(operation_index(name), Some(index));
        }
        assert_eq!(operation_index("no such"), None);
    }
}
