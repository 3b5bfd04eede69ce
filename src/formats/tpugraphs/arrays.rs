//! Files of TpuGraphs: their arrays in their order, types, shapes and memory order.

use std::io::{Seek, Write};
use std::path::Path;

use tsql_codecs::graph::Graph;
use tsql_formats::tpugraphs::{Dtype, Form, Header, arrays_hash};
use twox_hash::xxhash3_128::Hasher;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::loading::{Configurations, Loader, Samples, node_features};
use crate::error::{Error, Result};
use crate::formats::source::SourceFile;

/// Bytes that are handed on together.
const PIECE_BYTES: usize = 1 << 18;

/// All that one file is made of.
pub(super) struct Arrays {
    forms: Vec<Form>,
    graph: Graph,
    configurations: Configurations,
    /// Places of the samples' configurations.
    places: Vec<usize>,
    samples: Samples,
}

/// Where arrays go.
pub(super) trait Sink {
    /// An array begins.
    fn begin(&mut self, name: &str, header: &Header) -> Result<()>;
    /// Some of its numbers' bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;
}

/// Nowhere: only the hash is wanted.
pub(super) struct Nowhere;

impl Sink for Nowhere {
    fn begin(&mut self, _: &str, _: &Header) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// An npz file as `numpy.savez_compressed` writes it.
pub(super) struct Npz<'a, W: Write + Seek> {
    zip: ZipWriter<W>,
    path: &'a Path,
}

impl<'a, W: Write + Seek> Npz<'a, W> {
    pub(super) fn new(out: W, path: &'a Path) -> Self {
        let zip = ZipWriter::new(out);
        Self { zip, path }
    }

    /// Writes the directory.
    pub(super) fn finish(self) -> Result<W> {
        let path = self.path;
        self.zip.finish().map_err(|error| failed(path, error))
    }
}

fn failed(path: &Path, error: zip::result::ZipError) -> Error {
    Error::io(path)(std::io::Error::from(error))
}

impl<W: Write + Seek> Sink for Npz<'_, W> {
    fn begin(&mut self, name: &str, header: &Header) -> Result<()> {
        let options = SimpleFileOptions::default()
            .last_modified_time(DateTime::default())
            .compression_method(CompressionMethod::Deflated)
            .large_file(true);
        let started = self.zip.start_file(format!("{name}.npy"), options);
        started.map_err(|error| failed(self.path, error))?;
        self.write(&header.write())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.zip.write_all(bytes).map_err(Error::io(self.path))
    }
}

impl Arrays {
    /// Reads all that `source` is made of.
    pub(super) async fn load(loader: &mut Loader, source: &SourceFile) -> Result<Self> {
        let damaged = |what: &str| Error::damaged("sources", format!("{}: {what}", source.name));
        let document = source.segments.first();
        let document = document.ok_or_else(|| damaged("no arrays"))?;
        let (Some(graph_id), Some(arrays)) = (document.graph_id, &document.arrays) else {
            return Err(damaged("no arrays"));
        };
        let forms = Form::parse_all(arrays).ok_or_else(|| damaged("its arrays"))?;
        let graph = loader.graph(graph_id).await?;
        let configurations = loader.configurations(graph_id).await?;
        let samples = loader
            .samples("stored.all_records", graph_id, source.rows_of)
            .await?;
        let places = samples.config_ids.iter();
        let places = places.map(|&id| configurations.place(id));
        Ok(Self {
            forms,
            graph,
            places: places.collect::<Result<_>>()?,
            configurations,
            samples,
        })
    }

