//! Files of GraphNet given back: kept texts, and files that the columns of a sample or of benchmark
//! runs stand for.

use std::collections::HashMap;

use arrow::array::StringViewArray;
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_codecs::tensors::Packed;
use tsql_formats::graphnet::program::Program;
use tsql_formats::graphnet::sample::Sample;

use super::Counted;
use super::logs::Logs;
use super::source::SourceFile;
use crate::captured;
use crate::column;
use crate::error::{Error, Result};
use crate::query::collect;

/// What a part of a file is made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum SourceText {
    /// A text.
    Kept(i64),
    /// The columns of a sample.
    Sample(i64),
    /// The columns of the runs in these lines of a log.
    Runs {
        source_id: i64,
        first_line: i64,
        line_count: i64,
    },
}

/// Texts and samples that some sources are made of.
#[derive(Default)]
pub(super) struct Kept {
    texts: HashMap<i64, Vec<u8>>,
    samples: HashMap<i64, Sample>,
    logs: Logs,
}

fn list(ids: &[i64]) -> String {
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    ids.join(", ")
}

impl Kept {
    /// What these sources need.
    pub(super) async fn load(
        context: &SessionContext,
        sources: impl Iterator<Item = &SourceFile> + Clone,
    ) -> Result<Self> {
        let parts = || sources.clone().flat_map(SourceFile::texts);
        let (mut texts, mut samples, mut logs) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts() {
            match part {
                SourceText::Kept(id) => texts.push(id),
                SourceText::Sample(id) => samples.push(id),
                SourceText::Runs { source_id, .. } => logs.push(source_id),
            }
        }
        samples.dedup();
        logs.dedup();
        let models = sources.clone().any(|source| {
            let mut parts = source.texts();
            source.name.ends_with("/model.py")
                && parts.any(|part| matches!(part, SourceText::Sample(_)))
        });
        let mut kept = Self::default();
        if !logs.is_empty() {
            kept.logs = Logs::load(context, &list(&logs)).await?;
        }
        if !texts.is_empty() {
            let ids = list(&texts);
            let sql = format!("SELECT text_id, text FROM stored.texts WHERE text_id IN ({ids})");
            for batch in collect(context, &sql).await? {
                let ids = column::numbers::<Int64Type>(&batch, "text_id")?;
                let texts = column::bytes(&batch, "text")?;
                for row in 0..batch.num_rows() {
                    kept.texts.insert(ids.value(row), texts.value(row).to_vec());
                }
            }
        }
        if !samples.is_empty() {
            kept.load_samples(context, &list(&samples), models).await?;
        }
        Ok(kept)
    }

