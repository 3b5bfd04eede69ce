//! Restores TpuGraphs files: arrays with their order, types, shapes and memory layout.

use std::io::{Seek, Write};
use std::path::Path;

use tsql_codecs::graph::Graph;
use tsql_error::{Error, Result};
use tsql_formats::tpugraphs::{ArrayForm, Dtype, NumberHeader, arrays_hash};
use twox_hash::xxhash3_128::Hasher;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::loader::{Configurations, Loader, Samples, node_features};
use crate::formats::source::SourceFile;

/// Bytes per write.
const PIECE_BYTES: usize = 1 << 18;

/// Everything that a file consists of.
pub(super) struct Arrays {
    forms: Vec<ArrayForm>,
    graph: Graph,
    configurations: Configurations,
    /// Indexes of the samples' configurations.
    places: Vec<usize>,
    samples: Samples,
}

/// Output of arrays.
pub(super) trait ArraySink {
    /// Starts an array.
    fn begin_array(&mut self, name: &str, header: &NumberHeader) -> Result<()>;
    /// Writes some of the array's bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;
}

/// Discards the output; only the hash is needed.
pub(super) struct NullSink;

impl ArraySink for NullSink {
    fn begin_array(&mut self, _: &str, _: &NumberHeader) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// An npz file like those of `numpy.savez_compressed`.
pub(super) struct Npz<'a, W: Write + Seek> {
    zip: ZipWriter<W>,
    path: &'a Path,
}

impl<'a, W: Write + Seek> Npz<'a, W> {
    pub(super) fn new(out: W, path: &'a Path) -> Self {
        let zip = ZipWriter::new(out);
        Self { zip, path }
    }

    /// Writes the zip directory.
    pub(super) fn finish(self) -> Result<W> {
        let path = self.path;
        self.zip.finish().map_err(|error| zip_error(path, error))
    }
}

fn zip_error(path: &Path, error: zip::result::ZipError) -> Error {
    Error::io(path)(std::io::Error::from(error))
}

impl<W: Write + Seek> ArraySink for Npz<'_, W> {
    fn begin_array(&mut self, name: &str, header: &NumberHeader) -> Result<()> {
        let options = SimpleFileOptions::default()
            .last_modified_time(DateTime::default())
            .compression_method(CompressionMethod::Deflated)
            .large_file(true);
        let started = self.zip.start_file(format!("{name}.npy"), options);
        started.map_err(|error| zip_error(self.path, error))?;
        self.write(&header.write())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.zip.write_all(bytes).map_err(Error::io(self.path))
    }
}

impl Arrays {
    /// Loads everything that `source` consists of.
    pub(super) async fn load(loader: &mut Loader, source: &SourceFile) -> Result<Self> {
        let damaged = |what: &str| Error::damaged("sources", format!("{}: {what}", source.name));
        let document = source.segments.first();
        let document = document.ok_or_else(|| damaged("it has no arrays"))?;
        let (Some(graph_id), Some(arrays)) = (document.graph_id, &document.arrays) else {
            return Err(damaged("it has no arrays"));
        };
        let forms =
            ArrayForm::parse_all(arrays).ok_or_else(|| damaged("its arrays are invalid"))?;
        let graph = loader.graph(graph_id).await?;
        let configurations = loader.configurations(graph_id).await?;
        let samples = loader
            .samples("stored.all_records", graph_id, source.rows_of)
            .await?;
        let places = samples.config_ids.iter();
        let places = places.map(|&id| configurations.index_of(id));
        Ok(Self {
            forms,
            graph,
            places: places.collect::<Result<_>>()?,
            configurations,
            samples,
        })
    }

