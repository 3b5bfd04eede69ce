//! Reads a TIR block that computes one tensor.

use std::collections::HashMap;

use ahash::RandomState;

use super::node_access::{
    DATA_PARALLEL, REDUCED, axis_extent, dtype, integer_value, kind, require_empty, unexpected_node,
};
use super::reader::{Axes, ExpressionReader, name_axes, source_tensor};
use super::stage::{Reduction, Tensor, Tensors, format_stage};
use crate::tvm_json::{Error, NodeRef};

/// A loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    /// Index of the node of the loop variable.
    pub(super) variable: usize,
    /// Number of iterations.
    pub(super) extent: i64,
}

/// Axes of a block: node indices of their variables with their extents.
#[derive(Default)]
struct BlockAxes {
    spatial: HashMap<usize, i64, RandomState>,
    reduced: Vec<(usize, i64)>,
}

/// Returns the text of a stage: the block inside `loops` that computes `tensor` from the tensors in `available`.
///
/// # Errors
/// Returns an error for unsupported blocks: axes that are not plain loops, several statements, partially written
/// tensors.
pub(super) fn read_stage<'a>(
    reader: &mut ExpressionReader<'a>,
    loops: &[Loop],
    realized: NodeRef<'a>,
    tensor: &Tensor,
    available: &Tensors,
) -> Result<String, Error> {
    let block = realized.follow_required("block")?;
    require_empty(block, &["match_buffers", "alloc_buffers"])?;
    if integer_value(realized.follow_required("predicate")?)? != 1 {
        return Err(unexpected_node(realized, "an unconditional block"));
    }
    let block_axes = bind_axes(reader, loops, realized, block)?;
    let store = expect_store(block.follow_required("body")?)?;
    let mut axes = Axes::default();
    let (spatial, indices) = (
        written_axes(reader, store, tensor, block_axes.spatial)?,
        store.follow_list("indices")?,
    );
    name_axes(&mut axes, 'i', spatial)?;
    if !block.node.attributes.contains_key("init") || block.follow("init")?.is_none() {
        if !block_axes.reduced.is_empty() {
            return Err(unexpected_node(block, "a reduction with an initial value"));
        }
        let body = reader.read_expression(store.follow_required("value")?, &axes, available)?;
        return format_stage(tensor, None, &body);
    }
    let init = self::expect_store(block.follow_required("init")?)?;
    let tensor_index = store.follow_required("buffer")?.index;
    let element = Element {
        tensor_index,
        indices,
    };
    if init.follow_required("buffer")?.index != tensor_index
        || !element.is_same(reader, &init.follow_list("indices")?, &axes)?
    {
        return Err(unexpected_node(init, "the initial value of the reduction"));
    }
    let initial = reader.read_expression(init.follow_required("value")?, &axes, available)?;
    let extents = block_axes
        .reduced
        .iter()
        .map(|&(_, extent)| extent)
        .collect();
    name_axes(&mut axes, 'r', block_axes.reduced)?;
    let combination = store.follow_required("value")?;
    if dtype(combination)? != tensor.dtype {
        return Err(unexpected_node(combination, "a reduction of its type"));
    }
    let kind = Reduction::kind(kind(combination))
        .ok_or_else(|| unexpected_node(combination, "a reduction"))?;
    let combination = element.other_operand(reader, combination, &axes)?;
    let body = reader.read_expression(combination, &axes, available)?;
    let reduction = Reduction {
        kind,
        extents,
        initial,
    };
    format_stage(tensor, Some(&reduction), &body)
}

