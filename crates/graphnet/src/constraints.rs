//! `input_tensor_constraints.py`: dynamic dimensions of the inputs and their example values.
//!
//! The file repeats the name and shape of every tensor. Only the new information is stored: the symbols, an example
//! value of each, and their positions in the shapes.

use std::collections::HashMap;

use tsql_codecs::tensors::Tensor;

use super::expr::{Expr, ExprParser};
use super::lines::LogicalLines;

const LINE_WIDTH: usize = 88;

/// Symbols of a file and the shapes that use them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Constraints {
    /// Symbols with their example values, as `S0=1,S1=224`.
    pub symbols: String,
    /// Name and shape of each input; sizes are separated by commas.
    shapes: Vec<(String, String)>,
}

impl Constraints {
    /// Parses a file; `None` if any part is unsupported.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut constraints = Self::default();
        for line in LogicalLines::new(text) {
            if line.text.starts_with("from ") || line.text.starts_with("import ") {
                continue;
            }
            // The expression grammar has no dictionaries.
            if let Some(examples) = line.text.strip_prefix(EXAMPLES_PREFIX) {
                let examples = examples.trim().strip_prefix('{')?.strip_suffix('}')?;
                constraints.symbols = examples.replace(": ", "=").replace(", ", ",");
                continue;
            }
            let mut parser = ExprParser::new(line.text);
            let name = parser.take_name()?;
            if !parser.take("=") {
                return None;
            }
            let value = parser.parse_expressions()?;
            if name == SHAPES_NAME {
                let Expr::List(shapes) = &value else {
                    return None;
                };
                constraints.shapes = shapes.iter().map(parse_shape).collect::<Option<_>>()?;
            }
        }
        Some(constraints)
    }

    /// Sets the symbolic shapes of the tensors.
    pub(crate) fn apply(&self, tensors: &mut [Tensor]) {
        let shapes = self.shapes.iter();
        let shapes: HashMap<&str, &str> = shapes
            .map(|(name, shape)| (name.as_str(), shape.as_str()))
            .collect();
        for tensor in tensors {
            let shape = shapes.get(tensor.name.as_str());
            let shape = shape.filter(|shape| Some(**shape) != tensor.shape.as_deref());
            tensor.symbolic_shape = shape.map(|shape| (*shape).to_owned());
        }
    }
}

const EXAMPLES_PREFIX: &str = "dynamic_dim_constraint_symbol2example_value =";
const SHAPES_NAME: &str = "dynamic_dim_constraint_input_shapes";

/// Parses an entry `([S0, 3], "name")`.
fn parse_shape(expr: &Expr<'_>) -> Option<(String, String)> {
    let Expr::Tuple(parts) = expr else {
        return None;
    };
    let [Expr::List(sizes), Expr::Text(name)] = parts.as_slice() else {
        return None;
    };
    let size_text = |expr: &Expr<'_>| match expr {
        Expr::Number(text) | Expr::Name(text) => Some((*text).to_owned()),
        _ => None,
    };
    let sizes: Option<Vec<String>> = sizes.iter().map(size_text).collect();
    Some((name.trim_matches('"').to_owned(), sizes?.join(",")))
}

/// Returns the file as the extractor and black write it. `imports` lists the names imported from sympy; empty for none.
pub(crate) fn write(symbols: &str, tensors: &[Tensor], imports: &str) -> String {
    let mut text = String::new();
    if !imports.is_empty() {
        text.push_str(&format!("from sympy import {imports}\n\n"));
    }
    let symbols: Vec<(&str, &str)> = symbols
        .split(',')
        .filter_map(|definition| definition.split_once('='))
        .collect();
    for (name, _) in &symbols {
        text.push_str(&format!("{name} = Symbol(\"{name}\")\n"));
    }
    if !(symbols.is_empty() && imports.is_empty()) {
        text.push('\n');
    }
    let names: Vec<&str> = symbols.iter().map(|(name, _)| *name).collect();
    let examples = symbols
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    let examples: Vec<String> = examples.collect();
    text.push_str(&format!(
        "dynamic_dim_constraint_symbols = [{}]\n\n{EXAMPLES_PREFIX} {{{}}}\n\n\
         dynamic_dim_constraint_relations = []\n\n",
        names.join(", "),
        examples.join(", ")
    ));
    let mut sorted: Vec<&Tensor> = tensors.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    if sorted.is_empty() {
        text.push_str(&format!("{SHAPES_NAME} = []\n"));
        return text;
    }
    let entries = sorted.iter().map(|tensor| {
        let shape = tensor.symbolic_shape.as_ref().or(tensor.shape.as_ref());
        let shape = shape.map_or("", String::as_str).replace(',', ", ");
        (format!("[{shape}]"), format!("\"{}\"", tensor.name))
    });
    let entries: Vec<(String, String)> = entries.collect();
    let joined = entries
        .iter()
        .map(|(shape, name)| format!("({shape}, {name})"));
    let joined = joined.collect::<Vec<_>>().join(", ");
    if SHAPES_NAME.len() + joined.len() + 5 <= LINE_WIDTH {
        text.push_str(&format!("{SHAPES_NAME} = [{joined}]\n"));
        return text;
    }
    text.push_str(&format!("{SHAPES_NAME} = [\n"));
    for (shape, name) in entries {
        let line = format!("    ({shape}, {name}),\n");
        if line.len() <= LINE_WIDTH + 1 {
            text.push_str(&line);
        } else {
            text.push_str(&format!(
                "    (\n        {shape},\n        {name},\n    ),\n"
            ));
        }
    }
    text.push_str("]\n");
    text
}
