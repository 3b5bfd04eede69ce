//! Opens files as a table.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::config::CsvOptions;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::json::JsonFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use object_store::{ObjectMeta, ObjectStoreExt as _};

use super::file_listing::{FileListing, invalid_path, missing_file, resolve};
use super::kind::{Detected, FileKind, kind_from_name};
use super::options::ReadRequest;
use super::tsv_text::unescape_table;
use super::union_by_name::union_by_name;
use super::untrusted_files::{UntrustedFormat, panic_error};
use super::{ipc, npz};

/// Number of bytes read for type detection.
const HEAD_BYTES: u64 = 4096;

/// Number of rows for type inference.
const INFERENCE_ROWS: usize = 20_000;

/// Number of files whose schemas are inferred concurrently.
const CONCURRENT_FILES: usize = 16;

/// Opens the requested files as a table; `None` if there are none and the name is not a file name.
pub(super) async fn open_table(
    state: &SessionState,
    wanted: &ReadRequest,
) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
    let Some(mut found) = resolve(state, &wanted.path).await? else {
        return match wanted.kind {
            Some(_) => Err(missing_file(&wanted.path)),
            None => Ok(None),
        };
    };
    let known = retain_one_extension(&mut found, wanted)?;
    let Some(first) = found.files.iter().find(|file| file.size > 0) else {
        return Err(invalid_path(
            &wanted.path,
            "the file is empty, expected at least a header",
        ));
    };
    let end = first.size.min(HEAD_BYTES);
    let head = found.objects.get_range(&first.location, 0..end).await?;
    let head = Detected::detect(&head);
    let kind = wanted
        .kind
        .or(known.as_ref().map(|(_, kind)| *kind))
        .or(head.kind);
    let kind = kind.ok_or_else(|| match found.log_format(first) {
        Some(format) => log_error(&wanted.path, format),
        None => unknown_format(&wanted.path),
    })?;
    if kind == FileKind::Npz {
        return npz::npz_table(&found, wanted).await.map(Some);
    }
    let format = file_format(state, kind, &head, wanted)
        .ok_or_else(|| invalid_path(&wanted.path, "the file has no rows"))?;
    let schemas = group_by_schema(state, &found, kind, &format).await?;
    let tables = tables_by_schema(
        state,
        &found,
        &format,
        known.map(|(ending, _)| ending),
        schemas,
    )
    .await?;
    let table = match <[_; 1]>::try_from(tables) {
        Ok([only]) => only,
        Err(tables) => union_by_name(&wanted.path, tables)?,
    };
    if kind == FileKind::Tsv {
        return unescape_table(table).map(Some);
    }
    Ok(Some(table))
}

fn unknown_format(path: &str) -> DataFusionError {
    invalid_path(
        path,
        "the format is unknown, both by name and by first bytes\n\
         hint: read_csv('...'), read_json('...'), read_parquet('...'), read_arrow('...') or \
         read_npz('...') sets the format",
    )
}

/// Error for a file whose format `tsql ingest` reads.
fn log_error(path: &str, format: &str) -> DataFusionError {
    let path = path.strip_prefix("file://").unwrap_or(path);
    invalid_path(
        path,
        format!(
            "it is {format}, expected a table of rows\n\
             hint: `tsql ingest {path} --platform NAME` stores its records, then query the table `records`"
        ),
    )
}

/// Keeps the files of the only extension present, and returns that extension with its file type.
fn retain_one_extension(
    found: &mut FileListing,
    wanted: &ReadRequest,
) -> Result<Option<(String, FileKind)>, DataFusionError> {
    if wanted.kind.is_some() {
        return Ok(None);
    }
    let ending = |file: &ObjectMeta| {
        kind_from_name(file.location.as_ref()).map(|(end, kind)| (end.to_owned(), kind))
    };
    let mut endings: Vec<(String, FileKind)> = found.files.iter().filter_map(ending).collect();
    endings.sort_by(|one, other| one.0.cmp(&other.0));
    endings.dedup();
    match endings.as_slice() {
        [] => Ok(None),
        [only] => {
            found.files.retain(|file| ending(file).is_some());
            Ok(Some(only.clone()))
        }
        several => {
            let all: Vec<&str> = several.iter().map(|(ending, _)| ending.as_str()).collect();
            let reason = format!(
                "the files have several formats: {}\nhint: select files of one format with a pattern: `*.{}`",
                all.join(", "),
                all.first().unwrap_or(&"csv"),
            );
            Err(invalid_path(&wanted.path, reason))
        }
    }
}

