//! TpuGraphs: npz files with a graph, its configurations and their runtimes.
//!
//! Reads one file into an [`NpzDocument`]: the graph with its distinct node types, the configurations as codes (layout)
//! or bounds (tile), and the runtimes. The only large array, `node_config_feat`, is streamed; all others are decoded in
//! memory. The import is lossless: any dtype and memory order of integers is reproduced from the numbers of an
//! [`NpzDocument`] and its [`forms`](NpzDocument::forms). A file with other content is rejected completely.
//!
//! Format: README of <https://github.com/google-research-datasets/tpu_graphs>, corrected by the actual data of the
//! release (opcodes are `uint8`, edges and runtimes `int64`, edges in Fortran order).

mod archive;
mod collection_path;
mod foreign_npz;
mod grouping;
mod npz_format;

use std::collections::HashMap;
use std::io::{Read, Seek};

use ahash::RandomState;

pub use crate::npy::{Dtype, NumberHeader};
use archive::{ArrayReader, LAYOUT_ARRAYS, NpzArchive, TILE_ARRAYS};
pub use collection_path::CollectionPath;
pub use foreign_npz::describe_foreign_npz;
use grouping::{FortranGrouping, GroupedLayouts, SlotGrouping};
pub use npz_format::Arrays;
use tsql_codecs::graph::{Graph, GraphKind, NodeType, pack_features};
use tsql_codecs::hlo::FEATURE_COUNT;
use tsql_codecs::layout::{Layouts, VECTOR_WIDTH};
use tsql_codecs::tile::{self, Tile};

/// Name of the dataset.
pub const NAME: &str = "tpugraphs";

/// Hardware of all TpuGraphs measurements (paper, section 3).
pub const PLATFORM: &str = "tpu-v3";

/// Maximum runtime: the largest integer range that a double represents exactly (104 days).
const MAX_RUNTIME_NS: i64 = 1 << 53;

/// Maximum number of nodes, edges and configurations.
const MAX_COUNT: u64 = 1 << 24;

/// Content of one npz file.
#[derive(Debug)]
pub struct NpzDocument {
    /// Arrays in the order of the file, with their storage.
    pub forms: Vec<ArrayForm>,
    /// Hash of the data of all arrays.
    pub arrays_hash: String,
    /// Core graph.
    pub graph: Graph,
    /// Configurations, one per runtime.
    pub configurations: Configurations,
    /// Runtimes in nanoseconds; 0 if withheld.
    pub runtimes: Vec<i64>,
    /// Runtimes of the default tile in nanoseconds; 1 if withheld.
    pub normalizers: Option<Vec<i64>>,
    /// Total size of the data in bytes.
    pub array_bytes: u64,
}

/// Measured configurations, one per runtime.
#[derive(Debug)]
pub enum Configurations {
    /// Layout configurations: codes of all rows, packed by the layouts.
    Layout {
        /// Layouts of each slot group.
        layouts: Layouts,
        /// Packed codes.
        params: Vec<u8>,
    },
    /// Tile configurations: bounds of kernel, output and input.
    Tile(Vec<Tile>),
}

/// Storage of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayForm {
    /// Name of the array, without `.npy`.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Whether the data is in Fortran (column-major) order.
    pub fortran: bool,
    /// Number of dimensions.
    pub dimensions: usize,
}

impl ArrayForm {
    /// Formats all forms of a file as one text: `node_feat <f4 C 2, node_opcode |u1 C 1, ...`.
    pub fn format_all(forms: &[Self]) -> String {
        let format_form = |form: &Self| {
            let order = if form.fortran { 'F' } else { 'C' };
            let (name, dtype) = (&form.name, &form.dtype.text);
            format!("{name} {dtype} {order} {}", form.dimensions)
        };
        forms.iter().map(format_form).collect::<Vec<_>>().join(", ")
    }

    /// Inverse of [`ArrayForm::format_all`].
    pub fn parse_all(text: &str) -> Option<Vec<Self>> {
        let parse = |text: &str| {
            let mut fields = text.split(' ');
            Some(Self {
                name: fields.next()?.to_owned(),
                dtype: Dtype::parse(fields.next()?)?,
                fortran: fields.next()? == "F",
                dimensions: fields.next()?.parse().ok()?,
            })
        };
        text.split(", ").map(parse).collect()
    }
}

