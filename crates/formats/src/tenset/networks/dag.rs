//! What a task computes: its tensors, and operations that lead from one to another.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;
use serde::Serialize;

use super::expressions::{constant, extents, operands};
use super::flops::flop_count;
use crate::tvm_json::{At, Budget, Error, Graph, post_order};

/// A tensor that goes into a task or comes out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tensor {
    /// The type of the operation that gives it.
    pub op_type: String,
    /// The name of that operation.
    pub name: String,
    /// Its sizes; `None` where one is not a constant.
    pub shape: Vec<Option<i64>>,
    /// The type of its numbers.
    pub dtype: String,
    /// The place of that operation in [`Dag::operations`].
    pub operation: usize,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// Its type: `PlaceholderOp` of what goes in, `ComputeOp` of what is computed.
    pub op_type: String,
    /// Its name.
    pub name: String,
    /// What kind of computation it is: `conv2d_nhwc`; empty where nobody said.
    pub tag: String,
    /// The sizes of what it gives; `None` where one is not a constant. None are known of other types.
    pub shape: Vec<Option<i64>>,
    /// The type of the numbers that it gives, where its type is one of the two.
    pub dtype: Option<String>,
    /// The places of the operations that it reads from, each once, in the order of its expressions.
    pub inputs: Vec<usize>,
}

/// What is computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Dag {
    /// Each after those that it reads from: for a task with one result in the order of TVM's stages, by whose
    /// places the steps of records name them.
    pub operations: Vec<Operation>,
    /// How many operations on numbers it takes, as TVM's auto_scheduler estimates them; `None` where that
    /// gives up (and says -1).
    pub flop_count: Option<f64>,
}

impl Dag {
    /// From which operation to which something goes, by their places.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let operations = self.operations.iter().enumerate();
        operations.flat_map(|(to, operation)| operation.inputs.iter().map(move |&from| (from, to)))
    }

    /// Reads an array of tensors, and all that they come from.
    pub(super) fn read(graph: &Graph) -> Result<(Vec<Tensor>, Self), Error> {
        let root = graph.root()?;
        if !root.is_array() {
            return Err(Error::wrong("no array of tensors"));
        }
        let tensors: Vec<At<'_>> = root.elements().collect();
        let ends = tensors.iter().map(|tensor| producer(*tensor));
        let ends = ends.collect::<Result<Vec<usize>, _>>()?;
        let (mut between, mut within) = (Budget::of(graph), Budget::of(graph));
        let mut inputs: HashMap<usize, Vec<usize>, RandomState> = HashMap::default();
        let read = |operation| {
            let read = inputs_of(graph, graph.at(operation)?, &mut within)?;
            inputs.insert(operation, read.clone());
            Ok(read)
        };
        post_order(&ends, read, &mut between)?;
        let order = stages(&ends, &inputs, &mut between)?;
        let places = order.iter().enumerate();
        let places: HashMap<usize, usize, RandomState> =
            places.map(|(place, &index)| (index, place)).collect();
        let mut operations = Vec::with_capacity(order.len());
        for &index in &order {
            let read = inputs.remove(&index).unwrap_or_default();
            let read = read.iter().filter_map(|from| places.get(from).copied());
            let read = read.collect();
            operations.push(Operation::read(graph.at(index)?, read, &mut within)?);
        }
        let tensors = tensors.into_iter().zip(ends).map(|(tensor, end)| {
            let place = places.get(&end).copied().unwrap_or_default();
            Tensor::read(tensor, operations.get(place), place, &mut within)
        });
        let tensors = tensors.collect::<Result<_, _>>()?;
        let flop_count = flop_count(graph, &order, &mut between)?;
        let dag = Self {
            operations,
            flop_count,
        };
        Ok((tensors, dag))
    }
}

/// All operations in the order of TVM's stages: first what leads to those that nobody reads from.
fn stages(
    ends: &[usize],
    inputs: &HashMap<usize, Vec<usize>, RandomState>,
    budget: &mut Budget,
) -> Result<Vec<usize>, Error> {
    let read: HashSet<usize, RandomState> = inputs.values().flatten().copied().collect();
    let outputs = ends.iter().copied().filter(|end| {
        let reads = inputs.get(end).is_some_and(|inputs| !inputs.is_empty());
        reads && !read.contains(end)
    });
    let starts: Vec<usize> = outputs.chain(ends.iter().copied()).collect();
    let known = |operation| Ok(inputs.get(&operation).cloned().unwrap_or_default());
    post_order(&starts, known, budget)
}

/// The place of the operation that gives a tensor.
fn producer(tensor: At<'_>) -> Result<usize, Error> {
    Ok(tensor.follow_to("op")?.index)
}

/// The places of the operations that one reads from.
fn inputs_of(graph: &Graph, at: At<'_>, budget: &mut Budget) -> Result<Vec<usize>, Error> {
    if at.type_key() != "ComputeOp" {
        return Ok(Vec::new());
    }
    let body: Vec<usize> = at.list("body")?.into_iter().map(|at| at.index).collect();
    let operands = |index| {
        let operands = operands(graph.at(index)?)?;
        Ok(operands.into_iter().map(|at| at.index).collect())
    };
    let (mut inputs, mut known) = (Vec::new(), HashSet::<usize, RandomState>::default());
    for index in post_order(&body, operands, budget)? {
        let expression = graph.at(index)?;
        if expression.type_key() == "tir.ProducerLoad" {
            let from = producer(expression.follow_to("producer")?)?;
            if known.insert(from) {
                inputs.push(from);
            }
        }
    }
    Ok(inputs)
}

/// The sizes that an attribute lists.
fn shape(at: At<'_>, budget: &mut Budget) -> Result<Vec<Option<i64>>, Error> {
    let sizes = at.list("shape")?;
    budget.take(sizes.len() as u64)?;
    sizes.into_iter().map(constant).collect()
}

impl Operation {
    fn read(at: At<'_>, inputs: Vec<usize>, budget: &mut Budget) -> Result<Self, Error> {
        let (shape, dtype) = match at.type_key() {
            "PlaceholderOp" => (shape(at, budget)?, Some(at.word("dtype")?)),
            "ComputeOp" => {
                let axes = at.list("axis")?;
                budget.take(axes.len() as u64)?;
                let body = at.list("body")?;
                let dtype = body.first().map(|first| first.word("dtype"));
                (extents(&axes)?, dtype.transpose()?)
            }
            _ => (Vec::new(), None),
        };
        budget.take(dtype.map_or(0, str::len) as u64)?;
        Ok(Self {
            op_type: at.type_key().to_owned(),
            name: at.word("name")?.to_owned(),
            tag: at.word("tag")?.to_owned(),
            shape,
            dtype: dtype.map(str::to_owned),
            inputs,
        })
    }
}

impl Tensor {
    fn read(
        at: At<'_>,
        operation: Option<&Operation>,
        place: usize,
        budget: &mut Budget,
    ) -> Result<Self, Error> {
        let operation = operation.ok_or_else(|| Error::wrong("a tensor without an operation"))?;
        let (op_type, name) = (operation.op_type.clone(), operation.name.clone());
        let dtype = at.word("dtype")?.to_owned();
        budget.take((op_type.len() + name.len() + dtype.len()) as u64)?;
        Ok(Self {
            op_type,
            name,
            shape: shape(at, budget)?,
            dtype,
            operation: place,
        })
    }
}
