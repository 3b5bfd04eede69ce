//! Queries whose plans move limits, filters and orders: windows below joins, unions of constants, joins with
//! inequalities.

use super::columns::{columns, labels};
use super::grammar::Chooser;
use super::shapes::RandomQuery;

/// Columns that identify a record.
const TOTAL: &str = "source_id, line";

/// LIMIT clauses. The empty text has no limit.
const LIMITS: [&str; 6] = [
    " LIMIT 1",
    " LIMIT 3",
    " LIMIT 10",
    " LIMIT 5 OFFSET 2",
    " LIMIT 4 OFFSET 900",
    "",
];

/// An ordered query above a window that is below a join: the window sees all rows.
pub(super) fn windows_below_joins(chooser: &mut Chooser) -> RandomQuery {
    let partition = chooser.one(&["", "", "PARTITION BY platform ", "PARTITION BY graph_id "]);
    let window = match chooser.rng.u8(..6) {
        0 => format!("row_number() OVER ({partition}ORDER BY {TOTAL})"),
        1 => format!("rank() OVER ({partition}ORDER BY error_no)"),
        2 => format!("line * 1e0 / sum(line) OVER ({partition})"),
        3 => format!("max(runtime_ns) OVER ({partition})"),
        4 => format!(
            "sum(line) OVER ({partition}ORDER BY {TOTAL} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)"
        ),
        _ => format!("count(*) OVER ({partition})"),
    };
    let rows = format!(
        "SELECT graph_id, source_id, line, {window} AS n FROM records{}",
        chooser.filter("")
    );
    let on_graphs = chooser.on("graphs", "", columns("graphs"), 1);
    let graphs = match chooser.rng.u8(..4) {
        0 => "graphs".to_owned(),
        1 => format!("(SELECT * FROM graphs WHERE {on_graphs})"),
        2 => format!(
            "(SELECT graph_id, kind FROM graphs UNION SELECT graph_id, kind FROM graphs WHERE {on_graphs})"
        ),
        _ => "(SELECT graph_id, count(*) AS kind FROM records GROUP BY graph_id)".to_owned(),
    };
    let (limit, way) = (chooser.one(&LIMITS), chooser.one(&["", " DESC"]));
    let by = match chooser.rng.bool() {
        true => format!("w.graph_id{way}, w.source_id, w.line"),
        false => format!("w.source_id{way}, w.line{way}"),
    };
    RandomQuery::list(match chooser.rng.u8(..5) {
        0 => format!(
            "SELECT w.* FROM ({rows}) AS w WHERE w.graph_id IN (SELECT graph_id FROM {graphs} AS g) ORDER BY {by}{limit}"
        ),
        1 => format!(
            "SELECT w.* FROM ({rows}) AS w WHERE EXISTS (SELECT 1 FROM {graphs} AS g WHERE g.graph_id = w.graph_id) ORDER BY {by}{limit}"
        ),
        2 => format!(
            "SELECT w.*, g.kind FROM ({rows}) AS w LEFT JOIN {graphs} AS g ON g.graph_id = w.graph_id ORDER BY {by}{limit}"
        ),
        3 => format!(
            "SELECT w.*, g.kind FROM {graphs} AS g JOIN ({rows}) AS w ON g.graph_id = w.graph_id ORDER BY {by}{limit}"
        ),
        _ => format!(
            "SELECT w.*, g.kind FROM ({rows}) AS w JOIN {graphs} AS g ON g.graph_id = w.graph_id ORDER BY {by}{limit}"
        ),
    })
}

/// The first rows of a union whose queries have constants in the columns that rows are ordered by.
pub(super) fn unions_of_constants(chooser: &mut Chooser) -> RandomQuery {
    let count = chooser.rng.usize(2..4);
    let constants = ["0", "1", "1", "2", "NULL"];
    let queries: Vec<String> = (0..count)
        .map(|number| {
            let (constant, filter) = (chooser.one(&constants), chooser.filter(""));
            format!("SELECT {constant} AS n, {number} AS q, source_id, line FROM records{filter}")
        })
        .collect();
    let way = chooser.one(&["", " DESC", " NULLS FIRST", " DESC NULLS FIRST"]);
    let (limit, keys) = (
        chooser.one(&LIMITS),
        chooser.one(&["n@, q@, source_id, line", "q, n@, source_id DESC, line"]),
    );
    let union = queries.join(" UNION ALL ");
    let by = keys.replace('@', way);
    RandomQuery::list(format!("SELECT * FROM ({union}) AS u ORDER BY {by}{limit}"))
}

