//! SQL of an export: rows in file order with labels and weights, then features.
//!
//! Features are computed from rows after they are sorted. The sort moves only their inputs, which are a
//! hundredth of their size.

use tsql_error::{Error, Result};
use tsql_schema as schema;

use super::features::{Feature, Origin};
use super::keys::OF_RECORDS;
use super::options::{Label, TrainingFilesOptions};

/// Name of the only part without a split.
pub(super) const ALL: &str = "all";

/// SQL of an export.
pub(super) struct ExportQuery {
    /// Sorted rows: `part`, columns of the group (`group_0`, ...), then the inputs of the file columns.
    pub(super) sorted: String,
    /// Expression and name of each output column: `part`, group columns, then file columns.
    pub(super) columns: Vec<(String, String)>,
    /// Number of records of each part and status: `part`, `status`, `records`, `invalid_runtime`.
    pub(super) counts: String,
    /// Columns that rows are grouped by.
    pub(super) group: Vec<String>,
}

impl ExportQuery {
    /// Returns the export as one SQL text, for people.
    pub(super) fn text(&self) -> String {
        let columns = self.columns.iter();
        let columns = columns.map(|(sql, name)| format!("{sql} AS {name}"));
        let columns: Vec<String> = columns.collect();
        format!(
            "SELECT {} FROM ({}) AS sorted",
            columns.join(", "),
            self.sorted
        )
    }

    /// # Errors
    /// [`Error::Unknown`] for a group that is not a column of `records`.
    pub(super) fn new(options: &TrainingFilesOptions, features: &[Feature]) -> Result<Self> {
        let predicate = options.predicate.as_deref().unwrap_or("true");
        let group = group_columns(options.group.as_deref())?;
        let part = match &options.split {
            Some(split) => format!("split('{}')", split.replace('\'', "''")),
            None => format!("'{ALL}'"),
        };
        let own: Vec<String> = (0..)
            .zip(&group)
            .map(|(place, name)| format!("{name} AS group_{place}"))
            .collect();
        let own: String = own.iter().map(|column| format!("{column}, ")).collect();
        let family = options
            .balance
            .as_deref()
            .map_or_else(String::new, |family| format!("({family}) AS family, "));
        let cost = match options.target {
            Label::Valid => "runtime_ns",
            Label::Tenset => {
                "CAST(CASE WHEN status = 'ok' THEN runtime_ns / 1e9 ELSE 1e10 END AS REAL)"
            }
            Label::Metaschedule => "list_median(repeats_ns)",
        };
        // As views, texts of one join side would count as held by each output batch.
        let chosen = format!(
            "SELECT {part} AS part, {own}{family}platform, graph_id, config_id, arrow_cast(config_key, 'Utf8') AS config_key, source_id, line, runtime_ns, status, \
             {cost} AS cost FROM records WHERE ({predicate})"
        );
        let counts = format!(
            "SELECT part, status, count(*) AS records, count(*) FILTER (WHERE cost IS NULL OR NOT cost > 0) AS invalid_runtime \
             FROM ({chosen}) AS chosen GROUP BY part, status ORDER BY part, status"
        );
        Ok(Self {
            sorted: sorted_rows_sql(options, features, &chosen, group.len()),
            columns: output_columns(options, features, group.len())?,
            counts,
            group,
        })
    }
}

/// Returns the columns of a group.
fn group_columns(name: Option<&str>) -> Result<Vec<String>> {
    let columns: Vec<String> = match name {
        None => Vec::new(),
        Some("task") => vec!["platform".to_owned(), "graph_id".to_owned()],
        Some("graph") => vec!["graph_id".to_owned()],
        Some("file") => vec!["source_id".to_owned()],
        Some(columns) => columns
            .split(',')
            .map(|name| name.trim().to_owned())
            .collect(),
    };
    let table = schema::table("records")?;
    for column in &columns {
        let shown = table.shown_columns();
        if !shown.clone().any(|known| known.name == *column) {
            let names = shown.map(|known| known.name.as_str());
            let known: Vec<&str> = ["task", "graph", "file"].into_iter().chain(names).collect();
            return Err(Error::Unknown {
                kind: "group",
                name: column.clone(),
                known: known.join(", "),
            });
        }
    }
    Ok(columns)
}

