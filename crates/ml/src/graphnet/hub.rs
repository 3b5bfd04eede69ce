//! Export of GraphNet samples as the Parquet file of its hub: `(path, content, source_folder)`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use tsql_adapters::formats::graphnet::{FileTexts, Format, is_loose_file};
use tsql_adapters::formats::source;
use tsql_adapters::formats::source::SourceFile;
use tsql_adapters::formats::{ExportFormat as _, ExportOrder};
use tsql_codecs::identity::ContentHasher;
use tsql_dataset::export::{ExportReport, plan_portions};
use tsql_error::{Error, Result};
use tsql_session::open_session;
use tsql_store::Store;

/// Options of the export to a Parquet file in the format of the hub.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HubOptions {
    pub(crate) samples: Option<String>,
}

impl HubOptions {
    /// Exports only the files of the samples that this SQL predicate over `samples` selects, and of their variants. By
    /// default files of no sample are exported, too.
    #[must_use]
    pub fn samples(mut self, predicate: impl Into<String>) -> Self {
        self.samples = Some(predicate.into());
        self
    }
}

/// Writes the files of GraphNet's samples that `options` select as a Parquet file with the columns `path`, `content`
/// and `source_folder`, sorted by name. Files that are not UTF-8 cannot be exported and are reported as damaged.
///
/// # Errors
/// [`Error::Query`] for an invalid predicate, [`Error::Io`] if the file cannot be written.
pub async fn export_hub(
    store: &Store,
    options: &HubOptions,
    out: &mut (dyn Write + Send),
) -> Result<ExportReport> {
    let context = open_session(store).await?;
    let chosen = match &options.samples {
        Some(predicate) => Some(Format.select_samples(&context, predicate).await?),
        None => None,
    };
    let sources = source::load_sources(&context).await?;
    let wanted = sources.iter().filter(|source| {
        let own = source.sample_id.is_some() || (chosen.is_none() && is_loose_file(source));
        let chosen = chosen
            .as_ref()
            .is_none_or(|chosen| source.sample_id.is_some_and(|id| chosen.contains(&id)));
        own && chosen
    });
    let wanted: Vec<&SourceFile> = wanted.collect();
    let failed = |error: parquet::errors::ParquetError| Error::Io {
        path: PathBuf::from("the Parquet file"),
        source: std::io::Error::other(error),
    };
    let level = ZstdLevel::try_new(9).map_err(failed)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .build();
    let empty = batch(&[])?;
    let mut writer = ArrowWriter::try_new(out, empty.schema(), Some(properties)).map_err(failed)?;
    let mut exported = ExportReport::default();
    for portion in plan_portions(&context, &wanted, ExportOrder::Names).await? {
        let texts = FileTexts::load(&context, portion.sources()).await?;
        let mut rows = Vec::new();
        for source in portion.sources() {
            let mut bytes = Vec::new();
            for text in texts.read_parts(source) {
                bytes.extend_from_slice(&text?);
            }
            let mut damaged = |reason: &str| {
                let told = (source.name.clone(), reason.to_owned());
                exported.damaged.push(told);
            };
            if ContentHasher::hash_bytes(&bytes) != source.content_hash {
                damaged("the rebuilt bytes differ from the ingested file");
            }
            let Ok(content) = String::from_utf8(bytes) else {
                damaged("not UTF-8: left out");
                continue;
            };
            exported.files += 1;
            exported.bytes += content.len() as u64;
            let path = match &source.collection {
                Some(_) => &source.path,
                None => &source.name,
            };
            rows.push((
                path.as_str(),
                content,
                source.collection.as_deref().unwrap_or(""),
            ));
        }
        writer.write(&batch(&rows)?).map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    Ok(exported)
}

fn batch(rows: &[(&str, String, &str)]) -> Result<RecordBatch> {
    let column = |texts: Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
    let batch = RecordBatch::try_from_iter([
        ("path", column(rows.iter().map(|row| row.0).collect())),
        (
            "content",
            column(rows.iter().map(|row| row.1.as_str()).collect()),
        ),
        (
            "source_folder",
            column(rows.iter().map(|row| row.2).collect()),
        ),
    ]);
    batch.map_err(|error| Error::damaged("sources", error.to_string()))
}