/// Joins with an inequality over columns that are not selected.
pub(super) fn inequalities(chooser: &mut Chooser) -> RandomQuery {
    let filter = |chooser: &mut Chooser| {
        let platform = chooser.literal("records", "platform");
        let labels = chooser.on("records", "", labels(), 1);
        format!("(SELECT * FROM records WHERE (platform = {platform} OR {labels}) AND line < 90)")
    };
    let (left, right) = (filter(chooser), filter(chooser));
    let kind = chooser.one(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
    let key = chooser.one(&[
        "a.config_id = b.config_id",
        "a.line = b.line",
        "a.graph_id = b.graph_id AND a.line = b.line",
        "a.error_message = b.error_message AND a.platform = b.platform AND a.line % 7 = b.line % 7",
        "a.runtime_ns = b.runtime_ns AND a.error_message = b.error_message",
    ]);
    let more = chooser.one(&[
        "",
        " AND a.runtime_ns > b.min_ns",
        " AND a.source_id <> b.source_id",
        " AND a.runtime_ns < b.runtime_ns AND a.repeat_count <= b.repeat_count",
        " AND a.error_no + b.line > 40",
    ]);
    let selected = chooser.one(&[
        "count(*) AS n",
        "count(a.line) AS n, count(b.line) AS m",
        "sum(a.line) AS n, max(b.source_id) AS m, count(*) AS c",
        "min(b.noise) AS n, count(*) AS c",
    ]);
    match chooser.rng.u8(..3) {
        0 => RandomQuery::bag(format!(
            "SELECT a.line AS k, b.line AS l FROM {left} AS a {kind} {right} AS b ON {key}{more}"
        )),
        1 => RandomQuery::bag(format!(
            "SELECT a.platform, {selected} FROM {left} AS a {kind} {right} AS b ON {key}{more} GROUP BY a.platform"
        )),
        _ => RandomQuery::bag(format!(
            "SELECT {selected} FROM {left} AS a {kind} {right} AS b ON {key}{more}"
        )),
    }
}

/// Lists and subqueries in which NULL is computed, next to lists that name the same values.
pub(super) fn computed_nulls(chooser: &mut Chooser) -> RandomQuery {
    let column = chooser.one(&["error_no", "repeat_count"]);
    let value = |chooser: &mut Chooser| chooser.literal("records", column);
    let (a, b, c) = (value(chooser), value(chooser), value(chooser));
    let null = chooser
        .one(&[
            "NULL",
            "nullif(@, @)",
            "CASE WHEN @ <> @ THEN 1 END",
            "NULL + @",
            "coalesce(NULL, nullif(@, @))",
            "(SELECT nullif(@, @))",
            "CAST(NULL AS BIGINT)",
            "nullif(line, line)",
        ])
        .replace('@', &a);
    let (not, word) = (
        chooser.one(&["NOT ", "NOT ", ""]),
        chooser.one(&["AND", "OR"]),
    );
    let other = match chooser.rng.u8(..3) {
        0 => format!("{column} IN ({b}, {c})"),
        1 => format!("{column} NOT IN ({b})"),
        _ => format!("{column} = {b}"),
    };
    let condition = match chooser.rng.u8(..3) {
        0 => format!("{column} {not}IN (SELECT nullif({column}, {b}) FROM records) {word} {other}"),
        1 => format!("{other} {word} {column} {not}IN ({null}, {a})"),
        _ => format!("{column} {not}IN ({a}, {null}) {word} {other}"),
    };
    let counted = chooser.one(&["count(*) AS n", "count(*) AS n, max(line) AS m"]);
    RandomQuery::bag(match chooser.percent(30) {
        true => format!(
            "SELECT {counted}, sum(CASE WHEN ({condition}) IS NULL THEN 1 ELSE 0 END) AS u FROM records"
        ),
        false => format!("SELECT {counted} FROM records WHERE {condition}"),
    })
}

/// Aggregates over frames of every kind, with FILTER, next to functions that collect partitions.
pub(super) fn frames(chooser: &mut Chooser) -> RandomQuery {
    let partition = chooser.one(&["", "PARTITION BY platform ", "PARTITION BY graph_id "]);
    let count = chooser.rng.usize(1..4);
    let windows: Vec<String> = (0..count)
        .map(|place| format!("{} AS w{place}", chooser.over_frame(partition)))
        .collect();
    let rows = format!(
        "SELECT source_id, line, {} FROM records{}",
        windows.join(", "),
        chooser.filter("")
    );
    match chooser.rng.u8(..3) {
        0 => RandomQuery::bag(format!(
            "SELECT source_id, count(w0) AS n, max(w0) AS m FROM ({rows}) AS q GROUP BY source_id"
        )),
        1 => {
            let limit = chooser.one(&LIMITS);
            RandomQuery::list(format!(
                "SELECT * FROM ({rows}) AS q ORDER BY {TOTAL}{limit}"
            ))
        }
        _ => RandomQuery::bag(format!("SELECT * FROM ({rows}) AS q WHERE line % 23 = 2")),
    }
}

impl Chooser<'_> {
    fn over_frame(&mut self, partition: &str) -> String {
        let function = self.one(&[
            "sum(runtime_ns)",
            "avg(runtime_ns)",
            "sum(noise)",
            "min(runtime_ns)",
            "max(min_ns)",
            "count(runtime_ns)",
            "sum(line)",
            "avg(line)",
            "count(*)",
            "ntile(3)",
        ]);
        let over = format!("{partition}ORDER BY {TOTAL}");
        if function.starts_with("ntile") {
            return format!("{function} OVER ({over})");
        }
        let filter = match self.percent(25) {
            true => format!(" FILTER (WHERE {})", self.on("records", "", labels(), 1)),
            false => String::new(),
        };
        let (start, end) = (
            self.one(&[
                "UNBOUNDED PRECEDING",
                "5 PRECEDING",
                "1 PRECEDING",
                "CURRENT ROW",
            ]),
            self.one(&[
                "CURRENT ROW",
                "CURRENT ROW",
                "2 FOLLOWING",
                "UNBOUNDED FOLLOWING",
            ]),
        );
        let frame = match self.rng.u8(..6) {
            0 => String::new(),
            1 => " ROWS BETWEEN 4 PRECEDING AND 2 PRECEDING".to_owned(),
            2 => " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING".to_owned(),
            3 => {
                let over = format!("{partition}ORDER BY line");
                return format!(
                    "{function}{filter} OVER ({over} RANGE BETWEEN 3 PRECEDING AND 2 FOLLOWING)"
                );
            }
            _ => format!(" ROWS BETWEEN {start} AND {end}"),
        };
        format!("{function}{filter} OVER ({over}{frame})")
    }
}

