//! A table of the files that were meant.

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

use super::foreign::{ForeignFormat, panicked};
use super::found::{Found, found, missing, wrong};
use super::kind::{Head, Kind, named};
use super::options::Wanted;
use super::tabs::unescaped;
use super::together::together;
use super::{ipc, npz};

/// Bytes at the front of a file that tell what it is.
const HEAD_BYTES: u64 = 4096;

/// Rows that types are told by.
const SAMPLE_ROWS: usize = 20_000;

/// Files whose columns are looked at together.
const AT_ONCE: usize = 16;

/// A table of the files that are wanted; `None` where there are none, and the name is none of a file.
pub(super) async fn table(
    state: &SessionState,
    wanted: &Wanted,
) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
    let Some(mut found) = found(state, &wanted.path).await? else {
        return match wanted.kind {
            Some(_) => Err(missing(&wanted.path)),
            None => Ok(None),
        };
    };
    let known = chosen(&mut found, wanted)?;
    let Some(first) = found.files.iter().find(|file| file.size > 0) else {
        return Err(wrong(
            &wanted.path,
            "empty: it does not even name its columns",
        ));
    };
    let end = first.size.min(HEAD_BYTES);
    let head = found.objects.get_range(&first.location, 0..end).await?;
    let head = Head::of(&head);
    let kind = wanted
        .kind
        .or(known.as_ref().map(|(_, kind)| *kind))
        .or(head.kind);
    let kind = kind.ok_or_else(|| untold(&wanted.path))?;
    if kind == Kind::Npz {
        return npz::table(&found, wanted).await.map(Some);
    }
    let format =
        format(state, kind, &head, wanted).ok_or_else(|| wrong(&wanted.path, "no file of rows"))?;
    let schemas = schemas(state, &found, kind, &format).await?;
    let tables = tables(
        state,
        &found,
        &format,
        known.map(|(ending, _)| ending),
        schemas,
    )
    .await?;
    let table = match <[_; 1]>::try_from(tables) {
        Ok([only]) => only,
        Err(tables) => together(&wanted.path, tables)?,
    };
    if kind == Kind::Tsv {
        return unescaped(table).map(Some);
    }
    Ok(Some(table))
}

fn untold(path: &str) -> DataFusionError {
    wrong(
        path,
        "neither its name nor its first bytes tell what it holds\n\
         hint: read_csv('...'), read_json('...'), read_parquet('...'), read_arrow('...') or read_npz('...') says it",
    )
}

/// Keeps the files of the one ending that there is, and gives it with its kind.
fn chosen(found: &mut Found, wanted: &Wanted) -> Result<Option<(String, Kind)>, DataFusionError> {
    if wanted.kind.is_some() {
        return Ok(None);
    }
    let ending =
        |file: &ObjectMeta| named(file.location.as_ref()).map(|(end, kind)| (end.to_owned(), kind));
    let mut endings: Vec<(String, Kind)> = found.files.iter().filter_map(ending).collect();
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
                "there are files of several kinds: {}\nhint: a pattern chooses some: `*.{}`",
                all.join(", "),
                all.first().unwrap_or(&"csv"),
            );
            Err(wrong(&wanted.path, reason))
        }
    }
}

/// How DataFusion reads files of a kind, where it does.
fn format(
    state: &SessionState,
    kind: Kind,
    head: &Head,
    wanted: &Wanted,
) -> Option<Arc<dyn FileFormat>> {
    let sample = wanted.sample_rows.unwrap_or(SAMPLE_ROWS);
    let format: Arc<dyn FileFormat> = match kind {
        Kind::Csv | Kind::Tsv => {
            Arc::new(csv(kind, head.packing, wanted).with_schema_infer_max_rec(sample))
        }
        Kind::Json => Arc::new(
            JsonFormat::default()
                .with_schema_infer_max_rec(sample)
                .with_newline_delimited(!head.is_array)
                .with_file_compression_type(head.packing),
        ),
        Kind::Arrow => Arc::new(ArrowFormat),
        Kind::Parquet => {
            let options = state.default_table_options().parquet;
            Arc::new(ParquetFormat::default().with_options(options))
        }
        Kind::Npz => return None,
    };
    Some(Arc::new(ForeignFormat(format)))
}

