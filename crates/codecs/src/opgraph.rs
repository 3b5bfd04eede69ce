//! Byte encoding of captured torch and paddle graphs: operations, operands and returned values.
//!
//! Calls repeat: of 1.37 M statements, 8,095 differ after blanking the operands. An *operation type* is a
//! call with `?` for each operand. A graph lists its types and stores a type index for each node, as graphs
//! of TpuGraphs do. Value names are not included.
//!
//! The packed bytes are also hashed, so the encoding must never change silently.

use crate::graph::pack_numbers;
use crate::identity;
use crate::varint;

/// A call with blanked operands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpType {
    /// The call with `?` for each operand.
    pub signature: String,
    /// Number of returned values.
    pub outputs: u32,
    /// Name in GraphNet's vocabulary: `conv2d`, `Tensor.view`, `iadd`. `None` for text that the reader does
    /// not understand.
    pub op: Option<String>,
    /// `call_function`, `call_method`, `list` or `unparsed`.
    pub kind: &'static str,
    /// Called function, as written in the file.
    pub target: Option<String>,
    /// Constants as a JSON object, by the position or keyword of the argument.
    pub attributes: String,
    /// Position or keyword of the argument that contains each operand, comma-separated.
    pub places: String,
}

/// An operand of a node, or a returned value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// An argument of the graph.
    Argument(u32),
    /// A previous node, and the index of its output.
    Node(u32, u32),
}

/// A captured graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpGraph {
    /// `torch` or `paddle`.
    pub framework: &'static str,
    /// Number of arguments.
    pub argument_count: u32,
    /// Distinct types in the order of their first nodes.
    pub types: Vec<OpType>,
    /// Signature without numbers, for each type.
    pub shape_free: Vec<String>,
    /// Index into `types` for each node.
    pub type_of_node: Vec<u32>,
    /// Operands of each node, in call order.
    pub operands: Vec<Vec<Operand>>,
    /// Returned values, in order.
    pub returns: Vec<Operand>,
}

impl OpGraph {
    /// Content hash of the graph: XXH3-128 in hex.
    pub fn content_hash(&self) -> String {
        let mut types = Vec::new();
        for op_type in &self.types {
            write_text(&op_type.signature, &mut types);
            varint::write_unsigned(i64::from(op_type.outputs), &mut types);
        }
        self.hash(&types, &pack_numbers(&self.type_of_node))
    }

    /// Content hash without the numbers in calls. It is equal for shape variants of a model.
    pub fn shape_free_hash(&self) -> String {
        let mut merged_types: std::collections::HashMap<(&str, u32), u32> = Default::default();
        let mut types = Vec::new();
        let mut merged = Vec::with_capacity(self.types.len());
        for (op_type, shape_free) in self.types.iter().zip(&self.shape_free) {
            let next = u32::try_from(merged_types.len()).unwrap_or(u32::MAX);
            let index = *merged_types
                .entry((shape_free, op_type.outputs))
                .or_insert(next);
            if index == next {
                write_text(shape_free, &mut types);
                varint::write_unsigned(i64::from(op_type.outputs), &mut types);
            }
            merged.push(index);
        }
        let nodes = self.type_of_node.iter();
        let nodes: Vec<u32> = nodes
            .filter_map(|&index| merged.get(index as usize).copied())
            .collect();
        self.hash(&types, &pack_numbers(&nodes))
    }

    /// XXH3-128 of the operation names in order, in hex.
    pub fn op_sequence_hash(&self) -> String {
        let mut names = Vec::new();
        for op in self.ops() {
            write_text(op.unwrap_or_default(), &mut names);
        }
        identity::core_hash(&[b"op sequence", &names])
    }

    /// Operation names in order.
    pub fn ops(&self) -> impl Iterator<Item = Option<&str>> {
        let nodes = self.type_of_node.iter();
        nodes.map(|&index| self.types.get(index as usize)?.op.as_deref())
    }

    /// Number of uses of values by nodes.
    pub fn edge_count(&self) -> usize {
        self.operands.iter().map(Vec::len).sum()
    }

    fn hash(&self, types: &[u8], nodes: &[u8]) -> String {
        let mut count = Vec::new();
        varint::write_unsigned(i64::from(self.argument_count), &mut count);
        identity::core_hash(&[
            self.framework.as_bytes(),
            &count,
            types,
            nodes,
            &self.pack_operands(),
            &self.pack_returns(),
        ])
    }

    /// Packs the operand count of each node, then all operands (see `Packer`).
    pub fn pack_operands(&self) -> Vec<u8> {
        let counts = self.operands.iter().map(Vec::len);
        let counts: Vec<u32> = counts
            .map(|count| u32::try_from(count).unwrap_or(u32::MAX))
            .collect();
        let mut packed = pack_numbers(&counts);
        let mut packer = Packer::default();
        for (node, operands) in (0_u32..).zip(&self.operands) {
            for &operand in operands {
                packer.write(node, operand, &mut packed);
            }
        }
        packed
    }

