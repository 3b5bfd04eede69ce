//! Names, descriptions and JSON schemas of the tools.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::arguments::{DEFAULT_ROWS, DEFAULT_TIMEOUT_S, MAX_ROWS, MAX_TIMEOUT_S};

/// Guidance for the assistant.
pub(crate) const INSTRUCTIONS: &str = "A tsql store of tensor-program performance data: computation graphs, the \
    configurations that a compiler tried, and measured timings. Begin with list_tables, then describe_table for units \
    and meanings of columns. Times of `records` are in nanoseconds (`runtime_ns`). SQL is PostgreSQL's with DuckDB's \
    additions. Aggregate in SQL instead of reading many rows. Built-in queries (list_queries) answer common \
    questions about platforms, noise, tuning curves and splits. Everything is read-only.";

/// Definition of a tool.
struct Definition {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    required: &'static [&'static str],
    properties: Value,
}

/// Returns the tools of this build.
pub(crate) fn tools() -> Vec<Tool> {
    let mut all = catalog_definitions();
    all.extend(query_definitions());
    #[cfg(feature = "plot")]
    all.push(plot_definition());
    all.push(compare_definition());
    all.into_iter().map(Definition::into_tool).collect()
}

/// Returns the names of a tool's arguments; `None` if there is no such tool.
pub(crate) fn argument_names(tools: &[Tool], name: &str) -> Option<Vec<String>> {
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let properties = tool.input_schema.get("properties")?.as_object()?;
    Some(properties.keys().cloned().collect())
}

impl Definition {
    fn into_tool(self) -> Tool {
        let schema = json!({
            "type": "object",
            "properties": self.properties,
            "required": self.required,
            "additionalProperties": false,
        });
        let schema = match schema {
            Value::Object(schema) => schema,
            _ => serde_json::Map::new(),
        };
        let reads = ToolAnnotations::with_title(self.title)
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false);
        Tool::new(self.name, self.description, Arc::new(schema)).with_annotations(reads)
    }
}

fn catalog_definitions() -> Vec<Definition> {
    vec![
        Definition {
            name: "list_tables",
            title: "List tables",
            description: "Lists the tables and views of the store with their number of rows and their documentation. \
                Empty tables are left out unless include_empty is true.",
            required: &[],
            properties: json!({
                "include_empty": {"type": "boolean", "default": false, "description": "List empty tables too"},
            }),
        },
        Definition {
            name: "describe_table",
            title: "Describe a table",
            description: "Describes the columns of a table or view: type, unit, NULLs, references to other tables, and \
                documentation.",
            required: &["name"],
            properties: json!({
                "name": {"type": "string", "description": "Table or view, for instance records"},
            }),
        },
        Definition {
            name: "list_queries",
            title: "List built-in queries",
            description: "Lists the built-in queries, and the user's own, with titles, parameters and defaults. \
                run_query runs one.",
            required: &[],
            properties: json!({}),
        },
    ]
}

fn max_rows() -> Value {
    json!({
        "type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": DEFAULT_ROWS,
        "description": "Maximum number of rows; the result reports whether rows were left out",
    })
}

fn timeout_seconds() -> Value {
    json!({
        "type": "number", "exclusiveMinimum": 0, "maximum": MAX_TIMEOUT_S, "default": DEFAULT_TIMEOUT_S,
        "description": "Time after which the query is cancelled",
    })
}

fn parameters() -> Value {
    json!({
        "type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]},
        "description": "Values of the query's parameters; others have their defaults",
    })
}

fn query_definitions() -> Vec<Definition> {
    vec![
        Definition {
            name: "query",
            title: "Run SQL",
            description: "Runs one read-only SQL query over the store, and returns columns with units, and rows as JSON. \
                Statements that write or change data, and tables from files or URLs, are rejected.",
            required: &["sql"],
            properties: json!({
                "sql": {"type": "string", "description": "One query: SELECT, WITH, EXPLAIN, DESCRIBE, SUMMARIZE"},
                "max_rows": max_rows(),
                "timeout_seconds": timeout_seconds(),
            }),
        },
        Definition {
            name: "run_query",
            title: "Run a built-in query",
            description: "Runs a query of list_queries with the given parameters.",
            required: &["name"],
            properties: json!({
                "name": {"type": "string", "description": "Name of the query, for instance platform-summary"},
                "parameters": parameters(),
                "max_rows": max_rows(),
                "timeout_seconds": timeout_seconds(),
            }),
        },
    ]
}

#[cfg(feature = "plot")]
fn plot_definition() -> Definition {
    Definition {
        name: "plot",
        title: "Plot a query",
        description: "Draws the result of a query as a PNG image. Give either sql, or name with parameters for a \
            built-in query. Without a spec, the columns of the result decide.",
        required: &[],
        properties: json!({
            "sql": {"type": "string", "description": "One read-only query"},
            "name": {"type": "string", "description": "A built-in query with a predefined plot"},
            "parameters": parameters(),
            "spec": {
                "type": "string",
                "description": "Options as NAME=VALUE: kind (line, step, scatter, bar, box, violin, histogram, ecdf, \
                    heat), x, y, by, facet, log, title; for instance `kind=ecdf x=runtime_ns by=platform`",
            },
            "dark": {"type": "boolean", "default": false, "description": "Light on dark"},
            "timeout_seconds": timeout_seconds(),
        }),
    }
}

fn compare_definition() -> Definition {
    Definition {
        name: "compare",
        title: "Compare two sides",
        description: "Compares the records of two sides, configuration by configuration: speedups of B over A (above 1 \
            is faster) with 95 % intervals, significance tests, the largest regressions and gains, new failures.",
        required: &["a", "b"],
        properties: json!({
            "a": {
                "type": "string",
                "description": "Baseline: a platform (k80), tag (v1.0), label (night=7), source (night-*), time range \
                    (2026-11-01..2026-11-08), or where:SQL; ` AND ` joins several; a prefix such as platform: resolves \
                    ambiguous names",
            },
            "b": {"type": "string", "description": "Compared side, in the same syntax"},
            "where": {"type": "string", "description": "SQL condition over records, for both sides"},
            "minimum_change": {
                "type": "number", "minimum": 0, "default": 0.02,
                "description": "Minimum relevant change as a fraction",
            },
            "top": {
                "type": "integer", "minimum": 0, "maximum": 1000, "default": 10,
                "description": "Maximum length of each list of configurations",
            },
            "timeout_seconds": timeout_seconds(),
        }),
    }
}
