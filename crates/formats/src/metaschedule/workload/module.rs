//! A module as functions with parameters and blocks, from graphs of both spellings.
//!
//! TVM up to 0.20 binds a parameter (`tir.Var`) to a `tir.Buffer` in the function's `buffer_map`; later ones are
//! variables of a type (`tirx.BufferType`). Shapes and types that are neither are left out. What is walked
//! is looked at for cycles, and by one budget for all functions.

use std::collections::HashMap;

use super::function::{Function, Parameter};
use crate::tvm_json::{At, Budget, Error, Graph, post_order};

/// Attributes of statements that are statements.
const STATEMENTS: [&str; 6] = ["init", "body", "block", "seq", "then_case", "else_case"];

/// How the types of functions end: `tir.PrimFunc`, `tirx.PrimFunc`.
const FUNCTION: &str = ".PrimFunc";

/// How those of blocks end: `tir.Block`, `s_tir.SBlock`.
const BLOCKS: [&str; 2] = [".Block", ".SBlock"];

/// The functions of a module, in its order. Those in other languages than TIR are left out.
///
/// # Errors
/// A graph of something else; places that are none; cycles.
pub(super) fn functions(graph: &Graph) -> Result<Vec<Function>, Error> {
    let module = graph.root()?;
    if !matches!(module.type_key(), "IRModule" | "ir.IRModule") {
        let type_key = module.type_key();
        return Err(Error::wrong(format!(
            "a graph of {type_key:?} instead of a module"
        )));
    }
    let mut reader = Reader {
        graph,
        budget: Budget::of(graph),
    };
    let mut functions = Vec::new();
    for (variable, function) in module.follow_to("functions")?.pairs() {
        if function.type_key().ends_with(FUNCTION) {
            functions.push(reader.function(variable, function)?);
        }
    }
    Ok(functions)
}

/// Reads functions of a graph.
struct Reader<'a> {
    graph: &'a Graph,
    /// What may be taken of it: a small graph may name one thing a million times.
    budget: Budget,
}

impl<'a> Reader<'a> {
    fn function(&mut self, variable: At<'a>, function: At<'a>) -> Result<Function, Error> {
        let mut buffers = HashMap::new();
        if function.node.attributes.contains_key("buffer_map")
            && let Some(map) = function.follow("buffer_map")?
        {
            let pairs = map.pairs();
            self.budget.take(pairs.len() as u64)?;
            buffers.extend(pairs.map(|(variable, buffer)| (variable.index, buffer)));
        }
        let mut parameters = Vec::new();
        for parameter in function.list("params")? {
            let buffer = buffers.get(&parameter.index).copied();
            parameters.push(self.parameter(parameter, buffer)?);
        }
        Ok(Function {
            name: self.named(variable, "name_hint")?,
            parameters,
            blocks: self.blocks(function)?,
        })
    }

    fn parameter(&mut self, variable: At<'a>, buffer: Option<At<'a>>) -> Result<Parameter, Error> {
        let name = self.named(buffer.unwrap_or(variable), "name")?;
        // What says its type: the buffer, the type of the variable, or the variable itself.
        let typed = match buffer {
            Some(buffer) => buffer,
            None if variable.node.attributes.contains_key("ty") => {
                variable.follow("ty")?.unwrap_or(variable)
            }
            None => variable,
        };
        Ok(Parameter {
            name,
            dtype: self.dtype(typed)?,
            shape: self.shape(typed)?,
        })
    }

    /// A text, or the type that is a place.
    fn dtype(&mut self, typed: At<'a>) -> Result<Option<String>, Error> {
        let mut typed = typed;
        if let Some(value) = typed.node.attributes.get("dtype")
            && value.is_number()
        {
            typed = typed.follow_to("dtype")?;
        }
        let dtype = typed.node.attributes.get("dtype");
        let dtype = dtype.and_then(|dtype| dtype.as_str());
        dtype.map(|dtype| self.text(dtype)).transpose()
    }

    fn shape(&mut self, typed: At<'a>) -> Result<Option<Vec<i64>>, Error> {
        if !typed.node.attributes.contains_key("shape") {
            return Ok(None);
        }
        let Some(shape) = typed.follow("shape")?.filter(|shape| shape.is_array()) else {
            return Ok(None);
        };
        let extents = shape.elements();
        self.budget.take(1 + extents.len() as u64)?;
        Ok(extents.map(constant).collect())
    }

    /// The names of the blocks of a function, in the order of their text.
    fn blocks(&mut self, function: At<'a>) -> Result<Vec<String>, Error> {
        let body = function.follow_to("body")?;
        let graph = self.graph;
        let children = |index| {
            // From the last: what comes last in an order after children is first in one before them.
            let mut children = statements(graph.at(index)?)?;
            children.reverse();
            Ok(children)
        };
        let order = post_order(&[body.index], children, &mut self.budget)?;
        let mut names = Vec::new();
        for index in order.into_iter().rev() {
            let at = graph.at(index)?;
            if BLOCKS.iter().any(|end| at.type_key().ends_with(end)) {
                names.push(self.named(at, "name_hint")?);
            }
        }
        Ok(names)
    }

    /// The text whose place an attribute is.
    fn named(&mut self, at: At<'a>, attribute: &str) -> Result<String, Error> {
        let name = at.follow_to(attribute)?;
        let text = name.text();
        let (index, type_key) = (name.index, name.type_key());
        let wrong = || Error::wrong(format!("node {index} ({type_key}) is no name"));
        self.text(text.ok_or_else(wrong)?)
    }

    /// A copy of a text, which is taken down.
    fn text(&mut self, text: &str) -> Result<String, Error> {
        self.budget.take(1 + text.len() as u64)?;
        Ok(text.to_owned())
    }
}

/// The statements within one.
fn statements(at: At<'_>) -> Result<Vec<usize>, Error> {
    let mut within: Vec<usize> = at.elements().map(|at| at.index).collect();
    for name in STATEMENTS {
        if at.node.attributes.contains_key(name) {
            within.extend(at.follow(name)?.map(|at| at.index));
        }
    }
    Ok(within)
}

/// An extent that is a constant: its value, or since 0.27, where constants state no data type, the place of its value.
fn constant(extent: At<'_>) -> Option<i64> {
    match extent.type_key() {
        "IntImm" => extent.whole("value").ok(),
        "ir.IntImm" if extent.node.attributes.contains_key("dtype") => extent.whole("value").ok(),
        "ir.IntImm" => {
            let value = extent.follow("value").ok()??;
            value.node.value.as_ref()?.as_i64()
        }
        _ => None,
    }
}
