//! Nodes of graphs in the format of several TVM versions.

use std::fmt::Write as _;

use super::{E, Tool};

/// Writer of graphs.
pub(super) struct Writer {
    pub(super) tool: Tool,
    pub(super) nodes: Vec<String>,
    /// Node indices of tensors or of their buffers.
    pub(super) tensors: Vec<usize>,
    /// Node indices of the axis variables of a stage.
    pub(super) axes: Vec<usize>,
}

impl Writer {
    pub(super) fn is_later(&self) -> bool {
        self.tool == Tool::Later
    }

    /// Adds a node with these attributes: ` a=3 b:text c=0.5`. In later versions numbers are not texts.
    pub(super) fn node(&mut self, type_key: &str, attributes: &str) -> usize {
        let mut attributes_json = String::new();
        for attribute in attributes.split(' ').filter(|one| !one.is_empty()) {
            let (name, value, is_text) = match attribute.split_once('=') {
                Some((name, value)) => (name, value, !self.is_later()),
                None => {
                    let (name, value) = attribute.split_once(':').unwrap();
                    (name, value, true)
                }
            };
            let comma = if attributes_json.is_empty() { "" } else { ", " };
            let quote = if is_text { "\"" } else { "" };
            write!(attributes_json, "{comma}\"{name}\": {quote}{value}{quote}").unwrap();
        }
        let (kind, content) = if self.is_later() {
            ("type", "data")
        } else {
            ("type_key", "attrs")
        };
        self.add(format!(
            "{{\"{kind}\": \"{type_key}\", \"{content}\": {{{attributes_json}}}}}"
        ))
    }

    pub(super) fn add(&mut self, node: String) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Adds a node of the namespace of expressions, which differs between versions.
    pub(super) fn tir(&mut self, name: &str, attributes: &str) -> usize {
        let space = match name {
            _ if !self.is_later() => "tir",
            "Var" | "TensorLoad" | "Call" => "ir",
            "BufferStore" | "For" | "IterVar" | "PrimFunc" | "SeqStmt" => "tirx",
            "SBlock" | "SBlockRealize" => "s_tir",
            _ => "prim",
        };
        self.node(&format!("{space}.{name}"), attributes)
    }

    pub(super) fn array(&mut self, elements: &[usize]) -> usize {
        let name = if self.is_later() {
            "ffi.Array\", \"data"
        } else {
            "Array\", \"data"
        };
        let kind = if self.is_later() { "type" } else { "type_key" };
        self.add(format!("{{\"{kind}\": \"{name}\": {elements:?}}}"))
    }

    /// Attributes that state the type of a node.
    pub(super) fn dtype(&mut self, dtype: &str) -> String {
        if self.is_later() {
            let type_index = self.node("ir.PrimType", &format!("dtype:{dtype}"));
            format!("ty={type_index}")
        } else {
            format!("dtype:{dtype}")
        }
    }