    /// Writes all arrays. Returns the hash of their numbers.
    pub(super) fn write(&self, sink: &mut impl ArraySink) -> Result<String> {
        let mut hashes = Vec::with_capacity(self.forms.len());
        for form in &self.forms {
            let header = NumberHeader {
                dtype: form.dtype.clone(),
                fortran: form.fortran,
                shape: self.shape(form)?,
            };
            sink.begin_array(&form.name, &header)?;
            let mut out = ArrayWriter {
                dtype: &form.dtype,
                piece: Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 4),
                hasher: Hasher::new(),
                sink,
            };
            self.write_numbers(form, &mut out)?;
            out.flush()?;
            hashes.push(out.hasher.finish_128());
        }
        Ok(arrays_hash(&hashes))
    }

    fn shape(&self, form: &ArrayForm) -> Result<Vec<u64>> {
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

    fn write_numbers<S: ArraySink>(
        &self,
        form: &ArrayForm,
        out: &mut ArrayWriter<'_, S>,
    ) -> Result<()> {
        let graph = &self.graph;
        match form.name.as_str() {
            "node_feat" => {
                let rows = node_features(graph)?;
                write_matrix(&rows, form.fortran, out)
            }
            "node_opcode" => {
                let opcodes = graph.type_of_node.iter();
                let opcodes = opcodes.filter_map(|&place| graph.types.get(place as usize));
                out.write_all(opcodes.map(|node_type| node_type.opcode.into()))
            }
            "edge_index" => {
                let edges = graph.edges.iter();
                let rows: Vec<[i64; 2]> = edges.map(|&(u, v)| [u.into(), v.into()]).collect();
                write_matrix(&rows, form.fortran, out)
            }
            "config_feat" => {
                let tiles = self
                    .places
                    .iter()
                    .map(|&place| self.configurations.tile(place));
                let rows = tiles.collect::<Option<Vec<_>>>();
                let damaged = || Error::damaged("configurations", "a configuration has no tile");
                write_matrix(&rows.ok_or_else(damaged)?, form.fortran, out)
            }
            "node_config_feat" if form.fortran => self.write_config_planes(out),
            "node_config_feat" => self.write_config_rows(out),
            "node_config_ids" => out.write_all(graph.slots.iter().map(|&node| node.into())),
            "node_splits" => out.write_all(graph.splits.iter().map(|&node| node.into())),
            "config_runtime" => out.write_all(self.samples.runtimes.iter().copied()),
            _ => out.write_all(self.samples.normalizers.iter().copied()),
        }
    }

    /// Writes `node_config_feat` sample by sample. Each vector is encoded once.
    fn write_config_rows<S: ArraySink>(&self, out: &mut ArrayWriter<'_, S>) -> Result<()> {
        let damaged = || Error::damaged("configurations", "layouts that do not fit their graph");
        let mut encoded: std::collections::HashMap<usize, Vec<Vec<Vec<u8>>>> =
            std::collections::HashMap::new();
        for (sketch, layouts) in self.configurations.all_layouts() {
            let groups = layouts.vectors.iter();
            let groups = groups.map(|vectors| vectors.iter().map(|one| out.encode(one)).collect());
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
                out.write_raw(chosen.get(group as usize).ok_or_else(damaged)?)?;
            }
        }
        Ok(())
    }

    /// Writes `node_config_feat` in Fortran order: every number of every slot, for all samples.
    fn write_config_planes<S: ArraySink>(&self, out: &mut ArrayWriter<'_, S>) -> Result<()> {
        let damaged = || Error::damaged("configurations", "layouts that do not fit their graph");
        let mut rows = Vec::with_capacity(self.places.len());
        for &place in &self.places {
            let (sketch, params) = self.configurations.codes(place).ok_or_else(damaged)?;
            let layouts = self.configurations.layouts(sketch).ok_or_else(damaged)?;
            rows.push((layouts, layouts.select_vectors(params).ok_or_else(damaged)?));
        }
        for number in 0..tsql_codecs::layout::VECTOR_WIDTH {
            for slot in 0..self.graph.slots.len() {
                for (layouts, chosen) in &rows {
                    let group = layouts.group_of_slot.get(slot).ok_or_else(damaged)?;
                    let vector = chosen.get(*group as usize).ok_or_else(damaged)?;
                    out.write_one((*vector.get(number).ok_or_else(damaged)?).into())?;
                }
            }
        }
        Ok(())
    }
}

fn write_matrix<const N: usize, S: ArraySink>(
    rows: &[[i64; N]],
    fortran: bool,
    out: &mut ArrayWriter<'_, S>,
) -> Result<()> {
    if !fortran {
        return out.write_all(rows.iter().flatten().copied());
    }
    for column in 0..N {
        out.write_all(rows.iter().filter_map(|row| row.get(column).copied()))?;
    }
    Ok(())
}

/// Encodes and writes the numbers of one array.
struct ArrayWriter<'a, S> {
    dtype: &'a Dtype,
    piece: Vec<u8>,
    hasher: Hasher,
    sink: &'a mut S,
}

impl<S: ArraySink> ArrayWriter<'_, S> {
    fn encode(&self, numbers: &[i8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(numbers.len() * self.dtype.bytes);
        for &number in numbers {
            self.dtype.encode(number.into(), &mut bytes);
        }
        bytes
    }

    fn write_all(&mut self, numbers: impl Iterator<Item = i64>) -> Result<()> {
        for number in numbers {
            self.write_one(number)?;
        }
        Ok(())
    }

    fn write_one(&mut self, number: i64) -> Result<()> {
        self.dtype.encode(number, &mut self.piece);
        self.flush_full()
    }

    fn write_raw(&mut self, bytes: &[u8]) -> Result<()> {
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
