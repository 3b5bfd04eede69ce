//! Unscheduled TIR computations, as MetaSchedule stores them: a module of one function whose root block contains loop
//! nests of one block each.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;

use super::block::{Loop, read_stage};
use super::canonical::Stages;
use super::node_access::{
    dtype, integer_value, kind, optional_attribute, range_extent, require_empty, unexpected_node,
};
use super::reader::ExpressionReader;
use super::stage::{Tensor, Tensors};
use crate::tvm_json::{Error, NodeRef, TvmGraph};

/// Reads the stages of a module. The written parameters are the outputs.
///
/// # Errors
/// Returns an error for unsupported modules.
pub(super) fn read_stages(graph: &TvmGraph) -> Result<Stages, Error> {
    let module = graph.root()?;
    if kind(module) != "IRModule" {
        return Err(unexpected_node(module, "a module"));
    }
    let mut functions = module.follow_required("functions")?.pairs();
    let (Some((_, function)), None) = (functions.next(), functions.next()) else {
        return Err(Error::wrong("a module of several functions"));
    };
    if kind(function) != "PrimFunc" {
        return Err(unexpected_node(function, "a supported function"));
    }
    let mut reader = ExpressionReader::new(graph);
    let mut buffers = Buffers::default();
    let parameters = parameter_buffers(&mut reader, function)?;
    for &parameter in &parameters {
        buffers.add(&mut reader, parameter)?;
    }
    let root = root_block(&mut reader, function.follow_required("body")?)?;
    for buffer in root.follow_list("alloc_buffers")? {
        buffers.add(&mut reader, buffer)?;
    }
    let nests = loop_nests(&mut reader, root.follow_required("body")?)?;
    let texts = buffers.stage_texts(&mut reader, &parameters, nests)?;
    let outputs = parameters.iter().map(|parameter| parameter.index);
    Ok(Stages {
        outputs: outputs
            .filter(|buffer_index| texts.contains_key(buffer_index))
            .collect(),
        texts,
        tensors: buffers.tensors,
    })
}

/// Returns the buffers of the parameters. In later versions a parameter is its buffer.
fn parameter_buffers<'a>(
    reader: &mut ExpressionReader<'a>,
    function: NodeRef<'a>,
) -> Result<Vec<NodeRef<'a>>, Error> {
    let mut buffer_map: HashMap<usize, NodeRef<'a>, RandomState> = HashMap::default();
    if let Some(map) = optional_attribute(function, "buffer_map")? {
        let pairs = map.pairs();
        reader.budget.take(pairs.len() as u64)?;
        buffer_map.extend(pairs.map(|(variable, buffer)| (variable.index, buffer)));
    }
    let parameters = function.follow_list("params")?;
    reader.budget.take(parameters.len() as u64)?;
    let parameters = parameters.into_iter();
    let buffers = parameters.map(|parameter| {
        buffer_map
            .get(&parameter.index)
            .copied()
            .unwrap_or(parameter)
    });
    Ok(buffers.collect())
}

/// Buffers by node index.
#[derive(Default)]
struct Buffers {
    tensors: Tensors,
    /// Node indices of the storage variables. Each buffer has its own.
    storage: HashSet<usize, RandomState>,
}