fn sorted_rows_sql(
    options: &TrainingFilesOptions,
    features: &[Feature],
    chosen: &str,
    groups: usize,
) -> String {
    // TenSet's scripts also use failed records as rows.
    let kept = match options.target {
        Label::Tenset => "status <> 'unmeasured' AND cost > 0",
        Label::Valid | Label::Metaschedule => "status = 'ok' AND cost > 0",
    };
    let parts = match options.parts.as_slice() {
        [] => "part IS NOT NULL".to_owned(),
        parts => {
            let quoted = parts
                .iter()
                .map(|part| format!("'{}'", part.replace('\'', "''")));
            format!("part IN ({})", quoted.collect::<Vec<_>>().join(", "))
        }
    };
    let kept = format!("SELECT * FROM ({chosen}) AS chosen WHERE {kept} AND {parts}");
    // A window over all rows would hold them all, as one batch that no sort above splits.
    let labelled = format!(
        "SELECT kept.*, best.cost / kept.cost AS label FROM ({kept}) AS kept \
         JOIN (SELECT part, platform, graph_id, min(cost) AS cost FROM ({kept}) AS kept GROUP BY part, platform, graph_id) AS best \
         ON best.part = kept.part AND best.platform = kept.platform AND best.graph_id = kept.graph_id"
    );
    let (weight, weighed) = match &options.balance {
        None => ("", String::new()),
        Some(_) => (
            "w.weight, ",
            format!(
                " JOIN (SELECT part AS of_part, family AS of_family, \
                 CAST(sum(records) OVER (PARTITION BY part) AS DOUBLE) / (count(*) OVER (PARTITION BY part) * records) AS weight \
                 FROM (SELECT part, family, count(*) AS records FROM ({kept}) AS kept GROUP BY part, family) AS families) AS w \
                 ON w.of_part = l.part AND w.of_family IS NOT DISTINCT FROM l.family"
            ),
        ),
    };
    let (gathered, joins) = aggregated_features_sql(features);
    let is_of_program = features.iter().any(Feature::is_of_program);
    let (program, programs) = if is_of_program {
        (
            "c.sketch, c.params, ",
            " JOIN stored.configurations AS c ON c.config_id = l.config_id",
        )
    } else {
        ("", "")
    };
    let numbers = (0..groups).map(|place| format!("group_{place}, "));
    let numbers: String = numbers.collect();
    let order = format!("part, {numbers}platform, graph_id, source_id, line");
    format!(
        "SELECT l.part, {groups}l.platform, l.graph_id, l.config_key, l.source_id, l.line, l.runtime_ns, l.status, l.label, \
         {weight}{program}{gathered}g.workload_key FROM ({labelled}) AS l JOIN graphs AS g ON g.graph_id = l.graph_id{programs}{joins}{weighed} \
         ORDER BY {order}",
        groups = numbers.replace("group_", "l.group_"),
        order = order
            .replace("part,", "l.part,")
            .replace("group_", "l.group_")
            .replace(
                "platform, graph_id, source_id, line",
                "l.platform, l.graph_id, l.source_id, l.line"
            ),
    )
}

/// Returns features from other tables: their columns, each followed by a comma, and the joins of these tables
/// with rows `l`.
fn aggregated_features_sql(features: &[Feature]) -> (String, String) {
    let (mut columns, mut joins) = (String::new(), String::new());
    let of = |origin| features.iter().filter(move |one| one.is_from(origin));
    let values = |origin| -> String {
        let each = of(origin).map(|one| format!(", {} AS {}", one.sql(), one.column()));
        each.collect()
    };
    let nodes = values(Origin::Nodes);
    if !nodes.is_empty() {
        joins += &format!(
            " LEFT JOIN (SELECT graph_id AS of_graph{nodes} FROM nodes WHERE opcode IS NOT NULL GROUP BY graph_id) AS n \
             ON n.of_graph = l.graph_id"
        );
    }
    columns.extend(of(Origin::Nodes).map(|one| format!("n.{}, ", one.column())));
    for (origin, rows, alias) in [
        (Origin::Operations, "sample_nodes", "o"),
        (Origin::Tensors, "tensors", "t"),
    ] {
        let values = values(origin);
        if values.is_empty() {
            continue;
        }
        // A log names its samples by path; samples with the same path have the same graphs.
        joins += &format!(
            " LEFT JOIN (SELECT r.source_id AS of_source, r.line AS of_line, v.* FROM runs AS r \
             JOIN (SELECT sample, min(sample_id) AS sample_id FROM samples GROUP BY sample) AS s ON s.sample = r.sample \
             JOIN (SELECT sample_id{values} FROM {rows} GROUP BY sample_id) AS v ON v.sample_id = s.sample_id) AS {alias} \
             ON {alias}.of_source = l.source_id AND {alias}.of_line = l.line"
        );
        columns.extend(of(origin).map(|one| format!("{alias}.{}, ", one.column())));
    }
    for (place, imported) in features.iter().filter_map(Feature::as_imported).enumerate() {
        let alias = format!("i{place}");
        joins += &imported.join_sql(&alias);
        columns += &format!("{alias}.{}, ", imported.name);
    }
    (columns, joins)
}

/// Returns the output columns, computed from sorted rows.
fn output_columns(
    options: &TrainingFilesOptions,
    features: &[Feature],
    groups: usize,
) -> Result<Vec<(String, String)>> {
    let steps = steps_sql()?;
    let same = |name: &str| (name.to_owned(), name.to_owned());
    let mut columns = vec![same("part")];
    columns.extend((0..groups).map(|place| same(&format!("group_{place}"))));
    columns.extend(OF_RECORDS.map(same));
    for (sql, name) in [
        ("status <> 'ok'", "failed"),
        ("CAST(label AS REAL)", "label"),
        ("CAST(floor(30 * label) AS INT)", "relevance"),
    ] {
        columns.push((sql.to_owned(), name.to_owned()));
    }
    columns.extend(options.balance.is_some().then(|| same("weight")));
    columns.extend(features.iter().map(|feature| {
        let column = feature.column();
        if feature.is_gathered() {
            return same(column);
        }
        (feature.sql().replace("steps", &steps), column.to_owned())
    }));
    Ok(columns)
}

/// Returns the SQL of a program's steps from its stored columns.
fn steps_sql() -> Result<String> {
    let columns = schema::table("configurations")?.columns.iter();
    let steps = columns.filter(|column| column.name == "steps");
    let sql = steps.filter_map(|column| column.sql.clone()).next();
    sql.ok_or_else(|| Error::Internal("configurations.steps is not computed".to_owned()))
}
