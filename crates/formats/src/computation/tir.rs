//! Computations in TVM's TIR, as MetaSchedule has them before they are scheduled: a module of one function, in
//! whose root block each nest of loops holds one block.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;

use super::block::{Loop, stage};
use super::canonical::Stages;
use super::reader::Reader;
use super::spelling::{dtype, extent, if_any, kind, not_a, whole, without};
use super::stage::{Tensor, Tensors};
use crate::tvm_json::{At, Error, Graph};

/// The stages of a module: parameters that are written are what comes out.
///
/// # Errors
/// Whatever is not understood.
pub(super) fn stages(graph: &Graph) -> Result<Stages, Error> {
    let module = graph.root()?;
    if kind(module) != "IRModule" {
        return Err(not_a(module, "module"));
    }
    let mut functions = module.follow_to("functions")?.pairs();
    let (Some((_, function)), None) = (functions.next(), functions.next()) else {
        return Err(Error::wrong("a module of several functions"));
    };
    if kind(function) != "PrimFunc" {
        return Err(not_a(function, "function that is understood"));
    }
    let mut reader = Reader::new(graph);
    let mut buffers = Buffers::default();
    let parameters = parameters(&mut reader, function)?;
    for &parameter in &parameters {
        buffers.add(&mut reader, parameter)?;
    }
    let root = root(&mut reader, function.follow_to("body")?)?;
    for buffer in root.list("alloc_buffers")? {
        buffers.add(&mut reader, buffer)?;
    }
    let nests = nests(&mut reader, root.follow_to("body")?)?;
    let texts = buffers.stages(&mut reader, &parameters, nests)?;
    let outputs = parameters.iter().map(|parameter| parameter.index);
    Ok(Stages {
        outputs: outputs.filter(|place| texts.contains_key(place)).collect(),
        texts,
        tensors: buffers.tensors,
    })
}

/// The buffers that parameters are; later these are one thing.
fn parameters<'a>(reader: &mut Reader<'a>, function: At<'a>) -> Result<Vec<At<'a>>, Error> {
    let mut bound: HashMap<usize, At<'a>, RandomState> = HashMap::default();
    if let Some(map) = if_any(function, "buffer_map")? {
        let pairs = map.pairs();
        reader.budget.take(pairs.len() as u64)?;
        bound.extend(pairs.map(|(variable, buffer)| (variable.index, buffer)));
    }
    let parameters = function.list("params")?;
    reader.budget.take(parameters.len() as u64)?;
    let parameters = parameters.into_iter();
    let buffers = parameters.map(|one| bound.get(&one.index).copied().unwrap_or(one));
    Ok(buffers.collect())
}

/// Buffers by their places.
#[derive(Default)]
struct Buffers {
    tensors: Tensors,
    /// Variables of what they are stored in: no two are the same.
    stored: HashSet<usize, RandomState>,
}

impl Buffers {
    /// Adds one, which has to have its elements one after the other, and its memory for itself.
    fn add<'a>(&mut self, reader: &mut Reader<'a>, at: At<'a>) -> Result<(), Error> {
        let (typed, stored) = match kind(at) {
            "Buffer" => (at, at.follow_to("data")?),
            _ => (at.follow_to("ty")?, at),
        };
        if !matches!(kind(typed), "Buffer" | "BufferType") {
            return Err(not_a(at, "tensor"));
        }
        without(
            typed,
            &["strides", "axis_separators", "layout", "allocated_addr"],
        )?;
        if let Some(offset) = if_any(typed, "elem_offset")?
            && whole(offset)? != 0
        {
            return Err(not_a(at, "tensor that begins where it is stored"));
        }
        let (dtype, shape) = (dtype(typed)?, reader.sizes(typed, "shape")?);
        let is_new = self.stored.insert(stored.index);
        if !is_new
            || self
                .tensors
                .insert(at.index, Tensor { dtype, shape })
                .is_some()
        {
            return Err(not_a(at, "tensor of its own"));
        }
        Ok(())
    }

    /// The texts of what nests of loops compute, one after the other: each writes another buffer, and reads what
    /// went in, or was written before.
    fn stages<'a>(
        &self,
        reader: &mut Reader<'a>,
        parameters: &[At<'a>],
        nests: Vec<(Vec<Loop>, At<'a>)>,
    ) -> Result<HashMap<usize, String, RandomState>, Error> {
        let mut written = Vec::with_capacity(nests.len());
        for (_, realized) in &nests {
            let store = realized.follow_to("block")?.follow_to("body")?;
            written.push(store.follow_to("buffer")?.index);
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
                tensor.ok_or_else(|| Error::wrong("something else is written than a tensor"))?;
            let text = stage(reader, &loops, realized, tensor, &there)?;
            if texts.insert(place, text).is_some() {
                return Err(Error::wrong("a tensor that is written twice"));
            }
            there.insert(place, tensor.clone());
        }
        Ok(texts)
    }
}

/// The block that a function is: without axes of its own.
fn root<'a>(reader: &mut Reader<'a>, realized: At<'a>) -> Result<At<'a>, Error> {
    reader.budget.take(1)?;
    if !kind(realized).ends_with("BlockRealize") {
        return Err(not_a(realized, "root block"));
    }
    let block = realized.follow_to("block")?;
    without(realized, &["iter_values"])?;
    without(block, &["iter_vars", "match_buffers", "init"])?;
    if whole(realized.follow_to("predicate")?)? != 1 {
        return Err(not_a(realized, "root block that always runs"));
    }
    Ok(block)
}

/// Nests of loops, in order: the loops and the block in the innermost of them.
fn nests<'a>(reader: &mut Reader<'a>, body: At<'a>) -> Result<Vec<(Vec<Loop>, At<'a>)>, Error> {
    let mut nests = Vec::new();
    let mut open = vec![body];
    while let Some(statement) = open.pop() {
        reader.budget.take(1)?;
        if kind(statement) == "SeqStmt" {
            let statements = statement.list("seq")?;
            reader.budget.take(statements.len() as u64)?;
            open.extend(statements.into_iter().rev());
        } else {
            nests.push(nest(reader, statement)?);
        }
    }
    Ok(nests)
}

/// Loops, each in the one before it, and the block in the last.
fn nest<'a>(reader: &mut Reader<'a>, statement: At<'a>) -> Result<(Vec<Loop>, At<'a>), Error> {
    let (mut loops, mut within) = (Vec::new(), statement);
    while kind(within) == "For" {
        reader.budget.take(1)?;
        without(within, &["thread_binding", "step"])?;
        if within.whole("kind")? != 0 {
            return Err(not_a(within, "plain loop"));
        }
        loops.push(Loop {
            variable: within.follow_to("loop_var")?.index,
            extent: extent(within.follow_to("min")?, within.follow_to("extent")?)?,
        });
        within = within.follow_to("body")?;
    }
    if kind(within).ends_with("BlockRealize") {
        Ok((loops, within))
    } else {
        Err(not_a(within, "block or loop around one"))
    }
}