    /// Reads samples, with their graphs where `models` are to be written.
    async fn load_samples(
        &mut self,
        context: &SessionContext,
        ids: &str,
        models: bool,
    ) -> Result<()> {
        let own =
            format!("graph_id IN (SELECT graph_id FROM stored.samples WHERE sample_id IN ({ids}))");
        let (graphs, types) = if models {
            (
                captured::graphs(context, &own).await?,
                output_types(context, &own).await?,
            )
        } else {
            Default::default()
        };
        let sql = format!("SELECT * FROM stored.samples WHERE sample_id IN ({ids})");
        for batch in collect(context, &sql).await? {
            let ids = column::numbers::<Int64Type>(&batch, "sample_id")?;
            let weights = column::numbers::<Int64Type>(&batch, "weight_count")?;
            let text = |name| column::text(&batch, name);
            let (frameworks, metadata) = (text("framework")?, text("metadata")?);
            let (hashes, symbols) = (text("upstream_hash")?, text("symbols")?);
            let imports = text("symbol_imports")?;
            let (preludes, annotations) = (text("model_prelude")?, text("annotations")?);
            let (arguments, names) = (text("argument_names")?, text("value_names")?);
            let graph_ids = column::numbers::<Int64Type>(&batch, "graph_id")?;
            let mut columns: Vec<&StringViewArray> = Vec::new();
            for name in Packed::COLUMNS {
                columns.push(text(name)?);
            }
            let data = column::bytes(&batch, "tensor_data")?;
            let layouts = column::bytes(&batch, "model_layout")?;
            let own_types = text("output_types")?;
            for row in 0..batch.num_rows() {
                let at = |column| column::text_at(column, row).map(str::to_owned);
                let mut own = [""; Packed::COLUMNS.len()];
                for (slot, column) in own.iter_mut().zip(&columns) {
                    *slot = column::text_at(column, row).unwrap_or_default();
                }
                let bytes = column::bytes_at(data, row).unwrap_or_default();
                let damaged = || Error::damaged("samples", "tensors that are not understood");
                let tensors = Packed::tensors(own, bytes).ok_or_else(damaged)?;
                let lines = |text: Option<&str>| -> Option<Vec<String>> {
                    Some(text?.split_terminator('\n').map(str::to_owned).collect())
                };
                let graph_id = column::value(graph_ids, row);
                let graph = graph_id.and_then(|id| graphs.get(&id));
                let common = graph_id.and_then(|id| types.get(&id)).map(String::as_str);
                let output_types = lines(column::text_at(own_types, row).or(common));
                let graph = graph.and_then(|(_, graph)| graph.clone());
                let arguments = lines(column::text_at(arguments, row));
                let named = || tensors.iter().map(|tensor| tensor.name.clone()).collect();
                let arguments = arguments.unwrap_or_else(named);
                let program = graph.map(|graph| Program {
                    graph,
                    arguments,
                    names: lines(column::text_at(names, row)).unwrap_or_default(),
                    output_types: output_types.unwrap_or_default(),
                    unparsed: Vec::new(),
                });
                let sample = Sample {
                    program,
                    prelude: at(preludes),
                    annotations: at(annotations),
                    layout: column::bytes_at(layouts, row).map(<[u8]>::to_vec),
                    framework: Sample::framework_named(frameworks.value(row)),
                    metadata: at(metadata),
                    upstream_hash: at(hashes),
                    tensors,
                    weight_count: usize::try_from(weights.value(row)).unwrap_or(0),
                    symbols: at(symbols),
                    symbol_imports: column::text_at(imports, row).and_then(Sample::imports_named),
                    ..Sample::default()
                };
                self.samples.insert(ids.value(row), sample);
            }
        }
        Ok(())
    }

    /// Writes the bytes of a source.
    pub(super) fn write(&self, source: &SourceFile, out: &mut Counted) -> Result<()> {
        for part in source.texts() {
            out.write(&self.bytes(&source.name, part)?);
        }
        Ok(())
    }

    /// The bytes of a part of the file of this name.
    pub(super) fn bytes(&self, name: &str, part: SourceText) -> Result<Vec<u8>> {
        let missing =
            |what: &str| Error::damaged("sources", format!("{name}: its {what} is missing"));
        match part {
            SourceText::Kept(id) => self.texts.get(&id).cloned().ok_or_else(|| missing("text")),
            SourceText::Sample(id) => {
                let sample = self.samples.get(&id).ok_or_else(|| missing("sample"))?;
                let base = name.rsplit('/').next().unwrap_or(name);
                let text = sample.file(base).ok_or_else(|| missing("text"))?;
                Ok(text.into_bytes())
            }
            SourceText::Runs {
                source_id,
                first_line,
                line_count,
            } => {
                let lines = first_line..first_line.saturating_add(line_count);
                let text = self.logs.text(source_id, lines);
                text.ok_or_else(|| missing("text"))
            }
        }
    }
}

/// The types of values of the graphs that `predicate` selects, a line for each node.
async fn output_types(context: &SessionContext, predicate: &str) -> Result<HashMap<i64, String>> {
    let sql = format!(
        "SELECT graph_id, output_types FROM stored.graphs \
         WHERE output_types IS NOT NULL AND {predicate}"
    );
    let mut types = HashMap::new();
    for batch in collect(context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "graph_id")?;
        let texts = column::text(&batch, "output_types")?;
        for row in 0..batch.num_rows() {
            types.insert(ids.value(row), texts.value(row).to_owned());
        }
    }
    Ok(types)
}