/// Matches the axes of a block with the loops. Each axis must be one loop, and each loop one axis. Loops with a single
/// iteration are exceptions.
fn bind_axes<'a>(
    reader: &mut ExpressionReader<'a>,
    loops: &[Loop],
    realized: NodeRef<'a>,
    block: NodeRef<'a>,
) -> Result<BlockAxes, Error> {
    let (variables, values) = (
        block.follow_list("iter_vars")?,
        realized.follow_list("iter_values")?,
    );
    reader
        .budget
        .take((variables.len() + values.len()) as u64)?;
    if variables.len() != values.len() {
        return Err(unexpected_node(block, "a block with one value per axis"));
    }
    let mut unbound: HashMap<usize, i64, RandomState> = HashMap::default();
    for &Loop { variable, extent } in loops {
        if unbound.insert(variable, extent).is_some() {
            return Err(unexpected_node(block, "a block in different loops"));
        }
    }
    let mut axes = BlockAxes::default();
    for (axis, value) in variables.into_iter().zip(values) {
        let extent = axis_extent(axis)?;
        let is_loop = unbound.remove(&value.index) == Some(extent);
        let is_first =
            || kind(value) == "IntImm" && integer_value(value).is_ok_and(|value| value == 0);
        let is_plain = is_loop || (extent == 1 && is_first());
        if !is_plain {
            return Err(unexpected_node(value, "a separate loop"));
        }
        let variable = axis.follow_required("var")?.index;
        match axis.integer_attribute("iter_type")? {
            DATA_PARALLEL if axes.spatial.insert(variable, extent).is_none() => {}
            REDUCED => axes.reduced.push((variable, extent)),
            _ => return Err(unexpected_node(axis, "a supported axis")),
        }
    }
    if unbound.values().any(|&extent| extent > 1) {
        return Err(unexpected_node(block, "a block that runs once per element"));
    }
    Ok(axes)
}

/// Returns the statement if it stores an element.
fn expect_store(statement: NodeRef<'_>) -> Result<NodeRef<'_>, Error> {
    require_empty(statement, &["predicate"])?;
    if kind(statement) == "BufferStore" {
        Ok(statement)
    } else {
        Err(unexpected_node(
            statement,
            "a statement that writes an element",
        ))
    }
}

/// Returns the axes over which a statement writes a complete tensor, in the order of the dimensions.
fn written_axes<'a>(
    reader: &mut ExpressionReader<'a>,
    store: NodeRef<'a>,
    tensor: &Tensor,
    mut spatial: HashMap<usize, i64, RandomState>,
) -> Result<Vec<(usize, i64)>, Error> {
    let indices = store.follow_list("indices")?;
    reader.budget.take(indices.len() as u64)?;
    if indices.len() != tensor.shape.len() {
        return Err(unexpected_node(
            store,
            "a statement that writes an element of its tensor",
        ));
    }
    let mut axes = Vec::with_capacity(indices.len());
    for (index, &size) in indices.into_iter().zip(&tensor.shape) {
        match spatial.remove(&index.index) {
            Some(extent) if extent == size => axes.push((index.index, extent)),
            None if size == 1 && kind(index) == "IntImm" && integer_value(index)? == 0 => {}
            _ => return Err(unexpected_node(index, "an axis over its whole dimension")),
        }
    }
    if spatial.values().any(|&extent| extent > 1) {
        return Err(unexpected_node(
            store,
            "a statement that writes each element once",
        ));
    }
    // Axes of extent 1 may still be used to read.
    axes.extend(spatial);
    Ok(axes)
}

/// Element that a block writes.
struct Element<'a> {
    tensor_index: usize,
    indices: Vec<NodeRef<'a>>,
}

impl<'a> Element<'a> {
    /// Whether these are the indices of the element.
    fn is_same(
        &self,
        reader: &mut ExpressionReader<'a>,
        indices: &[NodeRef<'a>],
        axes: &Axes,
    ) -> Result<bool, Error> {
        if self.indices.len() != indices.len() {
            return Ok(false);
        }
        let no_tensors = Tensors::default();
        for (index, other) in self.indices.iter().zip(indices) {
            let index = reader.read_expression(*index, axes, &no_tensors)?;
            let other = reader.read_expression(*other, axes, &no_tensors)?;
            if index.as_index().is_none() || index.as_index() != other.as_index() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the other operand of a binary operator that combines the element with another value.
    fn other_operand(
        &self,
        reader: &mut ExpressionReader<'a>,
        combination: NodeRef<'a>,
        axes: &Axes,
    ) -> Result<NodeRef<'a>, Error> {
        let (a, b) = (
            combination.follow_required("a")?,
            combination.follow_required("b")?,
        );
        for (operand, other) in [(a, b), (b, a)] {
            let is_load = matches!(kind(operand), "BufferLoad" | "TensorLoad");
            if is_load
                && source_tensor(operand)? == self.tensor_index
                && self.is_same(reader, &operand.follow_list("indices")?, axes)?
            {
                return Ok(other);
            }
        }
        Err(unexpected_node(
            combination,
            "a reduction into the written element",
        ))
    }
}
