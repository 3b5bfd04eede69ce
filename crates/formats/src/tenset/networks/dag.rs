//! Computation of a task: its tensors, and the operations that connect them.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;
use serde::Serialize;

use super::expressions::{constant, extents, operands};
use super::flops::flop_count;
use crate::tvm_json::{Error, NodeRef, StepBudget, TvmGraph, post_order};

/// Input or output tensor of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tensor {
    /// Type of the operation that produces it.
    pub op_type: String,
    /// Name of that operation.
    pub name: String,
    /// Sizes; `None` for a size that is not constant.
    pub shape: Vec<Option<i64>>,
    /// Data type of the elements.
    pub dtype: String,
    /// Index of that operation in [`Dag::operations`].
    pub operation: usize,
}

/// Operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// Type: `PlaceholderOp` for inputs, `ComputeOp` for computations.
    pub op_type: String,
    /// Name.
    pub name: String,
    /// Tag of the computation, for example `conv2d_nhwc`; empty if it has none.
    pub tag: String,
    /// Sizes of the result; `None` for a size that is not constant. Empty for other types of operations.
    pub shape: Vec<Option<i64>>,
    /// Data type of the result, for placeholders and computations.
    pub dtype: Option<String>,
    /// Indices of the operations that it reads from, each once, in the order of its expressions.
    pub inputs: Vec<usize>,
}

/// Computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Dag {
    /// Operations, each after its inputs. For a task with one result this is the order of TVM's stages, which the steps
    /// of records reference by index.
    pub operations: Vec<Operation>,
    /// Number of arithmetic operations (FLOP), as estimated by TVM's auto_scheduler; `None` if its estimator gives up (and
    /// returns -1).
    pub flop_count: Option<f64>,
}

impl Dag {
    /// Returns the edges between operations, as indices of producer and consumer.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let operations = self.operations.iter().enumerate();
        operations.flat_map(|(consumer, operation)| {
            operation
                .inputs
                .iter()
                .map(move |&producer| (producer, consumer))
        })
    }

    /// Reads an array of tensors and everything that they depend on.
    pub(super) fn read(graph: &TvmGraph) -> Result<(Vec<Tensor>, Self), Error> {
        let root = graph.root()?;
        if !root.is_array() {
            return Err(Error::wrong("the root is not an array of tensors"));
        }
        let tensors: Vec<NodeRef<'_>> = root.elements().collect();
        let producers = tensors.iter().map(|tensor| producer(*tensor));
        let producers = producers.collect::<Result<Vec<usize>, _>>()?;
        let (mut graph_budget, mut node_budget) =
            (StepBudget::for_graph(graph), StepBudget::for_graph(graph));
        let mut inputs: HashMap<usize, Vec<usize>, RandomState> = HashMap::default();
        let producers_of = |operation| {
            let producers = operation_inputs(graph, graph.node(operation)?, &mut node_budget)?;
            inputs.insert(operation, producers.clone());
            Ok(producers)
        };
        post_order(&producers, producers_of, &mut graph_budget)?;
        let order = stage_order(&producers, &inputs, &mut graph_budget)?;
        let positions = order.iter().enumerate();
        let positions: HashMap<usize, usize, RandomState> = positions
            .map(|(position, &index)| (index, position))
            .collect();
        let mut operations = Vec::with_capacity(order.len());
        for &index in &order {
            let producer_indexes = inputs.remove(&index).unwrap_or_default();
            let producer_indexes = producer_indexes
                .iter()
                .filter_map(|index| positions.get(index).copied());
            let producer_indexes = producer_indexes.collect();
            operations.push(Operation::read(
                graph.node(index)?,
                producer_indexes,
                &mut node_budget,
            )?);
        }
        let tensors = tensors
            .into_iter()
            .zip(producers)
            .map(|(tensor, producer_index)| {
                let position = positions.get(&producer_index).copied().unwrap_or_default();
                Tensor::read(tensor, operations.get(position), position, &mut node_budget)
            });
        let tensors = tensors.collect::<Result<_, _>>()?;
        let flop_count = flop_count(graph, &order, &mut graph_budget)?;
        let dag = Self {
            operations,
            flop_count,
        };
        Ok((tensors, dag))
    }
}

