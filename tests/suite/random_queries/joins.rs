//! Queries over several tables: joins, semi and anti joins, subqueries, set operations.

use super::columns::{columns, labels};
use super::grammar::Chooser;
use super::shapes::RandomQuery;

/// Tables that records refer to, with the join condition.
const REFERENCED: [(&str, &str); 5] = [
    ("graphs", "r.graph_id = o.graph_id"),
    ("graphs", "r.graph_id = o.graph_id"),
    (
        "configurations",
        "r.graph_id = o.graph_id AND r.config_id = o.config_id",
    ),
    ("environments", "r.environment_id = o.environment_id"),
    (
        "sources",
        "r.source_id = o.source_id AND o.record_count > 0",
    ),
];

/// Joins records `r` with another table `o`. Returns the FROM clause and the name of the other table.
fn joined(chooser: &mut Chooser) -> (String, &'static str) {
    let (table, mut on) = {
        let (table, on) = *chooser.rng.choice(&REFERENCED).unwrap();
        (table, on.to_owned())
    };
    if chooser.percent(25) {
        on += &format!(" AND {}", chooser.on(table, "o.", columns(table), 1));
    }
    if chooser.percent(20) {
        on += &format!(" AND {}", chooser.on("records", "r.", labels(), 1));
    }
    let other = match chooser.percent(30) {
        true => format!(
            "(SELECT * FROM {table} WHERE {})",
            chooser.on(table, "", columns(table), 1)
        ),
        false => table.to_owned(),
    };
    let kind = chooser.one(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
    let from = match chooser.percent(70) {
        true => format!("records AS r {kind} {other} AS o ON {on}"),
        false => format!("{other} AS o {kind} records AS r ON {on}"),
    };
    (from, table)
}

fn condition(chooser: &mut Chooser, table: &str) -> String {
    match chooser.rng.u8(..4) {
        0 => String::new(),
        1 => format!(" WHERE {}", chooser.on(table, "o.", columns(table), 1)),
        _ => format!(" WHERE {}", chooser.condition("r.")),
    }
}

/// Groups of records joined with the tables that they refer to.
pub(super) fn joins(chooser: &mut Chooser) -> RandomQuery {
    let (from, table) = joined(chooser);
    let (count, condition) = (chooser.rng.usize(1..4), condition(chooser, table));
    let (aggregates, other) = (
        chooser.aggregates("r.", count),
        chooser.column(columns(table)),
    );
    let of_other = match chooser.percent(50) {
        true => format!(", count(o.{other}) AS c, max(o.{other}) AS m"),
        // Rows may be aggregated before the join.
        false => String::new(),
    };
    let of_other_key = format!("o.{}", chooser.column(columns(table)));
    let (keys, groups) = match chooser.rng.u8(..4) {
        0 => (String::new(), String::new()),
        1 => {
            let key = chooser.key("r.");
            (format!("{key} AS k, "), format!(" GROUP BY {key}"))
        }
        2 => (
            format!("{of_other_key} AS k, "),
            format!(" GROUP BY {of_other_key}"),
        ),
        _ => {
            let key = chooser.key("r.");
            let keys = format!("{key} AS k, {of_other_key} AS l, ");
            (keys, format!(" GROUP BY {key}, {of_other_key}"))
        }
    };
    RandomQuery::bag(format!(
        "SELECT {keys}{aggregates}{of_other} FROM {from}{condition}{groups}"
    ))
}

/// Records joined with records.
pub(super) fn self_joins(chooser: &mut Chooser) -> RandomQuery {
    let on = chooser.one(&[
        "a.graph_id = b.graph_id AND a.config_id = b.config_id",
        "a.config_id = b.config_id AND a.runtime_ns < b.runtime_ns",
        "a.source_id = b.source_id AND a.line = b.line + 1",
    ]);
    let kind = chooser.one(&["JOIN", "JOIN", "LEFT JOIN", "FULL JOIN"]);
    let side = |chooser: &mut Chooser| {
        let filter = format!(
            "platform IN ({0}, {1})",
            chooser.literal("records", "platform"),
            chooser.literal("records", "platform")
        );
        format!("(SELECT * FROM records WHERE {filter} AND line < 300)")
    };
    let (left, right) = (side(chooser), side(chooser));
    let key = chooser.one(&["a.graph_id", "b.platform", "a.error_no"]);
    RandomQuery::bag(format!(
        "SELECT {key} AS k, count(*) AS n, min(a.runtime_ns / b.runtime_ns) AS x, count(b.line) AS y, max(a.line) AS z \
        FROM {left} AS a {kind} {right} AS b ON {on} GROUP BY {key}"
    ))
}

/// Records with or without a match in another result, also with NULL.
pub(super) fn semi_joins(chooser: &mut Chooser) -> RandomQuery {
    let on_graph = chooser.on("graphs", "", columns("graphs"), 1);
    let on_named = chooser.on("graphs", "g.", columns("graphs"), 1);
    let on_source = chooser.on("sources", "", columns("sources"), 1);
    let (on_records, on_labels) = (
        chooser.condition("x."),
        chooser.on("records", "x.", labels(), 1),
    );
    let platform = chooser.literal("records", "platform");
    let count = chooser.rng.usize(1..4);
    let semi = match chooser.rng.u8(..9) {
        0 => format!("r.graph_id IN (SELECT graph_id FROM graphs WHERE {on_graph})"),
        1 => format!("r.graph_id NOT IN (SELECT graph_id FROM graphs WHERE {on_graph})"),
        2 => format!(
            "EXISTS (SELECT 1 FROM graphs AS g WHERE g.graph_id = r.graph_id AND {on_named})"
        ),
        3 => format!(
            "NOT EXISTS (SELECT 1 FROM records AS x WHERE x.config_id = r.config_id AND x.graph_id = r.graph_id AND {on_labels})"
        ),
        4 => {
            format!("r.config_id NOT IN (SELECT x.config_id FROM records AS x WHERE {on_records})")
        }
        5 => format!("r.platform IN (SELECT platform FROM sources WHERE {on_source})"),
        6 => format!("r.platform NOT IN (SELECT nullif(platform, {platform}) FROM sources)"),
        7 => format!(
            "r.runtime_ns = (SELECT min(runtime_ns) FROM records AS x WHERE x.graph_id = r.graph_id AND {on_labels})"
        ),
        _ => format!(
            "r.runtime_ns < (SELECT avg(x.runtime_ns) FROM records AS x WHERE {on_records})"
        ),
    };
    let more = match chooser.percent(40) {
        true => format!(" AND {}", chooser.condition("r.")),
        false => String::new(),
    };
    let aggregates = chooser.aggregates("r.", count);
    match chooser.percent(50) {
        true => RandomQuery::bag(format!(
            "SELECT r.platform, {aggregates} FROM records AS r WHERE {semi}{more} GROUP BY r.platform"
        )),
        false => RandomQuery::bag(format!(
            "SELECT {aggregates} FROM records AS r WHERE {semi}{more}"
        )),
    }
}

/// Scalar subqueries among the outputs.
pub(super) fn scalars(chooser: &mut Chooser) -> RandomQuery {
    let (a, b) = (chooser.condition(""), chooser.condition(""));
    let on_labels = chooser.on("records", "r.", labels(), 1);
    RandomQuery::bag(match chooser.rng.u8(..4) {
        0 => format!(
            "SELECT platform, count(*) AS n, (SELECT count(*) FROM records WHERE {a}) AS t FROM records WHERE {b} GROUP BY platform"
        ),
        1 => format!(
            "SELECT g.graph_id, (SELECT min(runtime_ns) FROM records AS r WHERE r.graph_id = g.graph_id AND {on_labels}) AS best FROM graphs AS g"
        ),
        2 => format!(
            "SELECT e.environment_id, (SELECT sum(r.repeat_count) FROM records AS r WHERE r.environment_id = e.environment_id AND {on_labels}) AS s FROM environments AS e"
        ),
        _ => format!(
            "SELECT (SELECT max(runtime_ns) FROM records WHERE {a}) AS x, (SELECT min(line) FROM records WHERE {b}) AS y"
        ),
    })
}

/// Set operations over results.
pub(super) fn sets(chooser: &mut Chooser) -> RandomQuery {
    let count = chooser.rng.usize(1..4);
    let names = chooser
        .some(
            count,
            &[
                "platform",
                "graph_id",
                "error_no",
                "repeat_count",
                "status",
                "config_id",
            ],
        )
        .join(", ");
    let mut part = || {
        let grouped = if chooser.percent(40) {
            format!(" GROUP BY {names}")
        } else {
            String::new()
        };
        format!(
            "(SELECT {names} FROM records{}{grouped})",
            chooser.filter("")
        )
    };
    let (a, b, c) = (part(), part(), part());
    let operators = [
        "UNION",
        "UNION ALL",
        "EXCEPT",
        "INTERSECT",
        "EXCEPT ALL",
        "INTERSECT ALL",
    ];
    let mut all = format!("{a} {} {b}", chooser.one(&operators));
    if chooser.percent(30) {
        all = format!("({all}) {} {c}", chooser.one(&operators));
    }
    if chooser.percent(30) {
        let (a, b) = (chooser.filter(""), chooser.filter(""));
        return RandomQuery::bag(format!(
            "SELECT k, sum(n) AS n, min(t) AS t FROM (SELECT platform AS k, count(*) AS n, min(runtime_ns) AS t FROM records{a} GROUP BY platform \
            UNION ALL SELECT status, count(runtime_ns), max(runtime_ns) FROM records{b} GROUP BY status) AS u GROUP BY k"
        ));
    }
    if chooser.percent(30) {
        // Columns that are constant in each query, and columns with few values.
        let (a, b) = (chooser.filter(""), chooser.filter(""));
        let keys = chooser.one(&["p", "q", "p, q", "p, e"]);
        return RandomQuery::bag(format!(
            "SELECT {keys}, count(*) AS n, count(t) AS c, max(t) AS t, sum(l) AS l FROM (SELECT 'a' AS p, platform AS q, error_no AS e, runtime_ns AS t, line AS l FROM records{a} \
            UNION ALL SELECT 'b', status, repeat_count, runtime_ns * 2, 7 FROM records{b}) AS u GROUP BY {keys}"
        ));
    }
    RandomQuery::bag(format!(
        "SELECT {names}, count(*) AS n FROM ({all}) AS u GROUP BY {names}"
    ))
}

/// A common table expression that is used twice.
pub(super) fn shared(chooser: &mut Chooser) -> RandomQuery {
    let key = chooser.one(&["graph_id", "platform", "source_id"]);
    let (a, b) = (chooser.filter(""), chooser.filter("r."));
    let aggregate = chooser.aggregate("");
    RandomQuery::bag(match chooser.rng.u8(..5) {
        0 => format!(
            "WITH w AS (SELECT * FROM records{a}), b AS (SELECT {key}, min(runtime_ns) AS best, count(*) AS n FROM w GROUP BY {key}) \
            SELECT w.{key}, count(*) AS c, avg(w.runtime_ns / b.best) AS a, max(b.n) AS m FROM w JOIN b ON w.{key} = b.{key} GROUP BY w.{key}"
        ),
        1 => format!(
            "WITH b AS (SELECT {key}, min(runtime_ns) AS best, count(*) AS n FROM records{a} GROUP BY {key}) \
            SELECT count(*) AS c, sum(x.n) AS n, min(x.best - y.best) AS d FROM b AS x LEFT JOIN b AS y ON x.{key} = y.{key}"
        ),
        2 => format!(
            "WITH w AS (SELECT * FROM records{a}) SELECT (SELECT count(*) FROM w) AS a, (SELECT min(runtime_ns) FROM w WHERE error_no = 0) AS b, \
            (SELECT count(DISTINCT config_id) FROM w) AS c"
        ),
        3 => format!(
            "WITH records AS (SELECT * FROM records{a}) SELECT {key}, {aggregate} AS a FROM records GROUP BY {key}"
        ),
        _ => format!(
            "WITH b AS (SELECT {key}, avg(runtime_ns) AS m FROM records GROUP BY {key}) \
            SELECT r.platform, count(*) AS n, sum(b.m) AS s, max(r.runtime_ns) AS x FROM records AS r JOIN b ON r.{key} = b.{key}{b} GROUP BY r.platform"
        ),
    })
}

/// Tables that records refer to, without records: other tables, and graphs as nodes and edges.
pub(super) fn referenced(chooser: &mut Chooser) -> RandomQuery {
    let table = chooser.one(&["graphs", "configurations", "sources", "environments"]);
    let (a, b) = (
        chooser.column(columns(table)),
        chooser.column(columns(table)),
    );
    let filter = match chooser.percent(70) {
        true => format!(" WHERE {}", chooser.on(table, "", columns(table), 2)),
        false => String::new(),
    };
    let part = chooser.rng.u8(..3);
    RandomQuery::bag(match chooser.rng.u8(..5) {
        0 => format!(
            "SELECT min({a}) AS x, max({b}) AS y, count({a}) AS z, count(*) AS n FROM {table}{filter}"
        ),
        1 => format!(
            "SELECT {a} AS k, count(DISTINCT {b}) AS x, count(*) AS n FROM {table}{filter} GROUP BY {a}"
        ),
        2 => format!("SELECT DISTINCT {a} AS x, {b} AS y FROM {table}{filter}"),
        3 => format!(
            "SELECT n.op, count(*) AS n, max(e.\"user\") AS u FROM nodes AS n JOIN edges AS e \
            ON e.graph_id = n.graph_id AND e.operand = n.node WHERE n.node % 3 = {part} GROUP BY n.op"
        ),
        _ => format!(
            "SELECT g.kind, count(e.operand) AS n, count(*) AS m FROM graphs AS g LEFT JOIN edges AS e \
            ON e.graph_id = g.graph_id AND e.\"user\" % 3 = {part} GROUP BY g.kind"
        ),
    })
}
