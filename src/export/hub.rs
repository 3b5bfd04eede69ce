//! Samples of GraphNet as the Parquet file of its hub: `(path, content, source_folder)`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use tsql_codecs::identity::ContentHasher;

use super::kept::Kept;
use super::portions::portions;
use super::source::{self, SourceFile};
use super::{Exported, samples_where};
use crate::error::{Error, Result};
use crate::store::Store;

impl Store {
    /// Writes the files of GraphNet's samples, or of those that `samples` (SQL over that table)
    /// selects, as a Parquet file with the columns `path`, `content` and `source_folder`, by name.
    /// Files that are no UTF-8 cannot be in it: they are told as damaged.
    ///
    /// # Errors
    /// [`Error::Query`] for a predicate that is no SQL, [`Error::Io`] where it cannot be written.
    pub async fn export_hub(
        &self,
        samples: Option<&str>,
        out: &mut (dyn Write + Send),
    ) -> Result<Exported> {
        let context = self.session().await?;
        let chosen = match samples {
            Some(predicate) => Some(samples_where(&context, predicate).await?),
            None => None,
        };
        let sources = source::all(&context).await?;
        let wanted = sources.iter().filter(|source| {
            let own = source.sample_id.is_some() || (chosen.is_none() && source.is_kept_whole());
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
        let mut writer =
            ArrowWriter::try_new(out, empty.schema(), Some(properties)).map_err(failed)?;
        let mut exported = Exported::default();
        for portion in portions(&context, &wanted).await? {
            let kept = Kept::load(&context, portion.sources()).await?;
            let mut rows = Vec::new();
            for source in portion.sources() {
                let mut bytes = Vec::new();
                for part in source.texts() {
                    bytes.extend(kept.bytes(&source.name, part)?);
                }
                let mut hasher = ContentHasher::new();
                hasher.update(&bytes);
                let mut damaged = |reason: &str| {
                    let told = (source.name.clone(), reason.to_owned());
                    exported.damaged.push(told);
                };
                if hasher.hex() != source.content_hash {
                    damaged("rebuilt are other bytes than were ingested");
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
