//! Byte encoding of core graphs: node types, edges and node lists of an HLO graph.
//!
//! Nodes repeat: of 21,918 nodes of a transformer, 455 differ. A *node type* is an opcode with its 140
//! features. A graph lists its distinct node types and stores an index into that list for each node.
//!
//! The packed bytes are also hashed, so the encoding must never change silently.

use crate::hlo::FEATURE_COUNT;
use crate::identity;
use crate::varint;

/// Unit of compilation: a kernel with tile configurations, or a program with layout configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphKind {
    /// A kernel.
    Tile,
    /// A program.
    Layout,
}

impl GraphKind {
    /// Name in `graphs.kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tile => "tile",
            Self::Layout => "layout",
        }
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Tile, Self::Layout]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// An opcode with its features as packed by [`pack_features`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeType {
    /// Opcode number; see [`opcode_name`](crate::hlo::opcode_name).
    pub opcode: i16,
    /// All 140 features, packed.
    pub features: Vec<u8>,
}

/// A core graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Kind of the compiled unit.
    pub kind: GraphKind,
    /// Distinct node types in the order of their first nodes.
    pub types: Vec<NodeType>,
    /// Index into `types` for each node.
    pub type_of_node: Vec<u32>,
    /// Pairs of user and operand: the first uses the result of the second.
    pub edges: Vec<(u32, u32)>,
    /// The configurable nodes.
    pub slots: Vec<u32>,
    /// First nodes of the major computations, and the number of nodes.
    pub splits: Vec<u32>,
}

impl Graph {
    /// Content hash of the graph: XXH3-128 in hex.
    pub fn content_hash(&self) -> String {
        let mut types = Vec::new();
        for node_type in &self.types {
            varint::write(i64::from(node_type.opcode), &mut types);
            varint::write_unsigned(
                i64::try_from(node_type.features.len()).unwrap_or(i64::MAX),
                &mut types,
            );
            types.extend_from_slice(&node_type.features);
        }
        identity::core_hash(&[
            self.kind.name().as_bytes(),
            &types,
            &pack_numbers(&self.type_of_node),
            &pack_edges(&self.edges, self.type_of_node.len()),
            &pack_steps(&self.slots),
            &pack_steps(&self.splits),
        ])
    }
}

/// Packs the non-zero features of a node: the distance from the previous one, and the value.
pub fn pack_features(row: &[i64]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(96);
    let mut last = -1;
    for (index, &value) in (0_i64..).zip(row) {
        if value != 0 {
            varint::write_unsigned(index - last - 1, &mut packed);
            varint::write(value, &mut packed);
            last = index;
        }
    }
    packed
}

/// Undoes [`pack_features`]. Returns `None` for other bytes.
pub fn unpack_features(mut packed: &[u8]) -> Option<[i64; FEATURE_COUNT]> {
    let mut row = [0; FEATURE_COUNT];
    let mut index = 0_usize;
    while !packed.is_empty() {
        index = index.checked_add(usize::try_from(varint::read_unsigned(&mut packed)?).ok()?)?;
        *row.get_mut(index)? = varint::read(&mut packed)?;
        index += 1;
    }
    Some(row)
}

/// Packs numbers as varints.
pub fn pack_numbers(numbers: &[u32]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(numbers.len() * 2);
    for &number in numbers {
        varint::write_unsigned(i64::from(number), &mut packed);
    }
    packed
}

/// Undoes [`pack_numbers`].
pub fn unpack_numbers(mut packed: &[u8]) -> Option<Vec<u32>> {
    let mut numbers = Vec::with_capacity(packed.len());
    while !packed.is_empty() {
        numbers.push(u32::try_from(varint::read_unsigned(&mut packed)?).ok()?);
    }
    Some(numbers)
}

/// Delta-encodes numbers.
pub fn pack_steps<T: Copy + Into<i64>>(numbers: &[T]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(numbers.len() * 2);
    let mut last = 0_i64;
    for &number in numbers {
        let number = number.into();
        varint::write(number.wrapping_sub(last), &mut packed);
        last = number;
    }
    packed
}

/// Undoes [`pack_steps`].
pub fn unpack_steps(mut packed: &[u8]) -> Option<Vec<i64>> {
    let mut numbers = Vec::with_capacity(packed.len());
    let mut last = 0_i64;
    while !packed.is_empty() {
        last = last.wrapping_add(varint::read(&mut packed)?);
        numbers.push(last);
    }
    Some(numbers)
}

/// First byte of packed edges that are sorted by user, each operand before its user.
const SORTED: u8 = 1;

/// First byte of any other packed edges.
const UNSORTED: u8 = 0;

