//! All shapes of random queries, and the shapes that return single records.

use super::columns::{FEW, Kind, columns, labels};
use super::grammar::Chooser;
use super::{file_order, groups, joins, plans, windows};

/// SQL that both engines run.
pub(super) struct RandomQuery {
    pub(super) sql: String,
    /// Whether the query defines the order of the rows.
    pub(super) ordered: bool,
}

impl RandomQuery {
    pub(super) fn bag(sql: String) -> Self {
        Self {
            sql,
            ordered: false,
        }
    }

    pub(super) fn list(sql: String) -> Self {
        Self { sql, ordered: true }
    }
}

type Shape = fn(&mut Chooser) -> RandomQuery;

/// All shapes by name.
pub(super) const SHAPES: [(&str, Shape); 29] = [
    ("partitions", partitions),
    ("extremes", groups::extremes),
    ("totals", groups::totals),
    ("groups", groups::groups),
    ("grouping sets", groups::grouping_sets),
    ("distinct", groups::distinct),
    ("nested", groups::nested),
    ("label windows", windows::label_windows),
    ("top rows", windows::top_rows),
    ("running", windows::running),
    ("joins", joins::joins),
    ("self joins", joins::self_joins),
    ("semi joins", joins::semi_joins),
    ("scalars", joins::scalars),
    ("sets", joins::sets),
    ("shared", joins::shared),
    ("referenced", joins::referenced),
    ("filtered", filtered),
    ("sorted", sorted),
    ("file order", file_order::file_order),
    ("repeats", repeats),
    ("times", times),
    ("windows below joins", plans::windows_below_joins),
    ("unions of constants", plans::unions_of_constants),
    ("inequalities", plans::inequalities),
    ("computed nulls", plans::computed_nulls),
    ("frames", plans::frames),
    ("constant grouping sets", plans::constant_grouping_sets),
    ("offsets", plans::offsets),
];

/// The shapes that pre-aggregates can serve.
pub(super) const PREAGGREGATE_SHAPES: [&str; 11] = [
    "extremes",
    "totals",
    "groups",
    "grouping sets",
    "distinct",
    "nested",
    "label windows",
    "joins",
    "semi joins",
    "sets",
    "shared",
];

impl Chooser<'_> {
    /// Returns the query unchanged, or sorts it by its first `keys` columns, mostly with a limit. These columns
    /// identify its rows.
    pub(super) fn maybe_limited(&mut self, sql: String, keys: usize) -> RandomQuery {
        if self.percent(60) {
            return RandomQuery::bag(sql);
        }
        let mut positions: Vec<usize> = (1..=keys).collect();
        self.rng.shuffle(&mut positions);
        let ways = ["", " DESC", " NULLS FIRST", " DESC NULLS FIRST"];
        let by: Vec<String> = positions
            .iter()
            .map(|position| format!("{position}{}", self.one(&ways)))
            .collect();
        let limit = self.one(&[
            " LIMIT 1",
            " LIMIT 3",
            " LIMIT 10",
            " LIMIT 5 OFFSET 2",
            " LIMIT 0",
            "",
        ]);
        RandomQuery::list(format!("{sql} ORDER BY {}{limit}", by.join(", ")))
    }
}

/// Filters on the partition columns of files, alone and with other conditions.
fn partitions(chooser: &mut Chooser) -> RandomQuery {
    let mut condition = match chooser.percent(30) {
        true => format!(
            "platform {} ({})",
            chooser.one(&["IN", "NOT IN"]),
            chooser.list("records", "platform")
        ),
        false => chooser.on("records", "", &labels()[..2], 2),
    };
    if chooser.percent(40) {
        let (operator, other) = (
            chooser.one(&["AND", "OR"]),
            chooser.on("records", "", columns("records"), 1),
        );
        condition = format!("({condition}) {operator} {other}");
    }
    let template = chooser.one(&[
        "SELECT count(*) AS n FROM records WHERE @",
        "SELECT count(*) AS n, min(line) AS a, max(runtime_ns) AS b FROM records WHERE @",
        "SELECT platform, count(*) AS n FROM records WHERE @ GROUP BY platform",
        "SELECT platform, dataset, median(runtime_ns) AS m FROM records WHERE @ GROUP BY platform, dataset",
        "SELECT count(DISTINCT config_id) AS n, sum(line) AS s FROM records WHERE @",
        "SELECT graph_id, max(CASE WHEN @ THEN runtime_ns END) AS a, sum(CASE WHEN @ THEN runtime_ns ELSE 0 END) AS b FROM records GROUP BY graph_id",
    ]);
    RandomQuery::bag(template.replace('@', &condition))
}