    /// Packs the returned values, as operands of one extra node.
    pub fn pack_returns(&self) -> Vec<u8> {
        let end = u32::try_from(self.type_of_node.len()).unwrap_or(u32::MAX);
        let mut packed = Vec::new();
        let mut packer = Packer::default();
        for &operand in &self.returns {
            packer.write(end, operand, &mut packed);
        }
        packed
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    varint::write_unsigned(i64::try_from(text.len()).unwrap_or(i64::MAX), out);
    out.extend_from_slice(text.as_bytes());
}

/// Undoes [`OpGraph::pack_operands`]: the operands of each node. Returns `None` for other bytes.
pub fn unpack_operands(mut packed: &[u8], nodes: usize) -> Option<Vec<Vec<Operand>>> {
    // Each count takes at least one byte, so damaged input cannot request more memory than its length.
    let mut counts = Vec::with_capacity(nodes.min(packed.len()));
    for _ in 0..nodes {
        counts.push(varint::read_unsigned(&mut packed)?);
    }
    let mut packer = Packer::default();
    let mut all = Vec::with_capacity(nodes);
    for (node, count) in (0_u32..).zip(counts) {
        let mut operands = Vec::new();
        for _ in 0..count {
            operands.push(packer.read(node, &mut packed)?);
        }
        all.push(operands);
    }
    packed.is_empty().then_some(all)
}

/// Undoes [`OpGraph::pack_returns`].
pub fn unpack_returns(mut packed: &[u8], nodes: usize) -> Option<Vec<Operand>> {
    let end = u32::try_from(nodes).ok()?;
    let mut packer = Packer::default();
    let mut all = Vec::new();
    while !packed.is_empty() {
        all.push(packer.read(end, &mut packed)?);
    }
    Some(all)
}

/// Encodes an operand as one number: four times a distance plus a tag.
///
/// - 0: first output of the node that many places back.
/// - 1: the argument that far after the furthest one so far.
/// - 2: the argument that far before it.
/// - 3: another output (which follows) of the node that many places back.
#[derive(Default)]
struct Packer {
    /// Furthest argument so far, plus one.
    arguments: u32,
}

impl Packer {
    fn write(&mut self, node: u32, operand: Operand, out: &mut Vec<u8>) {
        let code = |distance: u32, kind: i64| i64::from(distance) * 4 + kind;
        match operand {
            Operand::Node(producer, 0) => {
                varint::write_unsigned(code(node.saturating_sub(producer), 0), out);
            }
            Operand::Node(producer, output) => {
                varint::write_unsigned(code(node.saturating_sub(producer), 3), out);
                varint::write_unsigned(i64::from(output), out);
            }
            Operand::Argument(index) if index >= self.arguments => {
                varint::write_unsigned(code(index - self.arguments, 1), out);
                self.arguments = index + 1;
            }
            Operand::Argument(index) => {
                varint::write_unsigned(code(self.arguments - 1 - index, 2), out);
            }
        }
    }

    fn read(&mut self, node: u32, packed: &mut &[u8]) -> Option<Operand> {
        let code = varint::read_unsigned(packed)?;
        let distance = u32::try_from(code >> 2).ok()?;
        match code & 3 {
            0 => Some(Operand::Node(node.checked_sub(distance)?, 0)),
            1 => {
                let index = self.arguments.checked_add(distance)?;
                self.arguments = index.checked_add(1)?;
                Some(Operand::Argument(index))
            }
            2 => {
                let last = self.arguments.checked_sub(1)?;
                Some(Operand::Argument(last.checked_sub(distance)?))
            }
            _ => {
                let output = u32::try_from(varint::read_unsigned(packed)?).ok()?;
                Some(Operand::Node(node.checked_sub(distance)?, output))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> OpGraph {
        let op_type = |signature: &str, op: &str, outputs| OpType {
            signature: signature.to_owned(),
            op: Some(op.to_owned()),
            outputs,
            ..OpType::default()
        };
        OpGraph {
            framework: "torch",
            argument_count: 4,
            types: vec![
                op_type("?.view(1, 7)", "Tensor.view", 1),
                op_type("max(?, ?)", "max", 2),
            ],
            shape_free: vec!["?.view(#, #)".to_owned(), "max(?, ?)".to_owned()],
            type_of_node: vec![0, 1, 0, 1],
            operands: vec![
                vec![Operand::Argument(2)],
                vec![Operand::Node(0, 0), Operand::Argument(0)],
                vec![Operand::Node(1, 1)],
                vec![Operand::Argument(3), Operand::Node(1, 0)],
            ],
            returns: vec![Operand::Node(3, 0), Operand::Argument(1)],
        }
    }

    #[test]
    fn operands_come_back() {
        let graph = graph();
        let packed = graph.pack_operands();
        assert_eq!(unpack_operands(&packed, 4), Some(graph.operands.clone()));
        assert_eq!(
            unpack_returns(&graph.pack_returns(), 4),
            Some(graph.returns.clone())
        );
        assert_eq!(unpack_operands(&packed, 3), None);
        for end in 0..packed.len() {
            assert_eq!(unpack_operands(packed.get(..end).unwrap(), 4), None);
        }
        assert_eq!(unpack_operands(&[0xff; 40], 4), None);
    }

    #[test]
    fn hashes_never_change() {
        let mut graph = graph();
        let (content, free) = (graph.content_hash(), graph.shape_free_hash());
        assert_eq!(content, "a444049af6a004b961c8e1268931f79d");
        assert_eq!(free, "8f93ae9ae303fc056b4fad81adfc25ed");
        assert_eq!(graph.op_sequence_hash(), "5d492fb29ad5153d58be87defd19b20e");
        graph.types.first_mut().unwrap().signature = "?.view(1, 8)".to_owned();
        assert_ne!(graph.content_hash(), content);
        assert_eq!(graph.shape_free_hash(), free);
    }
}