/// Packs the edges of a graph of `nodes` nodes.
///
/// In real graphs users ascend and follow their operands. Then the operand count of each node is stored,
/// and for each edge the distance to the operand.
pub fn pack_edges(edges: &[(u32, u32)], nodes: usize) -> Vec<u8> {
    let is_ascending = edges
        .iter()
        .zip(edges.iter().skip(1))
        .all(|(a, b)| a.0 <= b.0);
    let is_sorted = is_ascending && edges.iter().all(|(user, operand)| user > operand);
    let mut packed = Vec::with_capacity(nodes + edges.len() * 2);
    if is_sorted {
        packed.push(SORTED);
        let mut degrees = vec![0_i64; nodes];
        for &(user, _) in edges {
            if let Some(degree) = degrees.get_mut(user as usize) {
                *degree += 1;
            }
        }
        for degree in degrees {
            varint::write_unsigned(degree, &mut packed);
        }
        for &(user, operand) in edges {
            varint::write_unsigned(i64::from(user - operand), &mut packed);
        }
    } else {
        packed.push(UNSORTED);
        let mut last = 0;
        for &(user, operand) in edges {
            let (user, operand) = (i64::from(user), i64::from(operand));
            varint::write(user - last, &mut packed);
            varint::write(user - operand, &mut packed);
            last = user;
        }
    }
    packed
}

/// Undoes [`pack_edges`].
pub fn unpack_edges(packed: &[u8], nodes: usize) -> Option<Vec<(u32, u32)>> {
    let (&marker, mut rest) = packed.split_first()?;
    let mut edges = Vec::with_capacity(rest.len());
    if marker == UNSORTED {
        let mut user = 0_i64;
        while !rest.is_empty() {
            user = user.checked_add(varint::read(&mut rest)?)?;
            let operand = user.checked_sub(varint::read(&mut rest)?)?;
            edges.push((u32::try_from(user).ok()?, u32::try_from(operand).ok()?));
        }
        return Some(edges);
    }
    for user in 0..u32::try_from(nodes).ok()? {
        let degree = usize::try_from(varint::read_unsigned(&mut rest)?).ok()?;
        // Each edge takes at least one byte, so damaged input cannot request more memory than its length.
        if degree > rest.len() {
            return None;
        }
        edges.extend(std::iter::repeat_n((user, 0), degree));
    }
    for (user, operand) in &mut edges {
        let distance = u32::try_from(varint::read_unsigned(&mut rest)?).ok()?;
        *operand = user.checked_sub(distance)?;
    }
    rest.is_empty().then_some(edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_come_back() {
        let mut row = [0; FEATURE_COUNT];
        assert!(pack_features(&row).is_empty());
        (row[0], row[61], row[139]) = (1, -7, 1 << 60);
        assert_eq!(unpack_features(&pack_features(&row)).unwrap(), row);
        assert_eq!(unpack_features(&[140, 1, 2]), None);
        assert_eq!(unpack_features(&[1]), None);
    }

    #[test]
    fn edges_come_back_in_their_order() {
        for edges in [
            vec![],
            vec![(1, 0), (3, 0), (3, 2)],
            vec![(3, 2), (1, 0)],
            vec![(0, 1), (0, 0)],
            vec![(1, 0), (1, 0)],
        ] {
            assert_eq!(unpack_edges(&pack_edges(&edges, 4), 4).unwrap(), edges);
        }
        assert_eq!(unpack_edges(&[], 4), None);
        assert_eq!(unpack_edges(&[SORTED, 1, 0, 0, 0, 9], 4), None);
    }

    #[test]
    fn lists_come_back() {
        let numbers = [5_u32, 0, 70_000, 3];
        assert_eq!(unpack_numbers(&pack_numbers(&numbers)).unwrap(), numbers);
        let steps = [i64::MIN, 3, i64::MAX, -1];
        assert_eq!(unpack_steps(&pack_steps(&steps)).unwrap(), steps);
    }

    /// The hash must never change: graphs would be stored twice.
    #[test]
    fn the_hash_never_changes() {
        let graph = Graph {
            kind: GraphKind::Layout,
            types: vec![NodeType {
                opcode: 26,
                features: pack_features(&[1, 0, -3]),
            }],
            type_of_node: vec![0, 0],
            edges: vec![(1, 0)],
            slots: vec![1],
            splits: vec![0, 2],
        };
        assert_eq!(graph.content_hash(), "76d775dab57110209e680811d858ddc2");
        let other = Graph {
            edges: vec![],
            ..graph.clone()
        };
        assert_ne!(other.content_hash(), graph.content_hash());
    }
}