fn csv(kind: Kind, packing: FileCompressionType, wanted: &Wanted) -> CsvFormat {
    let (delimiter, quote) = match kind {
        // No text has this byte: nothing is quoted.
        Kind::Tsv => (b'\t', 0),
        _ => (b',', b'"'),
    };
    CsvFormat::default()
        .with_options(CsvOptions::default())
        .with_has_header(wanted.has_header.unwrap_or(true))
        .with_delimiter(wanted.delimiter.unwrap_or(delimiter))
        .with_quote(wanted.quote.unwrap_or(quote))
        .with_escape(wanted.escape)
        .with_comment(wanted.comment)
        // A file that is read from its middle on would take a line end in a value for one of a row.
        .with_newlines_in_values(kind == Kind::Csv)
        .with_file_compression_type(packing)
}

/// Schemas with the files that have them, in the order of the files.
async fn schemas(
    state: &SessionState,
    found: &Found,
    kind: Kind,
    format: &Arc<dyn FileFormat>,
) -> Result<Vec<(SchemaRef, Vec<ObjectMeta>)>, DataFusionError> {
    let filled = found.files.iter().filter(|file| file.size > 0);
    let is_near = found.url.scheme() == "file";
    let each = filled.map(|file| async move {
        let path = format!("{}{}", found.url.object_store().as_str(), file.location);
        if kind == Kind::Arrow {
            let checked = ipc::checked(found.objects.as_ref(), file, is_near).await;
            checked.map_err(|reason| wrong(&path, reason))?;
        }
        let schema = format.infer_schema(state, &found.objects, std::slice::from_ref(file));
        let schema = AssertUnwindSafe(schema).catch_unwind().await;
        let schema = schema.unwrap_or_else(|panic| Err(panicked(&path, panic.as_ref())));
        let schema = schema.map_err(|error| match error {
            DataFusionError::External(_) => error,
            error => wrong(&path, error.strip_backtrace()),
        })?;
        Ok::<_, DataFusionError>((schema, file.clone()))
    });
    let each: Vec<_> = each.collect();
    let mut each = futures::stream::iter(each).buffered(AT_ONCE);
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

/// A table for each schema.
async fn tables(
    state: &SessionState,
    found: &Found,
    format: &Arc<dyn FileFormat>,
    ending: Option<String>,
    schemas: Vec<(SchemaRef, Vec<ObjectMeta>)>,
) -> Result<Vec<Arc<dyn TableProvider>>, DataFusionError> {
    let options = ListingOptions::new(Arc::clone(format)).with_file_extension("");
    let mut tables: Vec<Arc<dyn TableProvider>> = Vec::new();
    let is_whole = schemas.len() == 1 && found.is_listing;
    for (schema, files) in schemas {
        let config = if is_whole {
            // By its own listing, with the columns that folders name (`platform=k80/`).
            let ending = ending
                .as_ref()
                .map_or(String::new(), |ending| format!(".{ending}"));
            let options = options.clone().with_file_extension(ending);
            let config = ListingTableConfig::new(found.url.clone()).with_listing_options(options);
            config.infer_partitions_from_path(state).await?
        } else {
            let urls = files.iter();
            let urls = urls.map(|file| ListingTableUrl::try_new(found.url_of(file), None));
            let urls = urls.collect::<Result<Vec<_>, _>>()?;
            ListingTableConfig::new_with_multi_paths(urls).with_listing_options(options.clone())
        };
        tables.push(Arc::new(ListingTable::try_new(config.with_schema(schema))?));
    }
    Ok(tables)
}
