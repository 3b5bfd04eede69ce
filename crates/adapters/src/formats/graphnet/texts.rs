//! Restores the texts of files, either from `texts` or from the columns of a sample or of benchmark runs.

use std::borrow::Cow;
use std::collections::HashMap;

use arrow::array::StringViewArray;
use arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use tsql_codecs::tensors::PackedTensors;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_formats::graphnet::program::Program;
use tsql_formats::graphnet::sample::Sample;
use tsql_schema::column;

use super::captured;
use super::runs::RunTexts;
use crate::formats::source::SourceFile;
use crate::formats::texts::load_texts;

/// Origin of a part of a file.
#[derive(Clone, Copy, Debug)]
enum FilePart {
    /// A stored text.
    Text(i64),
    /// The columns of a sample.
    Sample(i64),
    /// The columns of the runs in these lines of a log.
    Runs {
        source_id: i64,
        first_line: i64,
        end_line: i64,
    },
}

/// Parts of a file, in order.
fn file_parts(source: &SourceFile) -> impl Iterator<Item = FilePart> {
    source.segments.iter().filter_map(|segment| {
        let text = segment.text_id.map(FilePart::Text);
        let sample = segment.sample_id.map(FilePart::Sample);
        // All other sources are logs.
        let is_log = segment.same_as.is_none();
        let runs = || FilePart::Runs {
            source_id: source.rows_of,
            first_line: segment.first_line.cast_signed(),
            end_line: segment.last_line.cast_signed().saturating_add(1),
        };
        text.or(sample).or_else(|| is_log.then(runs))
    })
}

/// Texts, samples and runs that some files consist of.
#[derive(Default)]
pub struct FileTexts {
    texts: HashMap<i64, Vec<u8>>,
    samples: HashMap<i64, Sample>,
    runs: RunTexts,
}

fn sql_list(ids: &[i64]) -> String {
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    ids.join(", ")
}

impl FileTexts {
    /// Loads everything that these sources need.
    pub async fn load(
        context: &SessionContext,
        sources: impl Iterator<Item = &SourceFile>,
    ) -> Result<Self> {
        let (mut texts, mut samples, mut logs) = (Vec::new(), Vec::new(), Vec::new());
        let mut models = false;
        for source in sources {
            for part in file_parts(source) {
                match part {
                    FilePart::Text(id) => texts.push(id),
                    FilePart::Sample(id) => {
                        samples.push(id);
                        models |= source.name.ends_with("/model.py");
                    }
                    FilePart::Runs { source_id, .. } => logs.push(source_id),
                }
            }
        }
        samples.dedup();
        logs.dedup();
        let mut found = Self::default();
        if !logs.is_empty() {
            found.runs = RunTexts::load(context, &sql_list(&logs)).await?;
        }
        found.texts = load_texts(context, &texts).await?;
        if !samples.is_empty() {
            found
                .load_samples(context, &sql_list(&samples), models)
                .await?;
        }
        Ok(found)
    }

    /// Loads samples. Loads their graphs only if `models` are to be written.
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
                captured::load_graphs(context, &own).await?,
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
            for name in PackedTensors::COLUMNS {
                columns.push(text(name)?);
            }
            let data = column::bytes(&batch, "tensor_data")?;
            let layouts = column::bytes(&batch, "model_layout")?;
            let own_types = text("output_types")?;
            for row in 0..batch.num_rows() {
                let at = |column| column::text_at(column, row).map(str::to_owned);
                let mut own = [""; PackedTensors::COLUMNS.len()];
                for (slot, column) in own.iter_mut().zip(&columns) {
                    *slot = column::text_at(column, row).unwrap_or_default();
                }
                let bytes = column::bytes_at(data, row).unwrap_or_default();
                let damaged = || Error::damaged("samples", "invalid tensors");
                let tensors = PackedTensors::unpack(own, bytes).ok_or_else(damaged)?;
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
                    framework: Sample::framework_by_name(frameworks.value(row)),
                    metadata: at(metadata),
                    upstream_hash: at(hashes),
                    tensors,
                    weight_count: usize::try_from(weights.value(row)).unwrap_or(0),
                    symbols: at(symbols),
                    symbol_imports: column::text_at(imports, row).and_then(Sample::imports_by_name),
                    ..Sample::default()
                };
                self.samples.insert(ids.value(row), sample);
            }
        }
        Ok(())
    }

    /// Bytes of each part of a file.
    pub fn read_parts<'a>(
        &'a self,
        source: &'a SourceFile,
    ) -> impl Iterator<Item = Result<Cow<'a, [u8]>>> {
        file_parts(source).map(|part| self.read_part(&source.name, part))
    }

    /// Bytes of a part of the file with this name.
    fn read_part(&self, name: &str, part: FilePart) -> Result<Cow<'_, [u8]>> {
        let missing =
            |what: &str| Error::damaged("sources", format!("{name}: its {what} is missing"));
        match part {
            FilePart::Text(id) => {
                let text = self.texts.get(&id).ok_or_else(|| missing("text"))?;
                Ok(Cow::Borrowed(text))
            }
            FilePart::Sample(id) => {
                let sample = self.samples.get(&id).ok_or_else(|| missing("sample"))?;
                let base = name.rsplit('/').next().unwrap_or(name);
                let text = sample.file(base).ok_or_else(|| missing("text"))?;
                Ok(Cow::Owned(text.into_bytes()))
            }
            FilePart::Runs {
                source_id,
                first_line,
                end_line,
            } => {
                let text = self.runs.text(source_id, first_line..end_line);
                text.map(Cow::Owned).ok_or_else(|| missing("text"))
            }
        }
    }
}

/// Value types of the graphs that `predicate` selects, one line per node.
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
