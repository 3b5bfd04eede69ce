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
        outputs: outputs.filter(|place| texts.contains_key(place)).collect(),
        texts,
        tensors: buffers.tensors,
    })
}

/// Returns the buffers of the parameters. In later versions a parameter is its buffer.
fn parameter_buffers<'a>(
    reader: &mut ExpressionReader<'a>,
    function: NodeRef<'a>,
) -> Result<Vec<NodeRef<'a>>, Error> {
    let mut bound: HashMap<usize, NodeRef<'a>, RandomState> = HashMap::default();
    if let Some(map) = optional_attribute(function, "buffer_map")? {
        let pairs = map.pairs();
        reader.budget.take(pairs.len() as u64)?;
        bound.extend(pairs.map(|(variable, buffer)| (variable.index, buffer)));
    }
    let parameters = function.follow_list("params")?;
    reader.budget.take(parameters.len() as u64)?;
    let parameters = parameters.into_iter();
    let buffers = parameters.map(|one| bound.get(&one.index).copied().unwrap_or(one));
    Ok(buffers.collect())
}

/// Buffers by node index.
#[derive(Default)]
struct Buffers {
    tensors: Tensors,
    /// Node indices of the storage variables; no two buffers share one.
    stored: HashSet<usize, RandomState>,
}

impl Buffers {
    /// Adds a buffer, which must be contiguous and have its own storage.
    fn add<'a>(&mut self, reader: &mut ExpressionReader<'a>, at: NodeRef<'a>) -> Result<(), Error> {
        let (typed, stored) = match kind(at) {
            "Buffer" => (at, at.follow_required("data")?),
            _ => (at.follow_required("ty")?, at),
        };
        if !matches!(kind(typed), "Buffer" | "BufferType") {
            return Err(unexpected_node(at, "a tensor"));
        }
        require_empty(
            typed,
            &["strides", "axis_separators", "layout", "allocated_addr"],
        )?;
        if let Some(offset) = optional_attribute(typed, "elem_offset")?
            && integer_value(offset)? != 0
        {
            return Err(unexpected_node(at, "a tensor that begins at offset 0"));
        }
        let (dtype, shape) = (dtype(typed)?, reader.tensor_sizes(typed, "shape")?);
        let is_new = self.stored.insert(stored.index);
        if !is_new
            || self
                .tensors
                .insert(at.index, Tensor { dtype, shape })
                .is_some()
        {
            return Err(unexpected_node(at, "a tensor with separate storage"));
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
        let mut written = Vec::with_capacity(nests.len());
        for (_, realized) in &nests {
            let store = realized.follow_required("block")?.follow_required("body")?;
            written.push(store.follow_required("buffer")?.index);
        }
        let known = |place: usize| Some((place, self.tensors.get(&place)?.clone()));
        let inputs = parameters.iter().map(|parameter| parameter.index);
        let comes_out: HashSet<usize, RandomState> = written.iter().copied().collect();
        let inputs = inputs.filter(|place| !comes_out.contains(place));
        let mut there: Tensors = inputs.filter_map(known).collect();
        let mut texts: HashMap<usize, String, RandomState> = HashMap::default();
        for ((loops, realized), place) in nests.into_iter().zip(written) {
            let tensor = self.tensors.get(&place);
            let tensor =
                tensor.ok_or_else(|| Error::wrong("a write to a value that is not a tensor"))?;
            let text = read_stage(reader, &loops, realized, tensor, &there)?;
            if texts.insert(place, text).is_some() {
                return Err(Error::wrong("a tensor that is written twice"));
            }
            there.insert(place, tensor.clone());
        }
        Ok(texts)
    }
}

/// Returns the root block of a function, which must have no axes of its own.
fn root_block<'a>(
    reader: &mut ExpressionReader<'a>,
    realized: NodeRef<'a>,
) -> Result<NodeRef<'a>, Error> {
    reader.budget.take(1)?;
    if !kind(realized).ends_with("BlockRealize") {
        return Err(unexpected_node(realized, "a root block"));
    }
    let block = realized.follow_required("block")?;
    require_empty(realized, &["iter_values"])?;
    require_empty(block, &["iter_vars", "match_buffers", "init"])?;
    if integer_value(realized.follow_required("predicate")?)? != 1 {
        return Err(unexpected_node(realized, "an unconditional root block"));
    }
    Ok(block)
}

/// Returns the loop nests in order, each as its loops and the block inside the innermost loop.
fn loop_nests<'a>(
    reader: &mut ExpressionReader<'a>,
    body: NodeRef<'a>,
) -> Result<Vec<(Vec<Loop>, NodeRef<'a>)>, Error> {
    let mut nests = Vec::new();
    let mut open = vec![body];
    while let Some(statement) = open.pop() {
        reader.budget.take(1)?;
        if kind(statement) == "SeqStmt" {
            let statements = statement.follow_list("seq")?;
            reader.budget.take(statements.len() as u64)?;
            open.extend(statements.into_iter().rev());
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
    let (mut loops, mut within) = (Vec::new(), statement);
    while kind(within) == "For" {
        reader.budget.take(1)?;
        require_empty(within, &["thread_binding", "step"])?;
        if within.integer_attribute("kind")? != 0 {
            return Err(unexpected_node(within, "a plain loop"));
        }
        loops.push(Loop {
            variable: within.follow_required("loop_var")?.index,
            extent: range_extent(
                within.follow_required("min")?,
                within.follow_required("extent")?,
            )?,
        });
        within = within.follow_required("body")?;
    }
    if kind(within).ends_with("BlockRealize") {
        Ok((loops, within))
    } else {
        Err(unexpected_node(within, "a block or a loop around one"))
    }
}