/// DataFusion's format for a file type, if it has one.
fn file_format(
    state: &SessionState,
    kind: FileKind,
    head: &Detected,
    wanted: &ReadRequest,
) -> Option<Arc<dyn FileFormat>> {
    let sample = wanted.sample_rows.unwrap_or(INFERENCE_ROWS);
    let format: Arc<dyn FileFormat> = match kind {
        FileKind::Csv | FileKind::Tsv => {
            Arc::new(csv_format(kind, head.packing, wanted).with_schema_infer_max_rec(sample))
        }
        FileKind::Json => Arc::new(
            JsonFormat::default()
                .with_schema_infer_max_rec(sample)
                .with_newline_delimited(!head.is_array)
                .with_file_compression_type(head.packing),
        ),
        FileKind::Arrow => Arc::new(ArrowFormat),
        FileKind::Parquet => {
            let options = state.default_table_options().parquet;
            Arc::new(ParquetFormat::default().with_options(options))
        }
        FileKind::Npz => return None,
    };
    Some(Arc::new(UntrustedFormat(format)))
}

fn csv_format(kind: FileKind, packing: FileCompressionType, wanted: &ReadRequest) -> CsvFormat {
    let (delimiter, quote) = match kind {
        // No text contains this byte, so nothing is quoted.
        FileKind::Tsv => (b'\t', 0),
        _ => (b',', b'"'),
    };
    CsvFormat::default()
        .with_options(CsvOptions::default())
        .with_has_header(wanted.has_header.unwrap_or(true))
        .with_delimiter(wanted.delimiter.unwrap_or(delimiter))
        .with_quote(wanted.quote.unwrap_or(quote))
        .with_escape(wanted.escape)
        .with_comment(wanted.comment)
        // With files split into byte ranges, a line end inside a value would count as the end of a row.
        .with_newlines_in_values(kind == FileKind::Csv)
        .with_file_compression_type(packing)
}

/// Groups files by schema, in the order of the files.
async fn group_by_schema(
    state: &SessionState,
    found: &FileListing,
    kind: FileKind,
    format: &Arc<dyn FileFormat>,
) -> Result<Vec<(SchemaRef, Vec<ObjectMeta>)>, DataFusionError> {
    let filled = found.files.iter().filter(|file| file.size > 0);
    let is_near = found.url.scheme() == "file";
    let each = filled.map(|file| async move {
        let path = format!("{}{}", found.url.object_store().as_str(), file.location);
        if kind == FileKind::Arrow {
            let checked = ipc::check_file(found.objects.as_ref(), file, is_near).await;
            checked.map_err(|reason| invalid_path(&path, reason))?;
        }
        let schema = format.infer_schema(state, &found.objects, std::slice::from_ref(file));
        let schema = AssertUnwindSafe(schema).catch_unwind().await;
        let schema = schema.unwrap_or_else(|panic| Err(panic_error(&path, panic.as_ref())));
        let schema = schema.map_err(|error| match error {
            DataFusionError::External(_) => error,
            error => match found.log_format(file) {
                Some(format) => log_error(&path, format),
                None => invalid_path(&path, error.strip_backtrace()),
            },
        })?;
        Ok::<_, DataFusionError>((schema, file.clone()))
    });
    let each: Vec<_> = each.collect();
    let mut each = futures::stream::iter(each).buffered(CONCURRENT_FILES);
    let mut schemas: Vec<(SchemaRef, Vec<ObjectMeta>)> = Vec::new();
    while let Some((schema, file)) = each.try_next().await? {
        match schemas
            .iter_mut()
            .find(|(known, _)| known.fields() == schema.fields())
        {
            Some((_, files)) => files.push(file),
            None => schemas.push((schema, vec![file])),
        }
    }
    Ok(schemas)
}

/// Opens a table for each schema.
async fn tables_by_schema(
    state: &SessionState,
    found: &FileListing,
    format: &Arc<dyn FileFormat>,
    ending: Option<String>,
    schemas: Vec<(SchemaRef, Vec<ObjectMeta>)>,
) -> Result<Vec<Arc<dyn TableProvider>>, DataFusionError> {
    let options = ListingOptions::new(Arc::clone(format)).with_file_extension("");
    let mut tables: Vec<Arc<dyn TableProvider>> = Vec::new();
    let is_whole = schemas.len() == 1 && found.is_listing;
    for (schema, files) in schemas {
        let config = if is_whole {
            // DataFusion's own listing also provides the columns of partition folders (`platform=k80/`).
            let ending = ending
                .as_ref()
                .map_or(String::new(), |ending| format!(".{ending}"));
            let options = options.clone().with_file_extension(ending);
            let config = ListingTableConfig::new(found.url.clone()).with_listing_options(options);
            config.infer_partitions_from_path(state).await?
        } else {
            let urls = files.iter();
            let urls = urls.map(|file| ListingTableUrl::try_new(found.url(file), None));
            let urls = urls.collect::<Result<Vec<_>, _>>()?;
            ListingTableConfig::new_with_multi_paths(urls).with_listing_options(options.clone())
        };
        tables.push(Arc::new(ListingTable::try_new(config.with_schema(schema))?));
    }
    Ok(tables)
}