    /// Type of axes: Relay modules used 64 bits.
    pub(super) fn axis_dtype(&self) -> &'static str {
        if self.tool == Tool::Older {
            "int64"
        } else {
            "int32"
        }
    }

    pub(super) fn integer(&mut self, dtype: &str, value: i64) -> usize {
        let type_attribute = self.dtype(dtype);
        if self.is_later() {
            let value = self.add(format!("{{\"type\": \"int\", \"data\": {value}}}"));
            self.node("ir.IntImm", &format!("{type_attribute} value={value}"))
        } else {
            self.node("IntImm", &format!("{type_attribute} value={value}"))
        }
    }

    pub(super) fn index(&mut self, value: i64) -> usize {
        self.integer(self.axis_dtype(), value)
    }

    pub(super) fn indices(&mut self, values: &[i64]) -> usize {
        let values: Vec<usize> = values.iter().map(|&value| self.index(value)).collect();
        self.array(&values)
    }

    pub(super) fn float(&mut self, dtype: &str, value: f64) -> usize {
        let type_attribute = self.dtype(dtype);
        let name = if self.is_later() {
            "ir.FloatImm"
        } else {
            "FloatImm"
        };
        self.node(name, &format!("{type_attribute} value={value:?}"))
    }

    /// Adds a variable that is named after its index.
    pub(super) fn variable(&mut self, dtype: &str) -> usize {
        let type_attribute = self.dtype(dtype);
        self.tir("Var", &type_attribute)
    }

    /// Adds axes with these extents and appends their variables to the axes.
    pub(super) fn iteration_axes(&mut self, extents: &[i64], kind: i64) -> Vec<usize> {
        let mut axis_nodes = Vec::new();
        for &extent in extents {
            let variable = self.variable(self.axis_dtype());
            self.axes.push(variable);
            let (minimum, extent) = (self.index(0), self.index(extent));
            let range = if self.is_later() { "ir.Range" } else { "Range" };
            let range = self.node(range, &format!("min={minimum} extent={extent}"));
            let axis = format!("dom={range} var={variable} iter_type={kind}");
            axis_nodes.push(self.tir("IterVar", &axis));
        }
        axis_nodes
    }

    pub(super) fn expression(&mut self, e: &E, dtype: &str) -> usize {
        match e {
            E::Axis(axis) => self.axes[*axis],
            E::Integer(value) => self.index(*value),
            E::Float(value) => self.float(dtype, *value),
            E::Load(tensor, indices) => {
                let indices: Vec<usize> =
                    indices.iter().map(|e| self.expression(e, dtype)).collect();
                self.load(*tensor, &indices, dtype)
            }
            E::Op(name, operands) => {
                let [a, b] = operands.each_ref().map(|e| self.expression(e, dtype));
                let result_dtype = match *name {
                    "LE" | "LT" | "GE" | "GT" | "EQ" | "NE" | "And" | "Or" => "bool",
                    _ if is_float(e) => dtype,
                    _ => self.axis_dtype(),
                };
                let type_attribute = self.dtype(result_dtype);
                self.tir(name, &format!("a={a} b={b} {type_attribute}"))
            }
            E::Not(e) => {
                let a = self.expression(e, dtype);
                let type_attribute = self.dtype("bool");
                self.tir("Not", &format!("a={a} {type_attribute}"))
            }
            E::Cast(dtype, e) => {
                let value = self.expression(e, dtype);
                let type_attribute = self.dtype(dtype);
                self.tir("Cast", &format!("value={value} {type_attribute}"))
            }
            E::Call("select", arguments) => {
                let [a, b, c] = [0, 1, 2].map(|index| self.expression(&arguments[index], dtype));
                let type_attribute = self.dtype(if is_float(e) {
                    dtype
                } else {
                    self.axis_dtype()
                });
                self.tir(
                    "Select",
                    &format!("condition={a} true_value={b} false_value={c} {type_attribute}"),
                )
            }
            E::Call(name, arguments) => {
                let arguments: Vec<usize> = arguments
                    .iter()
                    .map(|e| self.expression(e, dtype))
                    .collect();
                let (arguments, type_attribute) = (self.array(&arguments), self.dtype(dtype));
                let function = if self.is_later() {
                    self.add(format!(
                        "{{\"type\": \"ir.Op\", \"data\": \"prim.{name}\"}}"
                    ))
                } else {
                    self.add(format!(
                        "{{\"type_key\": \"Op\", \"repr_str\": \"tir.{name}\"}}"
                    ))
                };
                self.tir(
                    "Call",
                    &format!("op={function} args={arguments} {type_attribute}"),
                )
            }
        }
    }

    pub(super) fn load(&mut self, tensor: usize, indices: &[usize], dtype: &str) -> usize {
        let (name, source) = match self.tool {
            Tool::Te => ("ProducerLoad", "producer"),
            Tool::Older => ("BufferLoad", "buffer"),
            Tool::Later => ("TensorLoad", "source"),
        };
        let (indices, type_attribute) = (self.array(indices), self.dtype(dtype));
        let tensor = self.tensors[tensor];
        self.tir(
            name,
            &format!("{source}={tensor} indices={indices} {type_attribute}"),
        )
    }
}

/// Whether it computes floats.
fn is_float(e: &E) -> bool {
    match e {
        E::Float(_) | E::Load(..) | E::Cast("float32", _) => true,
        E::Call("select", arguments) => is_float(&arguments[1]),
        E::Call(..) => true,
        E::Op(_, operands) => operands.iter().any(is_float),
        _ => false,
    }
}
