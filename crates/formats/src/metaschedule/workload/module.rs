//! Reads the functions of a module, with parameters and blocks, from graphs in both formats.
//!
//! TVM up to 0.20 binds a parameter (`tir.Var`) to a `tir.Buffer` in the function's `buffer_map`. In later versions
//! parameters are variables of a type (`tirx.BufferType`). Other shapes and types are skipped. Walks detect cycles and
//! share one budget for all functions.

use std::collections::HashMap;

use super::function::{Function, Parameter};
use crate::tvm_json::{Error, NodeRef, StepBudget, TvmGraph, post_order};

/// Attributes that contain statements.
const STATEMENTS: [&str; 6] = ["init", "body", "block", "seq", "then_case", "else_case"];

/// Suffix of the type names of functions: `tir.PrimFunc`, `tirx.PrimFunc`.
const FUNCTION: &str = ".PrimFunc";

/// Suffixes of the type names of blocks: `tir.Block`, `s_tir.SBlock`.
const BLOCKS: [&str; 2] = [".Block", ".SBlock"];

/// Returns the TIR functions of a module, in order. Functions in other languages are skipped.
///
/// # Errors
/// Returns an error for other graphs, invalid node indices and cycles.
pub(super) fn functions(graph: &TvmGraph) -> Result<Vec<Function>, Error> {
    let module = graph.root()?;
    if !matches!(module.type_key(), "IRModule" | "ir.IRModule") {
        let type_key = module.type_key();
        return Err(Error::wrong(format!(
            "the root of the graph is {type_key:?}, expected a module"
        )));
    }
    let mut reader = ModuleReader {
        graph,
        budget: StepBudget::for_graph(graph),
    };
    let mut functions = Vec::new();
    for (variable, function) in module.follow_required("functions")?.pairs() {
        if function.type_key().ends_with(FUNCTION) {
            functions.push(reader.read_function(variable, function)?);
        }
    }
    Ok(functions)
}

/// Reader of the functions of a graph.
struct ModuleReader<'a> {
    graph: &'a TvmGraph,
    /// Remaining budget of steps. A small graph may reference one node a million times.
    budget: StepBudget,
}

impl<'a> ModuleReader<'a> {
    fn read_function(
        &mut self,
        variable: NodeRef<'a>,
        function: NodeRef<'a>,
    ) -> Result<Function, Error> {
        let mut buffers = HashMap::new();
        if function.node.attributes.contains_key("buffer_map")
            && let Some(map) = function.follow("buffer_map")?
        {
            let pairs = map.pairs();
            self.budget.take(pairs.len() as u64)?;
            buffers.extend(pairs.map(|(variable, buffer)| (variable.index, buffer)));
        }
        let mut parameters = Vec::new();
        for parameter in function.follow_list("params")? {
            let buffer = buffers.get(&parameter.index).copied();
            parameters.push(self.read_parameter(parameter, buffer)?);
        }
        Ok(Function {
            name: self.text_attribute(variable, "name_hint")?,
            parameters,
            blocks: self.block_names(function)?,
        })
    }

    fn read_parameter(
        &mut self,
        variable: NodeRef<'a>,
        buffer: Option<NodeRef<'a>>,
    ) -> Result<Parameter, Error> {
        let name = self.text_attribute(buffer.unwrap_or(variable), "name")?;
        // The type is stated by the buffer, by the type of the variable, or by the variable itself.
        let type_node = match buffer {
            Some(buffer) => buffer,
            None if variable.node.attributes.contains_key("ty") => {
                variable.follow("ty")?.unwrap_or(variable)
            }
            None => variable,
        };
        Ok(Parameter {
            name,
            dtype: self.read_dtype(type_node)?,
            shape: self.read_shape(type_node)?,
        })
    }

    /// Returns the data type, which is stored as text or as the index of a type node.
    fn read_dtype(&mut self, type_node: NodeRef<'a>) -> Result<Option<String>, Error> {
        let mut type_node = type_node;
        if let Some(value) = type_node.node.attributes.get("dtype")
            && value.is_number()
        {
            type_node = type_node.follow_required("dtype")?;
        }
        let dtype = type_node.node.attributes.get("dtype");
        let dtype = dtype.and_then(|dtype| dtype.as_str());
        dtype.map(|dtype| self.copy_text(dtype)).transpose()
    }

    fn read_shape(&mut self, type_node: NodeRef<'a>) -> Result<Option<Vec<i64>>, Error> {
        if !type_node.node.attributes.contains_key("shape") {
            return Ok(None);
        }
        let Some(shape) = type_node.follow("shape")?.filter(|shape| shape.is_array()) else {
            return Ok(None);
        };
        let extents = shape.elements();
        self.budget.take(1 + extents.len() as u64)?;
        Ok(extents.map(constant_extent).collect())
    }

    /// Returns the block names of a function, in the order of appearance.
    fn block_names(&mut self, function: NodeRef<'a>) -> Result<Vec<String>, Error> {
        let body = function.follow_required("body")?;
        let graph = self.graph;
        let children = |index| {
            // Children in reverse: reversing the post-order yields the pre-order.
            let mut children = inner_statements(graph.node(index)?)?;
            children.reverse();
            Ok(children)
        };
        let order = post_order(&[body.index], children, &mut self.budget)?;
        let mut names = Vec::new();
        for index in order.into_iter().rev() {
            let node = graph.node(index)?;
            if BLOCKS
                .iter()
                .any(|suffix| node.type_key().ends_with(suffix))
            {
                names.push(self.text_attribute(node, "name_hint")?);
            }
        }
        Ok(names)
    }

    /// Returns the text of the node that an attribute references.
    fn text_attribute(&mut self, node: NodeRef<'a>, attribute: &str) -> Result<String, Error> {
        let name = node.follow_required(attribute)?;
        let text = name.text();
        let (index, type_key) = (name.index, name.type_key());
        let name_error = || Error::wrong(format!("node {index} ({type_key}) is not a name"));
        self.copy_text(text.ok_or_else(name_error)?)
    }

    /// Copies a text and subtracts its length from the budget.
    fn copy_text(&mut self, text: &str) -> Result<String, Error> {
        self.budget.take(1 + text.len() as u64)?;
        Ok(text.to_owned())
    }
}

/// Returns the node indices of the statements inside of a statement.
fn inner_statements(node: NodeRef<'_>) -> Result<Vec<usize>, Error> {
    let mut statements: Vec<usize> = node.elements().map(|node| node.index).collect();
    for name in STATEMENTS {
        if node.node.attributes.contains_key(name) {
            statements.extend(node.follow(name)?.map(|node| node.index));
        }
    }
    Ok(statements)
}

/// Returns the value of a constant extent. Since 0.27 constants have no data type and their value is a separate node.
fn constant_extent(extent: NodeRef<'_>) -> Option<i64> {
    match extent.type_key() {
        "IntImm" => extent.integer_attribute("value").ok(),
        "ir.IntImm" if extent.node.attributes.contains_key("dtype") => {
            extent.integer_attribute("value").ok()
        }
        "ir.IntImm" => {
            let value = extent.follow("value").ok()??;
            value.node.value.as_ref()?.as_i64()
        }
        _ => None,
    }
}
