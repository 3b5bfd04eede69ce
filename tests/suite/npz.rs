//! Synthetic TpuGraphs files: writes and reads arrays in npz files.

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Array with name, type, shape, numbers in index order, and memory order.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) dtype: &'static str,
    pub(crate) shape: Vec<usize>,
    pub(crate) numbers: Vec<f64>,
    pub(crate) fortran: bool,
}

pub(crate) fn array(name: &str, dtype: &'static str, shape: &[usize], numbers: &[f64]) -> Array {
    assert_eq!(shape.iter().product::<usize>(), numbers.len(), "{name}");
    Array {
        name: name.to_owned(),
        dtype,
        shape: shape.to_vec(),
        numbers: numbers.to_vec(),
        fortran: false,
    }
}

impl Array {
    /// Returns the bytes in NumPy's format.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let sizes: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        let comma = if sizes.len() == 1 { "," } else { "" };
        let order = if self.fortran { "True" } else { "False" };
        let header = format!(
            "{{'descr': '{}', 'fortran_order': {order}, 'shape': ({}{comma}), }}",
            self.dtype,
            sizes.join(", ")
        );
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
        bytes.extend_from_slice(&u16::try_from(length).unwrap().to_le_bytes());
        bytes.extend_from_slice(format!("{header:<width$}\n", width = length - 1).as_bytes());
        for place in 0..self.numbers.len() {
            let number = self.numbers[self.source(place)];
            bytes.extend(encoded(self.dtype, number));
        }
        bytes
    }

    /// Returns the index in row order of the number at this position of the file.
    fn source(&self, place: usize) -> usize {
        if !self.fortran {
            return place;
        }
        let (mut rest, mut index) = (place, 0);
        let mut strides = vec![1; self.shape.len()];
        for axis in (0..self.shape.len().saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * self.shape[axis + 1];
        }
        for (size, stride) in self.shape.iter().zip(strides) {
            index += rest % size * stride;
            rest /= size;
        }
        index
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the tests choose numbers that fit"
)]
fn encoded(dtype: &str, number: f64) -> Vec<u8> {
    match dtype {
        "<f4" => (number as f32).to_le_bytes().to_vec(),
        ">f4" => (number as f32).to_be_bytes().to_vec(),
        "<f8" => number.to_le_bytes().to_vec(),
        "<i8" => (number as i64).to_le_bytes().to_vec(),
        ">i4" => (number as i32).to_be_bytes().to_vec(),
        "<i4" => (number as i32).to_le_bytes().to_vec(),
        "<i2" => (number as i16).to_le_bytes().to_vec(),
        "|i1" => (number as i8).to_le_bytes().to_vec(),
        "|u1" => vec![number as u8],
        other => panic!("{other}"),
    }
}