/// Grouping sets over a column that a filter makes constant, or over no rows.
pub(super) fn constant_grouping_sets(chooser: &mut Chooser) -> RandomQuery {
    let platform = chooser.literal("records", "platform");
    let filter = match chooser.rng.u8(..4) {
        0 => "1 = 0".to_owned(),
        1 => format!("platform = {platform} AND platform <> {platform}"),
        2 => format!(
            "platform = {platform} AND {}",
            chooser.on("records", "", labels(), 1)
        ),
        _ => format!("platform = {platform}"),
    };
    let sets = chooser.one(&["ROLLUP", "CUBE"]);
    let way = chooser.one(&["", " DESC", " NULLS FIRST"]);
    let limit = chooser.one(&LIMITS);
    let groups = format!(
        "SELECT platform, error_no, grouping(platform) AS g, grouping(error_no) AS h, count(*) AS n FROM records WHERE {filter} GROUP BY {sets}(platform, error_no)"
    );
    let by = format!("platform{way}, error_no{way}, g, h");
    RandomQuery::list(match chooser.rng.u8(..3) {
        0 => format!(
            "SELECT *, row_number() OVER (ORDER BY {by}) AS r FROM ({groups}) AS q ORDER BY r{limit}"
        ),
        1 => format!("SELECT * FROM ({groups}) AS q ORDER BY {by}{limit}"),
        _ => format!("{groups} ORDER BY {by}{limit}"),
    })
}

/// Rows after an OFFSET in a subquery, with and without LIMIT.
pub(super) fn offsets(chooser: &mut Chooser) -> RandomQuery {
    let way = chooser.one(&["", " DESC"]);
    let by = match chooser.rng.bool() {
        true => format!("runtime_ns{way}, {TOTAL}"),
        false => format!("source_id{way}, line"),
    };
    let cut = chooser.one(&["OFFSET 7", "OFFSET 300", "LIMIT 20 OFFSET 11", "LIMIT 9"]);
    let rows = format!(
        "SELECT source_id, line, platform, runtime_ns FROM records{} ORDER BY {by} {cut}",
        chooser.filter("")
    );
    match chooser.rng.u8(..4) {
        0 => RandomQuery::bag(format!(
            "SELECT platform, count(*) AS n, min(runtime_ns) AS m, sum(line) AS s FROM ({rows}) AS q GROUP BY platform"
        )),
        1 => RandomQuery::list(format!("SELECT * FROM ({rows}) AS q ORDER BY {by} LIMIT 5")),
        2 => RandomQuery::bag(format!(
            "SELECT q.line, g.kind FROM ({rows}) AS q JOIN records AS r ON r.source_id = q.source_id AND r.line = q.line JOIN graphs AS g ON g.graph_id = r.graph_id"
        )),
        _ => RandomQuery::list(rows),
    }
}