/// Returns all operations in the order of TVM's stages. The dependencies of operations without consumers come first.
fn stage_order(
    producers: &[usize],
    inputs: &HashMap<usize, Vec<usize>, RandomState>,
    budget: &mut StepBudget,
) -> Result<Vec<usize>, Error> {
    let consumed: HashSet<usize, RandomState> = inputs.values().flatten().copied().collect();
    let outputs = producers.iter().copied().filter(|operation| {
        let has_inputs = inputs
            .get(operation)
            .is_some_and(|inputs| !inputs.is_empty());
        has_inputs && !consumed.contains(operation)
    });
    let start_operations: Vec<usize> = outputs.chain(producers.iter().copied()).collect();
    let inputs_of = |operation| Ok(inputs.get(&operation).cloned().unwrap_or_default());
    post_order(&start_operations, inputs_of, budget)
}

/// Returns the node index of the operation that produces a tensor.
fn producer(tensor: NodeRef<'_>) -> Result<usize, Error> {
    Ok(tensor.follow_required("op")?.index)
}

/// Returns the node indices of the operations that an operation reads from.
fn operation_inputs(
    graph: &TvmGraph,
    node: NodeRef<'_>,
    budget: &mut StepBudget,
) -> Result<Vec<usize>, Error> {
    if node.type_key() != "ComputeOp" {
        return Ok(Vec::new());
    }
    let body: Vec<usize> = node
        .follow_list("body")?
        .into_iter()
        .map(|node| node.index)
        .collect();
    let operands = |index| {
        let operands = operands(graph.node(index)?)?;
        Ok(operands.into_iter().map(|node| node.index).collect())
    };
    let (mut inputs, mut known_inputs) = (Vec::new(), HashSet::<usize, RandomState>::default());
    for index in post_order(&body, operands, budget)? {
        let expression = graph.node(index)?;
        if expression.type_key() == "tir.ProducerLoad" {
            let operation = producer(expression.follow_required("producer")?)?;
            if known_inputs.insert(operation) {
                inputs.push(operation);
            }
        }
    }
    Ok(inputs)
}

/// Reads the sizes in the attribute `shape`.
fn read_shape(node: NodeRef<'_>, budget: &mut StepBudget) -> Result<Vec<Option<i64>>, Error> {
    let sizes = node.follow_list("shape")?;
    budget.take(sizes.len() as u64)?;
    sizes.into_iter().map(constant).collect()
}

impl Operation {
    fn read(node: NodeRef<'_>, inputs: Vec<usize>, budget: &mut StepBudget) -> Result<Self, Error> {
        let (shape, dtype) = match node.type_key() {
            "PlaceholderOp" => (
                read_shape(node, budget)?,
                Some(node.text_attribute("dtype")?),
            ),
            "ComputeOp" => {
                let axes = node.follow_list("axis")?;
                budget.take(axes.len() as u64)?;
                let body = node.follow_list("body")?;
                let dtype = body.first().map(|first| first.text_attribute("dtype"));
                (extents(&axes)?, dtype.transpose()?)
            }
            _ => (Vec::new(), None),
        };
        budget.take(dtype.map_or(0, str::len) as u64)?;
        Ok(Self {
            op_type: node.type_key().to_owned(),
            name: node.text_attribute("name")?.to_owned(),
            tag: node.text_attribute("tag")?.to_owned(),
            shape,
            dtype: dtype.map(str::to_owned),
            inputs,
        })
    }
}

impl Tensor {
    fn read(
        node: NodeRef<'_>,
        operation: Option<&Operation>,
        operation_index: usize,
        budget: &mut StepBudget,
    ) -> Result<Self, Error> {
        let operation = operation.ok_or_else(|| Error::wrong("a tensor without an operation"))?;
        let (op_type, name) = (operation.op_type.clone(), operation.name.clone());
        let dtype = node.text_attribute("dtype")?.to_owned();
        budget.take((op_type.len() + name.len() + dtype.len()) as u64)?;
        Ok(Self {
            op_type,
            name,
            shape: read_shape(node, budget)?,
            dtype,
            operation: operation_index,
        })
    }
}