/// Returns a zip file of members with name and content.
pub(crate) fn zipped(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        zip.start_file(name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

pub(crate) fn npz(arrays: &[Array]) -> Vec<u8> {
    let member = |array: &Array| (format!("{}.npy", array.name), array.bytes());
    zipped(&arrays.iter().map(member).collect::<Vec<_>>())
}

/// Returns the members of an npz file in order.
pub(crate) fn members(npz: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut zip = ZipArchive::new(Cursor::new(npz)).unwrap();
    (0..zip.len())
        .map(|index| {
            let mut member = zip.by_index(index).unwrap();
            let mut bytes = Vec::new();
            member.read_to_end(&mut bytes).unwrap();
            (member.name().unwrap().into_owned(), bytes)
        })
        .collect()
}

/// Returns the numbers of an integer array of one or eight bytes in an npz file.
pub(crate) fn integers(npz: &[u8], name: &str) -> Vec<i64> {
    let members: BTreeMap<String, Vec<u8>> = members(npz).into_iter().collect();
    let bytes = &members[&format!("{name}.npy")];
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8_lossy(&bytes[10..start]).into_owned();
    let data = &bytes[start..];
    if header.contains("i1") {
        return data.iter().map(|&byte| byte.cast_signed().into()).collect();
    }
    if header.contains("<u2") {
        let (pairs, _) = data.as_chunks::<2>();
        return pairs
            .iter()
            .map(|&pair| u16::from_le_bytes(pair).into())
            .collect();
    }
    let (words, _) = data.as_chunks::<8>();
    words.iter().map(|&word| i64::from_le_bytes(word)).collect()
}

const FEATURES: usize = 140;

fn float(number: usize) -> f64 {
    u32::try_from(number).unwrap().into()
}

/// Returns opcodes, features and edges of a graph of `nodes` nodes, some of them equal. Nodes with index 3 modulo 4 are
/// convolutions.
fn core(nodes: usize) -> [Array; 3] {
    let mut features = vec![0.0; nodes * FEATURES];
    for (node, row) in features.chunks_mut(FEATURES).enumerate() {
        row[21] = float(1 + node % 4);
        row[28] = 2_952_790_016.0;
        row[61] = 0.0 - float(node % 2);
        row[0] = f64::from(u8::from(node + 1 == nodes));
    }
    let opcode = |node: usize| if node % 4 == 3 { 26.0 } else { 63.0 };
    let opcodes: Vec<f64> = (0..nodes).map(opcode).collect();
    let edge = |node: usize| [float(node), float(node / 2)];
    let edges: Vec<f64> = (1..nodes).flat_map(edge).collect();
    let mut edges = array("edge_index", "<i8", &[nodes - 1, 2], &edges);
    edges.fortran = nodes > 2;
    [
        array("node_feat", "<f4", &[nodes, FEATURES], &features),
        array("node_opcode", "|u1", &[nodes], &opcodes),
        edges,
    ]
}

/// Returns a layout file. Slots 0 and 2 have equal layouts. Two small numbers identify a configuration. `runs` has
/// configurations with runtimes.
pub(crate) fn layout_file(runs: &[((i8, i8), f64)]) -> Vec<Array> {
    let nodes = 12;
    let [features, opcodes, edges] = core(nodes);
    let vector = |choice: i8| {
        let mut vector = [-1.0; 18];
        vector[0] = f64::from(choice);
        vector[6] = f64::from(1 - choice % 2);
        vector
    };
    let row = |&((a, b), _): &((i8, i8), f64)| [vector(a), vector(b), vector(a)].concat();
    let configurations: Vec<f64> = runs.iter().flat_map(row).collect();
    let runtimes: Vec<f64> = runs.iter().map(|(_, runtime)| *runtime).collect();
    vec![
        features,
        opcodes,
        edges,
        array(
            "node_config_feat",
            "<f4",
            &[runs.len(), 3, 18],
            &configurations,
        ),
        array("node_config_ids", "<i8", &[3], &[3.0, 7.0, 11.0]),
        array("config_runtime", "<i8", &[runs.len()], &runtimes),
        array("node_splits", "<i8", &[1, 2], &[0.0, 12.0]),
    ]
}

/// Returns a tile file from the first output bound, the runtime and the normalizer of each sample.
pub(crate) fn tile_file(nodes: usize, runs: &[(f64, f64, f64)]) -> Vec<Array> {
    let [features, opcodes, edges] = core(nodes);
    let mut bounds = vec![0.0; runs.len() * 24];
    for (row, (bound, _, _)) in bounds.chunks_mut(24).zip(runs) {
        (row[8], row[14], row[15]) = (*bound, *bound, *bound);
    }
    let runtimes: Vec<f64> = runs.iter().map(|(_, runtime, _)| *runtime).collect();
    let normalizers: Vec<f64> = runs.iter().map(|(_, _, normalizer)| *normalizer).collect();
    vec![
        features,
        opcodes,
        edges,
        array("config_feat", "<f4", &[runs.len(), 24], &bounds),
        array("config_runtime", "<i8", &[runs.len()], &runtimes),
        array(
            "config_runtime_normalizers",
            "<i8",
            &[runs.len()],
            &normalizers,
        ),
    ]
}