impl Buffers {
    /// Adds a buffer, which must be contiguous and have its own storage.
    fn add<'a>(
        &mut self,
        reader: &mut ExpressionReader<'a>,
        node: NodeRef<'a>,
    ) -> Result<(), Error> {
        let (type_node, storage) = match kind(node) {
            "Buffer" => (node, node.follow_required("data")?),
            _ => (node.follow_required("ty")?, node),
        };
        if !matches!(kind(type_node), "Buffer" | "BufferType") {
            return Err(unexpected_node(node, "a tensor"));
        }
        require_empty(
            type_node,
            &["strides", "axis_separators", "layout", "allocated_addr"],
        )?;
        if let Some(offset) = optional_attribute(type_node, "elem_offset")?
            && integer_value(offset)? != 0
        {
            return Err(unexpected_node(node, "a tensor that begins at offset 0"));
        }
        let (dtype, shape) = (dtype(type_node)?, reader.tensor_sizes(type_node, "shape")?);
        let is_new = self.storage.insert(storage.index);
        if !is_new
            || self
                .tensors
                .insert(node.index, Tensor { dtype, shape })
                .is_some()
        {
            return Err(unexpected_node(node, "a tensor with separate storage"));
        }
        Ok(())
    }

    /// Returns the texts of the stages of consecutive loop nests. Each nest writes another buffer and reads inputs or
    /// buffers that were written before.
    fn stage_texts<'a>(
        &self,
        reader: &mut ExpressionReader<'a>,
        parameters: &[NodeRef<'a>],
        nests: Vec<(Vec<Loop>, NodeRef<'a>)>,
    ) -> Result<HashMap<usize, String, RandomState>, Error> {
        let mut written_tensors = Vec::with_capacity(nests.len());
        for (_, realized) in &nests {
            let store = realized.follow_required("block")?.follow_required("body")?;
            written_tensors.push(store.follow_required("buffer")?.index);
        }
        let index_and_tensor =
            |buffer_index: usize| Some((buffer_index, self.tensors.get(&buffer_index)?.clone()));
        let inputs = parameters.iter().map(|parameter| parameter.index);
        let outputs: HashSet<usize, RandomState> = written_tensors.iter().copied().collect();
        let inputs = inputs.filter(|buffer_index| !outputs.contains(buffer_index));
        let mut available: Tensors = inputs.filter_map(index_and_tensor).collect();
        let mut texts: HashMap<usize, String, RandomState> = HashMap::default();
        for ((loops, realized), buffer_index) in nests.into_iter().zip(written_tensors) {
            let tensor = self.tensors.get(&buffer_index);
            let tensor =
                tensor.ok_or_else(|| Error::wrong("a write to a value that is not a tensor"))?;
            let text = read_stage(reader, &loops, realized, tensor, &available)?;
            if texts.insert(buffer_index, text).is_some() {
                return Err(Error::wrong("a tensor that is written twice"));
            }
            available.insert(buffer_index, tensor.clone());
        }
        Ok(texts)
    }
}

/// Returns the root block of a function, which must have no axes of its own.
fn root_block<'a>(
    reader: &mut ExpressionReader<'a>,
    block_realize: NodeRef<'a>,
) -> Result<NodeRef<'a>, Error> {
    reader.budget.take(1)?;
    if !kind(block_realize).ends_with("BlockRealize") {
        return Err(unexpected_node(block_realize, "a root block"));
    }
    let block = block_realize.follow_required("block")?;
    require_empty(block_realize, &["iter_values"])?;
    require_empty(block, &["iter_vars", "match_buffers", "init"])?;
    if integer_value(block_realize.follow_required("predicate")?)? != 1 {
        return Err(unexpected_node(
            block_realize,
            "an unconditional root block",
        ));
    }
    Ok(block)
}

/// Returns the loop nests in order, each as its loops and the block inside the innermost loop.
fn loop_nests<'a>(
    reader: &mut ExpressionReader<'a>,
    body: NodeRef<'a>,
) -> Result<Vec<(Vec<Loop>, NodeRef<'a>)>, Error> {
    let mut nests = Vec::new();
    let mut stack = vec![body];
    while let Some(statement) = stack.pop() {
        reader.budget.take(1)?;
        if kind(statement) == "SeqStmt" {
            let statements = statement.follow_list("seq")?;
            reader.budget.take(statements.len() as u64)?;
            stack.extend(statements.into_iter().rev());
        } else {
            nests.push(loop_nest(reader, statement)?);
        }
    }
    Ok(nests)
}

/// Returns nested loops and the block inside the innermost loop.
fn loop_nest<'a>(
    reader: &mut ExpressionReader<'a>,
    statement: NodeRef<'a>,
) -> Result<(Vec<Loop>, NodeRef<'a>), Error> {
    let (mut loops, mut inner) = (Vec::new(), statement);
    while kind(inner) == "For" {
        reader.budget.take(1)?;
        require_empty(inner, &["thread_binding", "step"])?;
        if inner.integer_attribute("kind")? != 0 {
            return Err(unexpected_node(inner, "a plain loop"));
        }
        loops.push(Loop {
            variable: inner.follow_required("loop_var")?.index,
            extent: range_extent(
                inner.follow_required("min")?,
                inner.follow_required("extent")?,
            )?,
        });
        inner = inner.follow_required("body")?;
    }
    if kind(inner).ends_with("BlockRealize") {
        Ok((loops, inner))
    } else {
        Err(unexpected_node(inner, "a block or a loop around one"))
    }
}
