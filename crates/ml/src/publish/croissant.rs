//! Croissant 1.1 metadata of MLCommons, as read by `mlcroissant`.
//!
//! Each table is a file set and a record set; each file is also listed individually with its checksum. References of
//! columns are only in their descriptions: `mlcroissant` joins everything that a field `references` before it returns a
//! record, and fails if there are several.

use arrow::datatypes::{DataType, Field, FieldRef};
use serde_json::{Map, Value, json};

use super::dataset::{Dataset, DatasetTable};
use super::publication::CROISSANT;
use super::published_relations::PublishedColumn;

/// MIME type of Parquet.
const PARQUET: &str = "application/x-parquet";

/// Renders the metadata.
pub(super) fn render_croissant(dataset: &Dataset) -> String {
    let mut all = Map::new();
    let mut tell = |name: &str, value: Value| {
        if !value.is_null() {
            all.insert(name.to_owned(), value);
        }
    };
    tell("@context", context());
    tell("@type", json!("sc:Dataset"));
    tell("conformsTo", json!("http://mlcommons.org/croissant/1.1"));
    tell("name", json!(dataset.title));
    tell("description", json!(dataset.description));
    tell(
        "license",
        json!(dataset.license.as_deref().map(license_url)),
    );
    tell("citeAs", json!(dataset.citation));
    let authors = dataset.authors.iter();
    let authors: Vec<Value> = authors
        .map(|name| json!({"@type": "sc:Person", "name": name}))
        .collect();
    if !authors.is_empty() {
        tell("creator", json!(authors));
    }
    tell("url", json!(dataset.url));
    tell("version", json!(dataset.version_number()));
    tell("datePublished", json!(dataset.date));
    tell("dateModified", json!(dataset.newest));
    let mut keywords = vec!["tensor programs", "performance"];
    let datasets = dataset.facts.datasets();
    keywords.extend(datasets.iter().map(String::as_str));
    tell("keywords", json!(keywords));
    let tables = &dataset.tables;
    let files = tables.iter().map(file_set);
    let files: Vec<Value> = files.chain(tables.iter().flat_map(file_objects)).collect();
    tell("distribution", json!(files));
    let sets: Vec<Value> = tables.iter().map(record_set).collect();
    tell("recordSet", json!(sets));
    let mut text = serde_json::to_string_pretty(&Value::Object(all)).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the JSON-LD context of this version.
fn context() -> Value {
    json!({
        "@language": "en",
        "@vocab": "https://schema.org/",
        "arrayShape": "cr:arrayShape",
        "citeAs": "cr:citeAs",
        "column": "cr:column",
        "conformsTo": "dct:conformsTo",
        "containedIn": "cr:containedIn",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "data": {"@id": "cr:data", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        "dct": "http://purl.org/dc/terms/",
        "description": {"@container": "@language"},
        "equivalentProperty": "cr:equivalentProperty",
        "examples": {"@id": "cr:examples", "@type": "@json"},
        "extract": "cr:extract",
        "field": "cr:field",
        "fileProperty": "cr:fileProperty",
        "fileObject": "cr:fileObject",
        "fileSet": "cr:fileSet",
        "format": "cr:format",
        "includes": "cr:includes",
        "isArray": "cr:isArray",
        "isLiveDataset": "cr:isLiveDataset",
        "jsonPath": "cr:jsonPath",
        "key": "cr:key",
        "md5": "cr:md5",
        "name": {"@container": "@language"},
        "parentField": "cr:parentField",
        "path": "cr:path",
        "recordSet": "cr:recordSet",
        "references": "cr:references",
        "regex": "cr:regex",
        "repeated": "cr:repeated",
        "replace": "cr:replace",
        "samplingRate": "cr:samplingRate",
        "sc": "https://schema.org/",
        "separator": "cr:separator",
        "source": "cr:source",
        "subField": "cr:subField",
        "transform": "cr:transform"
    })
}

/// Returns the URL of a licence, as Croissant requires.
fn license_url(license: &str) -> String {
    if license.starts_with("LicenseRef-") {
        return license.to_owned();
    }
    format!("https://spdx.org/licenses/{license}.html")
}

/// Returns the file set of a table.
fn file_set(table: &DatasetTable) -> Value {
    let name = &table.shown.name;
    json!({
        "@type": "cr:FileSet",
        "@id": set_id(table),
        "name": format!("{name} files"),
        "description": format!("The files of `{name}`, below the folder of {CROISSANT}."),
        "encodingFormat": PARQUET,
        "includes": table.pattern(),
    })
}

fn set_id(table: &DatasetTable) -> String {
    format!("{}-files", table.shown.name)
}

fn file_objects(table: &DatasetTable) -> impl Iterator<Item = Value> {
    table.files.iter().map(|file| {
        json!({
            "@type": "cr:FileObject",
            "@id": file.path,
            "name": file.path,
            "contentUrl": file.path,
            "contentSize": format!("{} B", file.bytes),
            "encodingFormat": PARQUET,
            "sha256": file.sha256,
        })
    })
}

fn record_set(table: &DatasetTable) -> Value {
    let shown = &table.shown;
    let fields = table.schema.fields().iter().filter_map(|field| {
        let column = shown.column(field.name())?;
        Some(field_json(table, field, column))
    });
    let mut set = json!({
        "@type": "cr:RecordSet",
        "@id": shown.name,
        "name": shown.name,
        "description": shown.doc,
        "field": fields.collect::<Vec<_>>(),
    });
    let key = shown.key.iter();
    let key: Vec<Value> = key
        .map(|name| json!({"@id": format!("{}/{name}", shown.name)}))
        .collect();
    if let (Some(set), false) = (set.as_object_mut(), key.is_empty()) {
        set.insert("key".to_owned(), json!(key));
    }
    set
}

/// Returns the field of a column.
fn field_json(table: &DatasetTable, field: &FieldRef, column: &PublishedColumn) -> Value {
    let name = &column.name;
    let id = format!("{}/{name}", table.shown.name);
    let unit = column.unit.iter().map(|unit| format!(" Unit: {unit}."));
    let doc = format!("{}{}", column.doc, unit.collect::<String>());
    let mut told = typed_field_json(&id, field, &|path| source_json(table, name, path));
    set_property(&mut told, "description", json!(doc));
    told
}

/// Returns the source of a column's values, or of a part of them.
fn source_json(table: &DatasetTable, column: &str, path: &str) -> Value {
    let mut source = json!({"fileSet": {"@id": set_id(table)}, "extract": {"column": column}});
    if !path.is_empty() {
        set_property(&mut source, "transform", json!({"jsonPath": path}));
    }
    source
}

/// Returns the field for an Arrow type: lists are arrays, structs have subfields.
fn typed_field_json(id: &str, field: &Field, source: &dyn Fn(&str) -> Value) -> Value {
    let mut told = json!({"@type": "cr:Field", "@id": id, "name": id});
    let (mut inner, mut depth) = (field.data_type(), 0_usize);
    while let DataType::List(element) = inner {
        inner = element.data_type();
        depth += 1;
    }
    if depth > 0 {
        let shape = vec!["-1"; depth].join(",");
        set_property(&mut told, "isArray", json!(true));
        set_property(&mut told, "arrayShape", json!(shape));
    }
    if let DataType::Struct(fields) = inner {
        let fields = fields.iter().map(|part| {
            let name = part.name();
            typed_field_json(&format!("{id}/{name}"), part, &|path| {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{name}.{path}")
                };
                source(&path)
            })
        });
        set_property(&mut told, "subField", json!(fields.collect::<Vec<_>>()));
        return told;
    }
    set_property(&mut told, "dataType", json!(type_name(inner)));
    set_property(&mut told, "source", source(""));
    told
}

fn set_property(told: &mut Value, name: &str, value: Value) {
    if let Some(told) = told.as_object_mut() {
        told.insert(name.to_owned(), value);
    }
}

fn type_name(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Boolean => "sc:Boolean",
        DataType::Timestamp(..) => "sc:DateTime",
        DataType::Date32 | DataType::Date64 => "sc:Date",
        other if other.is_integer() => "sc:Integer",
        other if other.is_floating() => "sc:Float",
        _ => "sc:Text",
    }
}
