//! Writes samples with their graph as one npz file.

use std::io::{Seek, Write};

use tsql_codecs::graph::GraphKind;
use tsql_codecs::layout::VECTOR_WIDTH;
use tsql_error::{Error, Result};
use tsql_formats::tpugraphs::{Dtype, NumberHeader};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{Form, TrainingGraph};

/// Format of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edges {
    /// Pairs of user and operand.
    Pairs,
    /// Concatenated operands of each node.
    Csr,
}

impl TrainingGraph {
    /// Writes the graph and these samples: the arrays of the release's files (`edge_index` row by row,
    /// configurations in the type of `form`) and `sample`, the indices of the samples. With [`Form::Codes`]
    /// instead of `node_config_feat`: `codes` (k, groups), `group_of_slot` (slots) and `layouts` (groups,
    /// maximum codes, 18), so that `layouts[arange(groups), codes][:, group_of_slot]` is `node_config_feat`.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written, [`Error::Argument`] for codes of a tile file.
    pub fn write_npz(&self, samples: &[u32], form: Form, out: impl Write + Seek) -> Result<()> {
        self.write_arrays(samples, form, Edges::Pairs, out)
    }

    /// Writes the same file with edges by node: `indptr` (nodes + 1) and `indices` (edges) instead of
    /// `edge_index`. Node `n` consumes the outputs of the nodes `indices[indptr[n]:indptr[n + 1]]`.
    ///
    /// # Errors
    /// As [`TrainingGraph::write_npz`].
    pub fn write_csr_npz(&self, samples: &[u32], form: Form, out: impl Write + Seek) -> Result<()> {
        self.write_arrays(samples, form, Edges::Csr, out)
    }

    fn write_arrays(
        &self,
        samples: &[u32],
        form: Form,
        edges: Edges,
        out: impl Write + Seek,
    ) -> Result<()> {
        let mut npz = Npz(ZipWriter::new(out));
        let graph = &self.graph;
        let nodes = graph.type_of_node.len();
        let features = self.features()?;
        let each = features.iter().flatten().copied();
        npz.array(
            "node_feat",
            "<f4",
            &[nodes, tsql_codecs::hlo::FEATURE_COUNT],
            each,
        )?;
        let types = graph.type_of_node.iter();
        let types = types.filter_map(|&place| graph.types.get(place as usize));
        let opcodes = types.map(|node_type| node_type.opcode.into());
        npz.array("node_opcode", "|u1", &[nodes], opcodes)?;
        match edges {
            Edges::Pairs => {
                let edges = graph.edges.iter();
                let edges = edges.flat_map(|&(user, operand)| [user.into(), operand.into()]);
                npz.array("edge_index", "<i8", &[graph.edges.len(), 2], edges)?;
            }
            Edges::Csr => {
                let mut sorted = graph.edges.clone();
                sorted.sort_by_key(|(user, _)| *user);
                let ends = (0..=nodes).map(|node| {
                    let before = sorted.partition_point(|(user, _)| (*user as usize) < node);
                    i64::try_from(before).unwrap_or(i64::MAX)
                });
                npz.array("indptr", "<i8", &[nodes + 1], ends)?;
                let operands = sorted.iter().map(|&(_, operand)| operand.into());
                npz.array("indices", "<i8", &[sorted.len()], operands)?;
            }
        }
        let count = samples.len();
        let indices = samples.iter().map(|&sample| sample.into());
        npz.array("sample", "<i8", &[count], indices)?;
        let runtimes = self.runtimes_ns(samples).map(Option::unwrap_or_default);
        npz.array("config_runtime", "<i8", &[count], runtimes)?;
        if graph.kind == GraphKind::Tile {
            if form == Form::Codes {
                let reason = format!("{} is a tile file, which has no codes", self.id);
                return Err(Error::Argument {
                    name: "form",
                    reason,
                });
            }
            let chosen = |list: &'_ [i64], sample: u32| list.get(sample as usize).copied();
            let normalizers = samples.iter();
            let normalizers = normalizers.filter_map(|&sample| chosen(&self.normalizers, sample));
            npz.array("config_runtime_normalizers", "<i8", &[count], normalizers)?;
            let tiles = self.tiles.for_samples(samples)?;
            let shape = [count, tsql_codecs::tile::WIDTH];
            npz.array("config_feat", "<f4", &shape, tiles.into_iter().flatten())?;
            return npz.finish();
        }
        let slots = graph.slots.iter().map(|&node| node.into());
        npz.array("node_config_ids", "<i8", &[graph.slots.len()], slots)?;
        let splits = graph.splits.iter().map(|&node| node.into());
        npz.array("node_splits", "<i8", &[1, graph.splits.len()], splits)?;
        let expanded = [count, self.slot_count(), VECTOR_WIDTH];
        match form {
            Form::Codes => self.write_codes(samples, &mut npz)?,
            Form::Int8 => {
                let rows = self.expand::<i8>(samples)?;
                let rows = rows.into_iter().map(i64::from);
                npz.array("node_config_feat", "|i1", &expanded, rows)?;
            }
            Form::Float32 => {
                let rows = self.expand::<i8>(samples)?;
                let rows = rows.into_iter().map(i64::from);
                npz.array("node_config_feat", "<f4", &expanded, rows)?;
            }
        }
        npz.finish()
    }

    fn write_codes<W: Write + Seek>(&self, samples: &[u32], npz: &mut Npz<W>) -> Result<()> {
        let groups = self.group_count();
        let codes = self.codes(samples).into_iter().map(i64::from);
        npz.array("codes", "<u2", &[samples.len(), groups], codes)?;
        let of_slot = self.layouts.group_of_slot.iter();
        let of_slot = of_slot.map(|&group| group.into());
        npz.array("group_of_slot", "<i8", &[self.slot_count()], of_slot)?;
        let vectors = &self.layouts.vectors;
        let most = vectors.iter().map(Vec::len).max().unwrap_or(0);
        let padded = vectors.iter().flat_map(|vectors| {
            let missing = std::iter::repeat_n(&[-1; VECTOR_WIDTH], most - vectors.len());
            vectors.iter().chain(missing)
        });
        let padded = padded.flatten().map(|&number| i64::from(number));
        npz.array("layouts", "|i1", &[groups, most, VECTOR_WIDTH], padded)
    }
}

/// Writer of an npz file as by `numpy.savez`: not compressed, for fast reading.
struct Npz<W: Write + Seek>(ZipWriter<W>);

impl<W: Write + Seek> Npz<W> {
    fn array(
        &mut self,
        name: &str,
        dtype: &str,
        shape: &[usize],
        numbers: impl Iterator<Item = i64>,
    ) -> Result<()> {
        let unknown = || Error::Internal(format!("type {dtype}"));
        let header = NumberHeader {
            dtype: Dtype::parse(dtype).ok_or_else(unknown)?,
            fortran: false,
            shape: shape.iter().map(|&size| size as u64).collect(),
        };
        let mut bytes = header.write();
        numbers.for_each(|number| header.dtype.encode(number, &mut bytes));
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(true);
        self.0
            .start_file(format!("{name}.npy"), options)
            .map_err(|error| Error::io("batch")(error.into()))?;
        self.0.write_all(&bytes).map_err(Error::io("batch"))
    }

    fn finish(self) -> Result<()> {
        let finished = self.0.finish();
        finished.map_err(|error| Error::io("batch")(error.into()))?;
        Ok(())
    }
}