/// Reads a file. The error names the invalid array and the reason.
pub fn read<R: Read + Seek>(input: R) -> Result<NpzDocument, String> {
    let mut file = DocumentReader::open(input)?;
    let runtimes = file.read_list("config_runtime", None)?;
    let times = runtimes.iter().copied();
    check_range("config_runtime", times, 0..=MAX_RUNTIME_NS, "runtime")?;
    let opcodes = file.read_list("node_opcode", None)?;
    let node_count = opcodes.len() as u64;
    let config_count = runtimes.len() as u64;
    let edges = file.read_edges(node_count)?;
    let (types, type_of_node) = file.read_nodes(&opcodes)?;
    let (mut slots, mut splits, mut normalizers) = (Vec::new(), Vec::new(), None);
    let configurations = match file.kind {
        GraphKind::Tile => {
            let name = "config_runtime_normalizers";
            let numbers = file.read_list(name, Some(config_count))?;
            check_range(name, numbers.iter().copied(), 0..=MAX_RUNTIME_NS, "runtime")?;
            normalizers = Some(numbers);
            file.read_tiles(config_count)?
        }
        GraphKind::Layout => {
            let (last, end) = (node_count.cast_signed() - 1, node_count.cast_signed());
            slots = to_node_indices(
                "node_config_ids",
                &file.read_list("node_config_ids", None)?,
                last,
            )?;
            splits = to_node_indices("node_splits", &file.read_list("node_splits", None)?, end)?;
            file.read_layouts(config_count, slots.len())?
        }
    };
    let (forms, arrays_hash) = file.forms_and_hash();
    Ok(NpzDocument {
        forms,
        arrays_hash,
        graph: Graph {
            kind: file.kind,
            types,
            type_of_node,
            edges,
            slots,
            splits,
        },
        configurations,
        runtimes,
        normalizers,
        array_bytes: file.array_bytes,
    })
}

/// File that is being read, with the forms of the arrays so far.
struct DocumentReader<R> {
    archive: NpzArchive<R>,
    kind: GraphKind,
    finished: HashMap<String, (ArrayForm, u128)>,
    array_bytes: u64,
}

impl<R: Read + Seek> DocumentReader<R> {
    fn open(input: R) -> Result<Self, String> {
        let archive = NpzArchive::open(input)?;
        let has = |expected: &str| archive.names.iter().any(|name| name == expected);
        let (kind, arrays) = match (has("node_config_feat"), has("config_feat")) {
            (true, _) => (GraphKind::Layout, LAYOUT_ARRAYS.as_slice()),
            (false, true) => (GraphKind::Tile, TILE_ARRAYS.as_slice()),
            (false, false) => {
                return Err(
                    "neither node_config_feat nor config_feat: not a TpuGraphs file".to_owned(),
                );
            }
        };
        if let Some(missing) = arrays.iter().find(|name| !has(name)) {
            return Err(format!("{missing}: missing"));
        }
        let mut names = archive.names.iter();
        if let Some(extra) = names.find(|name| !arrays.contains(&name.as_str())) {
            return Err(format!("{extra}: not an array of a {} file", kind.name()));
        }
        Ok(Self {
            archive,
            kind,
            finished: HashMap::new(),
            array_bytes: 0,
        })
    }