    /// Writes all arrays; the hash of their numbers.
    pub(super) fn write(&self, sink: &mut impl Sink) -> Result<String> {
        let mut hashes = Vec::with_capacity(self.forms.len());
        for form in &self.forms {
            let header = Header {
                dtype: form.dtype.clone(),
                fortran: form.fortran,
                shape: self.shape(form)?,
            };
            sink.begin(&form.name, &header)?;
            let mut out = Numbers {
                dtype: &form.dtype,
                piece: Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 4),
                hasher: Hasher::new(),
                sink,
            };
            self.numbers(form, &mut out)?;
            out.flush()?;
            hashes.push(out.hasher.finish_128());
        }
        Ok(arrays_hash(&hashes))
    }

    fn shape(&self, form: &Form) -> Result<Vec<u64>> {
        let graph = &self.graph;
        let (nodes, samples) = (graph.type_of_node.len(), self.places.len());
        let sizes: &[usize] = match form.name.as_str() {
            "node_feat" => &[nodes, tsql_codecs::hlo::FEATURE_COUNT],
            "node_opcode" => &[nodes],
            "edge_index" => &[graph.edges.len(), 2],
            "config_feat" => &[samples, tsql_codecs::tile::WIDTH],
            "node_config_feat" => &[
                samples,
                graph.slots.len(),
                tsql_codecs::layout::VECTOR_WIDTH,
            ],
            "node_config_ids" => &[graph.slots.len()],
            "node_splits" => &[graph.splits.len()],
            "config_runtime" | "config_runtime_normalizers" => &[samples],
            other => return Err(Error::damaged("sources", format!("array {other}"))),
        };
        let mut shape: Vec<u64> = sizes.iter().map(|&size| size as u64).collect();
        if form.dimensions > shape.len() {
            shape.insert(0, 1);
        }
        Ok(shape)
    }

    fn numbers<S: Sink>(&self, form: &Form, out: &mut Numbers<'_, S>) -> Result<()> {
        let graph = &self.graph;
        match form.name.as_str() {
            "node_feat" => {
                let rows = node_features(graph)?;
                matrix(&rows, form.fortran, out)
            }
            "node_opcode" => {
                let opcodes = graph.type_of_node.iter();
                let opcodes = opcodes.filter_map(|&place| graph.types.get(place as usize));
                out.all(opcodes.map(|node_type| node_type.opcode.into()))
            }
            "edge_index" => {
                let edges = graph.edges.iter();
                let rows: Vec<[i64; 2]> = edges.map(|&(u, v)| [u.into(), v.into()]).collect();
                matrix(&rows, form.fortran, out)
            }
            "config_feat" => {
                let tiles = self
                    .places
                    .iter()
                    .map(|&place| self.configurations.tile(place));
                let rows = tiles.collect::<Option<Vec<_>>>();
                let damaged = || Error::damaged("configurations", "no tile");
                matrix(&rows.ok_or_else(damaged)?, form.fortran, out)
            }
            "node_config_feat" if form.fortran => self.planes(out),
            "node_config_feat" => self.rows(out),
            "node_config_ids" => out.all(graph.slots.iter().map(|&node| node.into())),
            "node_splits" => out.all(graph.splits.iter().map(|&node| node.into())),
            "config_runtime" => out.all(self.samples.runtimes.iter().copied()),
            _ => out.all(self.samples.normalizers.iter().copied()),
        }
    }

    /// `node_config_feat` sample by sample: the bytes of every vector are made once.
    fn rows<S: Sink>(&self, out: &mut Numbers<'_, S>) -> Result<()> {
        let damaged = || Error::damaged("configurations", "layouts that do not fit their graph");
        let mut encoded: std::collections::HashMap<usize, Vec<Vec<Vec<u8>>>> =
            std::collections::HashMap::new();
        for (sketch, layouts) in self.configurations.all_layouts() {
            let groups = layouts.vectors.iter();
            let groups = groups.map(|vectors| vectors.iter().map(|one| out.encoded(one)).collect());
            encoded.insert(sketch, groups.collect());
        }
        let mut chosen: Vec<&[u8]> = Vec::new();
        for &place in &self.places {
            let (sketch, params) = self.configurations.codes(place).ok_or_else(damaged)?;
            let layouts = self.configurations.layouts(sketch).ok_or_else(damaged)?;
            let groups = encoded.get(&sketch).ok_or_else(damaged)?;
            chosen.clear();
            for (vectors, code) in groups
                .iter()
                .zip(layouts.codes(params).ok_or_else(damaged)?)
            {
                chosen.push(vectors.get(code).ok_or_else(damaged)?);
            }
            for &group in &layouts.group_of_slot {
                out.raw(chosen.get(group as usize).ok_or_else(damaged)?)?;
            }
        }
        Ok(())
    }

    /// The same in Fortran order: every number of every slot for all samples.
    fn planes<S: Sink>(&self, out: &mut Numbers<'_, S>) -> Result<()> {
        let damaged = || Error::damaged("configurations", "layouts that do not fit their graph");
        let mut rows = Vec::with_capacity(self.places.len());
        for &place in &self.places {
            let (sketch, params) = self.configurations.codes(place).ok_or_else(damaged)?;
            let layouts = self.configurations.layouts(sketch).ok_or_else(damaged)?;
            rows.push((layouts, layouts.chosen(params).ok_or_else(damaged)?));
        }
        for number in 0..tsql_codecs::layout::VECTOR_WIDTH {
            for slot in 0..self.graph.slots.len() {
                for (layouts, chosen) in &rows {
                    let group = layouts.group_of_slot.get(slot).ok_or_else(damaged)?;
                    let vector = chosen.get(*group as usize).ok_or_else(damaged)?;
                    out.one((*vector.get(number).ok_or_else(damaged)?).into())?;
                }
            }
        }
        Ok(())
    }
}

fn matrix<const N: usize, S: Sink>(
    rows: &[[i64; N]],
    fortran: bool,
    out: &mut Numbers<'_, S>,
) -> Result<()> {
    if !fortran {
        return out.all(rows.iter().flatten().copied());
    }
    for column in 0..N {
        out.all(rows.iter().filter_map(|row| row.get(column).copied()))?;
    }
    Ok(())
}

/// Numbers of one array on their way.
struct Numbers<'a, S> {
    dtype: &'a Dtype,
    piece: Vec<u8>,
    hasher: Hasher,
    sink: &'a mut S,
}

impl<S: Sink> Numbers<'_, S> {
    fn encoded(&self, numbers: &[i8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(numbers.len() * self.dtype.bytes);
        for &number in numbers {
            self.dtype.encode(number.into(), &mut bytes);
        }
        bytes
    }

    fn all(&mut self, numbers: impl Iterator<Item = i64>) -> Result<()> {
        for number in numbers {
            self.one(number)?;
        }
        Ok(())
    }

    fn one(&mut self, number: i64) -> Result<()> {
        self.dtype.encode(number, &mut self.piece);
        self.flush_full()
    }

    fn raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.piece.extend_from_slice(bytes);
        self.flush_full()
    }

    fn flush_full(&mut self) -> Result<()> {
        if self.piece.len() < PIECE_BYTES {
            return Ok(());
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        self.hasher.write(&self.piece);
        self.sink.write(&self.piece)?;
        self.piece.clear();
        Ok(())
    }
}
