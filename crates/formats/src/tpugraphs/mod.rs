//! TpuGraphs: npz files with a graph, its configurations and their runtimes.
//!
//! Takes one file and gives a [`Document`]: the graph with its distinct node types, the
//! configurations as codes (layout) or bounds (tile), the runtimes. The one large array,
//! `node_config_feat`, streams by; everything else is held. What was read is all there is: any
//! dtype and memory order of whole numbers comes back from [`Document`]'s numbers and its
//! [`forms`](Document::forms). A file with something else in it is refused as a whole.
//!
//! Format: README of <https://github.com/google-research-datasets/tpu_graphs>, corrected by the
//! release's own bytes (opcodes are `uint8`, edges and runtimes `int64`, edges in Fortran order).

mod archive;
mod foreign;
mod grouping;
mod place;
mod told;

use std::collections::HashMap;
use std::io::{Read, Seek};

use ahash::RandomState;

pub use crate::npy::{Dtype, Header};
use archive::{Archive, LAYOUT_ARRAYS, Member, TILE_ARRAYS};
pub use foreign::foreign;
use grouping::{Grouped, Grouping, Planes};
pub use place::Place;
pub use told::Arrays;
use tsql_codecs::graph::{Graph, Kind, NodeType, pack_features};
use tsql_codecs::hlo::FEATURE_COUNT;
use tsql_codecs::layout::{Layouts, VECTOR_WIDTH};
use tsql_codecs::tile::{self, Tile};

/// Its name as dataset.
pub const NAME: &str = "tpugraphs";

/// The hardware that all of TpuGraphs was measured on (paper, section 3).
pub const PLATFORM: &str = "tpu-v3";

/// Greatest runtime: the greatest that a double holds exactly (104 days).
const MAX_RUNTIME_NS: i64 = 1 << 53;

/// Greatest number of nodes, edges and configurations.
const MAX_COUNT: u64 = 1 << 24;

/// One npz file.
#[derive(Debug)]
pub struct Document {
    /// The arrays in their order in the file, and how each is stored.
    pub forms: Vec<Form>,
    /// Hash of the bytes of all their numbers.
    pub arrays_hash: String,
    /// The core graph.
    pub graph: Graph,
    /// One for each runtime.
    pub configurations: Configurations,
    /// Nanoseconds; 0 where withheld.
    pub runtimes: Vec<i64>,
    /// Nanoseconds that the default tile takes; 1 where withheld.
    pub normalizers: Option<Vec<i64>>,
    /// Bytes of all numbers.
    pub array_bytes: u64,
}

/// What was measured, one for each runtime.
#[derive(Debug)]
pub enum Configurations {
    /// Codes of all rows after each other, as the layouts pack them.
    Layout {
        /// The layouts of each group of slots.
        layouts: Layouts,
        /// The codes.
        params: Vec<u8>,
    },
    /// Bounds of kernel, output and input.
    Tile(Vec<Tile>),
}

/// How an array is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Name of the array, without `.npy`.
    pub name: String,
    /// Type of its numbers.
    pub dtype: Dtype,
    /// Columns lie together, not rows.
    pub fortran: bool,
    /// Length of its shape.
    pub dimensions: usize,
}

impl Form {
    /// All forms of a file as one text: `node_feat <f4 C 2, node_opcode |u1 C 1, ...`.
    pub fn spell_all(forms: &[Self]) -> String {
        let spell = |form: &Self| {
            let order = if form.fortran { 'F' } else { 'C' };
            let (name, dtype) = (&form.name, &form.dtype.text);
            format!("{name} {dtype} {order} {}", form.dimensions)
        };
        forms.iter().map(spell).collect::<Vec<_>>().join(", ")
    }

    /// Undoes [`Form::spell_all`].
    pub fn parse_all(text: &str) -> Option<Vec<Self>> {
        let parse = |text: &str| {
            let mut words = text.split(' ');
            Some(Self {
                name: words.next()?.to_owned(),
                dtype: Dtype::parse(words.next()?)?,
                fortran: words.next()? == "F",
                dimensions: words.next()?.parse().ok()?,
            })
        };
        text.split(", ").map(parse).collect()
    }
}