    /// Reads a complete array with `read` and stores its form and hash.
    fn read_array<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut ArrayReader<'_, R>) -> Result<T, String>,
    ) -> Result<T, String> {
        let array_error = |reason: String| format!("{name}: {reason}");
        let mut member = self.archive.open_array(name).map_err(array_error)?;
        let header = member.header.clone();
        let value = read(&mut member).map_err(array_error)?;
        let hash = member.finish().map_err(array_error)?;
        let form = ArrayForm {
            name: name.to_owned(),
            dimensions: header.shape.len(),
            fortran: header.fortran,
            dtype: header.dtype,
        };
        let count = header.shape.iter().product::<u64>();
        self.array_bytes += count * form.dtype.bytes as u64;
        self.finished.insert(name.to_owned(), (form, hash));
        Ok(value)
    }

    /// Reads a list of `count` numbers, which may also be stored as one row.
    fn read_list(&mut self, name: &str, count: Option<u64>) -> Result<Vec<i64>, String> {
        self.read_array(name, |member| {
            match member.header.shape.as_slice() {
                [length] | [1, length] if count.is_none_or(|count| count == *length) => {}
                shape => return Err(shape_error(shape, &[count])),
            }
            member.read_numbers()
        })
    }

    fn read_edges(&mut self, nodes: u64) -> Result<Vec<(u32, u32)>, String> {
        let numbers = self.read_array("edge_index", |member| {
            check_shape(member, &[None, Some(2)])?;
            member.read_numbers()
        })?;
        let numbers = to_node_indices("edge_index", &numbers, nodes.cast_signed() - 1)?;
        let pairs = numbers.iter().copied().step_by(2);
        Ok(pairs
            .zip(numbers.iter().copied().skip(1).step_by(2))
            .collect())
    }

    /// Returns the distinct node types and the type of each node.
    fn read_nodes(&mut self, opcodes: &[i64]) -> Result<(Vec<NodeType>, Vec<u32>), String> {
        self.read_array("node_feat", |member| {
            check_shape(
                member,
                &[Some(opcodes.len() as u64), Some(FEATURE_COUNT as u64)],
            )?;
            let mut type_indexes: HashMap<NodeType, u32, RandomState> = HashMap::default();
            let (mut types, mut type_of_node) = (Vec::new(), Vec::with_capacity(opcodes.len()));
            let mut opcodes = opcodes.iter();
            let mut node = |row: &[i64]| {
                let opcode = opcodes.next().copied().unwrap_or(-1);
                let no_opcode = |_| format!("node_opcode: {opcode} is not an opcode");
                let opcode = u8::try_from(opcode).map_err(no_opcode)?.into();
                let features = pack_features(row);
                let node_type = NodeType { opcode, features };
                let next = u32::try_from(types.len()).unwrap_or(u32::MAX);
                let type_index = *type_indexes.entry(node_type).or_insert_with_key(|new| {
                    types.push(new.clone());
                    next
                });
                type_of_node.push(type_index);
                Ok::<(), String>(())
            };
            if member.header.fortran {
                let numbers = member.read_numbers()?;
                numbers.chunks(FEATURE_COUNT).try_for_each(node)?;
            } else {
                let dtype = member.header.dtype.clone();
                let mut row = Vec::with_capacity(FEATURE_COUNT);
                member.for_each_piece(FEATURE_COUNT * dtype.bytes, |bytes| {
                    row.clear();
                    dtype.decode(bytes, &mut row)?;
                    node(&row)
                })?;
            }
            Ok((types, type_of_node))
        })
    }

    fn read_tiles(&mut self, count: u64) -> Result<Configurations, String> {
        let numbers = self.read_array("config_feat", |member| {
            check_shape(member, &[Some(count), Some(tile::WIDTH as u64)])?;
            member.read_numbers()
        })?;
        let (rows, _) = numbers.as_chunks::<{ tile::WIDTH }>();
        Ok(Configurations::Tile(rows.to_vec()))
    }

    fn read_layouts(&mut self, count: u64, slots: usize) -> Result<Configurations, String> {
        let GroupedLayouts { layouts, params } = self.read_array("node_config_feat", |member| {
            let shape = [Some(count), Some(slots as u64), Some(VECTOR_WIDTH as u64)];
            check_shape(member, &shape)?;
            let dtype = member.header.dtype.clone();
            let rows = usize::try_from(count).map_err(|error| error.to_string())?;
            if member.header.fortran {
                let mut planes = FortranGrouping::new(dtype.clone(), rows, slots);
                let mut next = (0..slots).cycle();
                member.for_each_piece(rows * dtype.bytes, |plane| {
                    planes.add_plane(next.next().unwrap_or(0), plane)
                })?;
                return planes.finish();
            }
            let mut grouping = SlotGrouping::new(dtype.clone(), rows, slots);
            member.for_each_piece(slots * VECTOR_WIDTH * dtype.bytes, |row| {
                grouping.add_row(row)
            })?;
            Ok(grouping.finish())
        })?;
        let (layouts, params) = layouts.pack(params);
        Ok(Configurations::Layout { layouts, params })
    }

    /// Returns the forms in the order of the file, and the combined hash.
    fn forms_and_hash(&mut self) -> (Vec<ArrayForm>, String) {
        let results = self
            .archive
            .names
            .iter()
            .filter_map(|name| self.finished.remove(name));
        let (forms, hashes): (Vec<ArrayForm>, Vec<u128>) = results.unzip();
        (forms, arrays_hash(&hashes))
    }
}

/// Combines the hashes of all arrays, in the order of the file.
pub fn arrays_hash(hashes: &[u128]) -> String {
    let mut hasher = tsql_codecs::identity::ContentHasher::new();
    hashes
        .iter()
        .for_each(|hash| hasher.update(&hash.to_be_bytes()));
    hasher.hex()
}

/// Checks the shape of an array; `None` accepts any size up to [`MAX_COUNT`].
fn check_shape<R: Read + Seek>(
    member: &ArrayReader<'_, R>,
    expected: &[Option<u64>],
) -> Result<(), String> {
    let shape = &member.header.shape;
    let matches = |(size, expected_size): (&u64, &Option<u64>)| {
        expected_size.map_or(*size <= MAX_COUNT, |expected_size| expected_size == *size)
    };
    if shape.len() == expected.len() && shape.iter().zip(expected).all(matches) {
        return Ok(());
    }
    Err(shape_error(shape, expected))
}

fn shape_error(shape: &[u64], expected: &[Option<u64>]) -> String {
    let list = |sizes: Vec<String>| sizes.join(", ");
    let actual = list(shape.iter().map(ToString::to_string).collect());
    let expected = expected.iter();
    let expected = expected.map(|size| size.map_or("any".to_owned(), |size| size.to_string()));
    format!("shape ({actual}), expected ({})", list(expected.collect()))
}

fn check_range(
    array: &str,
    mut numbers: impl Iterator<Item = i64>,
    range: std::ops::RangeInclusive<i64>,
    description: &str,
) -> Result<(), String> {
    match numbers.find(|number| !range.contains(number)) {
        Some(number) => Err(format!("{array}: {number} is not a {description}")),
        None => Ok(()),
    }
}

/// Converts node indices, which must be at most `last`.
fn to_node_indices(array: &str, numbers: &[i64], last: i64) -> Result<Vec<u32>, String> {
    let node = |&number: &i64| {
        let node = u32::try_from(number).ok().filter(|_| number <= last);
        node.ok_or_else(|| format!("{array}: node {number}, expected at most {last}"))
    };
    numbers.iter().map(node).collect()
}