/// Single records that pass a filter.
fn filtered(chooser: &mut Chooser) -> RandomQuery {
    let mut condition = chooser.on("records", "", columns("records"), 3);
    if chooser.percent(20) {
        // A list that is too long for page pruning.
        let first = chooser.rng.usize(..40);
        let lines: Vec<String> = (0..30).map(|line| (first + line * 3).to_string()).collect();
        let word = chooser.one(&["AND", "OR"]);
        condition = format!("({condition}) {word} line IN ({})", lines.join(", "));
    }
    if chooser.percent(40) {
        return RandomQuery::bag(format!(
            "SELECT count(*) AS n, sum(line) AS s, min(config_id) AS m, max(source_id) AS x FROM records WHERE {condition}"
        ));
    }
    let names: Vec<&str> = columns("records").iter().map(|(name, _)| *name).collect();
    let names = chooser.some(5, &names).join(", ");
    RandomQuery::bag(format!(
        "SELECT {names}, repeats_ns FROM records WHERE ({condition}) AND line % 7 = 1"
    ))
}

/// The first records in some order.
fn sorted(chooser: &mut Chooser) -> RandomQuery {
    let (by, filter) = (chooser.column(columns("records")), chooser.filter(""));
    let way = chooser.one(&[
        "",
        " DESC",
        " NULLS FIRST",
        " DESC NULLS FIRST",
        " DESC NULLS LAST",
    ]);
    let (few, then) = (
        chooser.one(&FEW),
        chooser.one(&[
            "source_id, line",
            "source_id DESC, line DESC",
            "source_id, line DESC",
        ]),
    );
    let limit = chooser.one(&[
        "LIMIT 1",
        "LIMIT 10",
        "LIMIT 100",
        "LIMIT 10 OFFSET 5",
        "LIMIT 0",
        "LIMIT 20 OFFSET 100",
    ]);
    RandomQuery::list(match chooser.rng.u8(..3) {
        0 => format!("SELECT {by} FROM records{filter} ORDER BY {by}{way} {limit}"),
        1 => format!(
            "SELECT source_id, line, graph_id FROM records{filter} ORDER BY graph_id, source_id, line {limit}"
        ),
        _ => format!(
            "SELECT {by} AS x, {few} AS y, source_id, line FROM records{filter} ORDER BY {by}{way}, {few}, {then} {limit}"
        ),
    })
}

/// Lists: repeats, flags, disturbed repeats.
fn repeats(chooser: &mut Chooser) -> RandomQuery {
    let (filter, condition) = (chooser.filter(""), chooser.condition(""));
    let template = chooser.one(&[
        "SELECT platform, count(*) AS n, sum(v) AS s, min(v) AS m FROM (SELECT platform, unnest(repeats_ns) AS v FROM records@) AS u GROUP BY platform",
        "SELECT u.source_id, u.line, u.v FROM (SELECT source_id, line, unnest(repeats_ns) AS v FROM records WHERE line % 17 = 1 AND #) AS u",
        "SELECT source_id, line, repeats_ns[1] AS a, repeats_ns[3] AS b, min_ns, noise FROM records WHERE line % 13 = 2 AND #",
        "SELECT platform, avg(repeats_ns[1] / runtime_ns) AS a, max(min_ns / runtime_ns) AS b, max(noise) AS c FROM records@ GROUP BY platform",
        "SELECT count(*) AS n, sum(cpu_repeats_ns[1]) AS s, count(cpu_repeats_ns) AS c, count(flags) AS f FROM records@",
        "SELECT platform, array_agg(line ORDER BY runtime_ns DESC NULLS LAST, source_id, line) AS a FROM records@ GROUP BY platform",
        "SELECT graph_id, array_agg(runtime_ns ORDER BY measured_at NULLS FIRST, source_id DESC, line) AS a FROM records@ GROUP BY graph_id",
        "SELECT platform, count(*) AS n FROM records WHERE array_has(flags, 'stolen') AND # GROUP BY platform",
        "SELECT u.f, count(*) AS n FROM (SELECT unnest(flags) AS f FROM records@) AS u GROUP BY u.f",
        "SELECT u.platform, count(*) AS n, sum(u.d['wall_ns']) AS s FROM (SELECT platform, unnest(disturbed_repeats) AS d FROM records@) AS u GROUP BY u.platform",
    ]);
    RandomQuery::bag(template.replace('@', &filter).replace('#', &condition))
}

/// Filters and groups by time.
fn times(chooser: &mut Chooser) -> RandomQuery {
    let mut condition = chooser.on("records", "", &[("measured_at", Kind::Time)], 2);
    if chooser.percent(30) {
        condition = format!("({condition}) AND {}", chooser.condition(""));
    }
    let unit = chooser.one(&["hour", "day", "week", "month", "year"]);
    let template = chooser.one(&[
        "SELECT count(*) AS n, min(measured_at) AS a, max(measured_at) AS b FROM records WHERE @",
        "SELECT date_trunc('#', measured_at) AS d, count(*) AS n, min(runtime_ns) AS m FROM records WHERE @ GROUP BY 1",
        "SELECT extract(# FROM measured_at) AS d, max(line) AS n FROM records WHERE @ GROUP BY 1",
        "SELECT platform, max(measured_at) AS b, count(measured_at) AS n FROM records WHERE @ GROUP BY platform",
    ]);
    RandomQuery::bag(template.replace('#', unit).replace('@', &condition))
}