/// Reads a file; the error says which array is wrong and why.
pub fn read<R: Read + Seek>(input: R) -> Result<Document, String> {
    let mut file = Reading::open(input)?;
    let runtimes = file.list("config_runtime", None)?;
    let times = runtimes.iter().copied();
    check("config_runtime", times, 0..=MAX_RUNTIME_NS, "runtime")?;
    let opcodes = file.list("node_opcode", None)?;
    let node_count = opcodes.len() as u64;
    let config_count = runtimes.len() as u64;
    let edges = file.edges(node_count)?;
    let (types, type_of_node) = file.nodes(&opcodes)?;
    let (mut slots, mut splits, mut normalizers) = (Vec::new(), Vec::new(), None);
    let configurations = match file.kind {
        Kind::Tile => {
            let name = "config_runtime_normalizers";
            let numbers = file.list(name, Some(config_count))?;
            check(name, numbers.iter().copied(), 0..=MAX_RUNTIME_NS, "runtime")?;
            normalizers = Some(numbers);
            file.tiles(config_count)?
        }
        Kind::Layout => {
            let (last, end) = (node_count.cast_signed() - 1, node_count.cast_signed());
            slots = narrow(
                "node_config_ids",
                &file.list("node_config_ids", None)?,
                last,
            )?;
            splits = narrow("node_splits", &file.list("node_splits", None)?, end)?;
            file.layouts(config_count, slots.len())?
        }
    };
    let (forms, arrays_hash) = file.forms_and_hash();
    Ok(Document {
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

/// A file that is being read, and what is known of the arrays that were.
struct Reading<R> {
    archive: Archive<R>,
    kind: Kind,
    read: HashMap<String, (Form, u128)>,
    array_bytes: u64,
}

impl<R: Read + Seek> Reading<R> {
    fn open(input: R) -> Result<Self, String> {
        let archive = Archive::open(input)?;
        let has = |wanted: &str| archive.names.iter().any(|name| name == wanted);
        let (kind, arrays) = match (has("node_config_feat"), has("config_feat")) {
            (true, _) => (Kind::Layout, LAYOUT_ARRAYS.as_slice()),
            (false, true) => (Kind::Tile, TILE_ARRAYS.as_slice()),
            (false, false) => {
                return Err(
                    "no node_config_feat and no config_feat: no file of TpuGraphs".to_owned(),
                );
            }
        };
        if let Some(missing) = arrays.iter().find(|name| !has(name)) {
            return Err(format!("{missing}: missing"));
        }
        let mut names = archive.names.iter();
        if let Some(extra) = names.find(|name| !arrays.contains(&name.as_str())) {
            return Err(format!("{extra}: no array of a {} file", kind.name()));
        }
        Ok(Self {
            archive,
            kind,
            read: HashMap::new(),
            array_bytes: 0,
        })
    }

    /// Reads an array by `read`, to its end, and remembers its form.
    fn array<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Member<'_, R>) -> Result<T, String>,
    ) -> Result<T, String> {
        let of_array = |reason: String| format!("{name}: {reason}");
        let mut member = self.archive.array(name).map_err(of_array)?;
        let header = member.header.clone();
        let value = read(&mut member).map_err(of_array)?;
        let hash = member.finish().map_err(of_array)?;
        let form = Form {
            name: name.to_owned(),
            dimensions: header.shape.len(),
            fortran: header.fortran,
            dtype: header.dtype,
        };
        let count = header.shape.iter().product::<u64>();
        self.array_bytes += count * form.dtype.bytes as u64;
        self.read.insert(name.to_owned(), (form, hash));
        Ok(value)
    }

    /// A list of so many numbers, as one row too.
    fn list(&mut self, name: &str, count: Option<u64>) -> Result<Vec<i64>, String> {
        self.array(name, |member| {
            match member.header.shape.as_slice() {
                [found] | [1, found] if count.is_none_or(|count| count == *found) => {}
                shape => return Err(unfit(shape, &[count])),
            }
            member.numbers()
        })
    }

    fn edges(&mut self, nodes: u64) -> Result<Vec<(u32, u32)>, String> {
        let numbers = self.array("edge_index", |member| {
            shaped(member, &[None, Some(2)])?;
            member.numbers()
        })?;
        let numbers = narrow("edge_index", &numbers, nodes.cast_signed() - 1)?;
        let pairs = numbers.iter().copied().step_by(2);
        Ok(pairs
            .zip(numbers.iter().copied().skip(1).step_by(2))
            .collect())
    }

    /// The distinct node types and the type of each node.
    fn nodes(&mut self, opcodes: &[i64]) -> Result<(Vec<NodeType>, Vec<u32>), String> {
        self.array("node_feat", |member| {
            shaped(
                member,
                &[Some(opcodes.len() as u64), Some(FEATURE_COUNT as u64)],
            )?;
            let mut known: HashMap<NodeType, u32, RandomState> = HashMap::default();
            let (mut types, mut places) = (Vec::new(), Vec::with_capacity(opcodes.len()));
            let mut opcodes = opcodes.iter();
            let mut node = |row: &[i64]| {
                let opcode = opcodes.next().copied().unwrap_or(-1);
                let no_opcode = |_| format!("node_opcode: {opcode} is no opcode");
                let opcode = u8::try_from(opcode).map_err(no_opcode)?.into();
                let features = pack_features(row);
                let node_type = NodeType { opcode, features };
                let next = u32::try_from(types.len()).unwrap_or(u32::MAX);
                let place = *known.entry(node_type).or_insert_with_key(|new| {
                    types.push(new.clone());
                    next
                });
                places.push(place);
                Ok::<(), String>(())
            };
            if member.header.fortran {
                let numbers = member.numbers()?;
                numbers.chunks(FEATURE_COUNT).try_for_each(node)?;
            } else {
                let dtype = member.header.dtype.clone();
                let mut row = Vec::with_capacity(FEATURE_COUNT);
                member.pieces(FEATURE_COUNT * dtype.bytes, |bytes| {
                    row.clear();
                    dtype.decode(bytes, &mut row)?;
                    node(&row)
                })?;
            }
            Ok((types, places))
        })
    }

    fn tiles(&mut self, count: u64) -> Result<Configurations, String> {
        let numbers = self.array("config_feat", |member| {
            shaped(member, &[Some(count), Some(tile::WIDTH as u64)])?;
            member.numbers()
        })?;
        let (rows, _) = numbers.as_chunks::<{ tile::WIDTH }>();
        Ok(Configurations::Tile(rows.to_vec()))
    }

    fn layouts(&mut self, count: u64, slots: usize) -> Result<Configurations, String> {
        let Grouped { layouts, params } = self.array("node_config_feat", |member| {
            let shape = [Some(count), Some(slots as u64), Some(VECTOR_WIDTH as u64)];
            shaped(member, &shape)?;
            let dtype = member.header.dtype.clone();
            let rows = usize::try_from(count).map_err(|error| error.to_string())?;
            if member.header.fortran {
                let mut planes = Planes::new(dtype.clone(), rows, slots);
                let mut next = (0..slots).cycle();
                member.pieces(rows * dtype.bytes, |plane| {
                    planes.plane(next.next().unwrap_or(0), plane)
                })?;
                return planes.finish();
            }
            let mut grouping = Grouping::new(dtype.clone(), rows, slots);
            member.pieces(slots * VECTOR_WIDTH * dtype.bytes, |row| grouping.row(row))?;
            Ok(grouping.finish())
        })?;
        let (layouts, params) = layouts.packed(params);
        Ok(Configurations::Layout { layouts, params })
    }

    /// The forms in the order of the file, and one hash of all hashes.
    fn forms_and_hash(&mut self) -> (Vec<Form>, String) {
        let read = self
            .archive
            .names
            .iter()
            .filter_map(|name| self.read.remove(name));
        let (forms, hashes): (Vec<Form>, Vec<u128>) = read.unzip();
        (forms, arrays_hash(&hashes))
    }
}

/// One hash of the hashes of all arrays, in the order of the file.
pub fn arrays_hash(hashes: &[u128]) -> String {
    let mut hasher = tsql_codecs::identity::ContentHasher::new();
    hashes
        .iter()
        .for_each(|hash| hasher.update(&hash.to_be_bytes()));
    hasher.hex()
}

/// The shape must be this one; `None` stands for any size up to [`MAX_COUNT`].
fn shaped<R: Read + Seek>(member: &Member<'_, R>, wanted: &[Option<u64>]) -> Result<(), String> {
    let shape = &member.header.shape;
    let fits = |(size, wanted): (&u64, &Option<u64>)| {
        wanted.map_or(*size <= MAX_COUNT, |wanted| wanted == *size)
    };
    if shape.len() == wanted.len() && shape.iter().zip(wanted).all(fits) {
        return Ok(());
    }
    Err(unfit(shape, wanted))
}

fn unfit(shape: &[u64], wanted: &[Option<u64>]) -> String {
    let list = |sizes: Vec<String>| sizes.join(", ");
    let found = list(shape.iter().map(ToString::to_string).collect());
    let wanted = wanted.iter();
    let wanted = wanted.map(|size| size.map_or("any".to_owned(), |size| size.to_string()));
    format!(
        "shape ({found}) where ({}) was expected",
        list(wanted.collect())
    )
}

fn check(
    array: &str,
    mut numbers: impl Iterator<Item = i64>,
    range: std::ops::RangeInclusive<i64>,
    what: &str,
) -> Result<(), String> {
    match numbers.find(|number| !range.contains(number)) {
        Some(number) => Err(format!("{array}: {number} is no {what}")),
        None => Ok(()),
    }
}

/// Numbers of nodes up to `last`.
fn narrow(array: &str, numbers: &[i64], last: i64) -> Result<Vec<u32>, String> {
    let node = |&number: &i64| {
        let node = u32::try_from(number).ok().filter(|_| number <= last);
        node.ok_or_else(|| format!("{array}: node {number} where the last one is {last}"))
    };
    numbers.iter().map(node).collect()
}
