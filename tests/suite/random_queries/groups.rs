//! Queries over groups of records: aggregates that pre-aggregates can serve, and others.

use super::columns::{FEW, MEASURES, columns, labels};
use super::grammar::Chooser;
use super::shapes::RandomQuery;

impl Chooser<'_> {
    /// An aggregate. Pre-aggregates can serve aggregates of labels and runtimes only.
    pub(super) fn aggregate(&mut self, alias: &str) -> String {
        let of_labels = self.percent(65);
        let measure = if of_labels {
            "runtime_ns"
        } else {
            self.one(&MEASURES)
        };
        let known = if of_labels {
            labels()
        } else {
            columns("records")
        };
        let column = self.column(known);
        let condition = self.on("records", alias, known, 1);
        let x = format!("{alias}{measure}");
        let aggregate = match self.rng.u8(..14) {
            0 => "count(*)".to_owned(),
            1 => format!("count({alias}{column})"),
            2..5 => format!("{}({x})", self.one(&["min", "max", "sum", "avg", "count"])),
            5 => format!("{}({alias}{column})", self.one(&["min", "max"])),
            6 => format!(
                "{}({alias}{})",
                self.one(&["sum", "avg", "min", "max"]),
                self.one(&["repeat_count", "error_no"])
            ),
            7 => format!(
                "count(DISTINCT {alias}{})",
                self.one(&["graph_id", "config_id", "platform", "repeat_count"])
            ),
            8 => {
                let then = ["1", "1.5e0", "NULL", &format!("{alias}repeat_count")]
                    [self.rng.usize(..4)]
                .to_owned();
                // The type of a sum of NULL literals is undefined.
                let otherwise = if then == "NULL" {
                    " ELSE 2"
                } else {
                    self.one(&["", " ELSE 0", " ELSE 2"])
                };
                format!("sum(CASE WHEN {condition} THEN {then}{otherwise} END)")
            }
            9 => format!("avg(CASE WHEN {condition} THEN 1e0 ELSE 0e0 END)"),
            10 => format!(
                "{}(CASE WHEN {condition} THEN {x} END)",
                self.one(&["min", "max", "avg", "sum", "count"])
            ),
            11 => format!(
                "{}({x} {})",
                self.one(&["sum", "avg", "max"]),
                self.one(&["* 2", "/ 1e3", "+ 1"])
            ),
            12 => format!("{}({condition})", self.one(&["bool_and", "bool_or"])),
            _ => self.spread_aggregate(&x),
        };
        if self.percent(20) && !aggregate.contains("percentile") {
            let of = if self.percent(80) {
                labels()
            } else {
                columns("records")
            };
            return format!(
                "{aggregate} FILTER (WHERE {})",
                self.on("records", alias, of, 1)
            );
        }
        aggregate
    }

    /// Medians, percentiles and deviations.
    fn spread_aggregate(&mut self, x: &str) -> String {
        match self.rng.u8(..4) {
            0 => format!("median({x})"),
            1 => format!(
                "percentile_cont({}) WITHIN GROUP (ORDER BY {x})",
                self.one(&["0.1", "0.25", "0.5", "0.9", "0.99"])
            ),
            2 => format!("stddev_pop({x})"),
            _ => format!("max({x}) - min({x})"),
        }
    }

    /// A grouping key of records.
    pub(super) fn key(&mut self, alias: &str) -> String {
        match self.rng.u8(..10) {
            0..7 => format!("{alias}{}", self.column(labels())),
            7 => format!(
                "{alias}{}",
                self.one(&["measured_at", "config_id", "cpu_ns", "error_message"])
            ),
            _ => self
                .one(&[
                    "@runtime_ns IS NULL",
                    "@graph_id % 3",
                    "CASE WHEN @error_no = 0 THEN 'good' ELSE 'bad' END",
                    "coalesce(@collection, 'none')",
                    "@platform || '/' || @status",
                    "nullif(@error_no, 0)",
                    "@error_no IN (4, 6, NULL)",
                    "date_trunc('month', @measured_at)",
                    "lower(@platform)",
                ])
                .replace('@', alias),
        }
    }

    /// Returns `count` aggregates with distinct output names.
    pub(super) fn aggregates(&mut self, alias: &str, count: usize) -> String {
        let all: Vec<String> = (0..count)
            .map(|place| format!("{} AS a{place}", self.aggregate(alias)))
            .collect();
        all.join(", ")
    }
}

/// Minima and maxima, with groups and without. Files without any value must not affect the others.
pub(super) fn extremes(chooser: &mut Chooser) -> RandomQuery {
    let count = chooser.rng.usize(1..5);
    let functions: &[&str] = if chooser.percent(70) {
        &["min", "max"]
    } else {
        &["min", "max", "count"]
    };
    let all: Vec<String> = (0..count)
        .map(|place| {
            let column = chooser.column(columns("records"));
            format!("{}({column}) AS a{place}", chooser.one(functions))
        })
        .collect();
    let (all, filter) = (
        all.join(", "),
        if chooser.percent(40) {
            chooser.filter("")
        } else {
            String::new()
        },
    );
    if chooser.percent(30) {
        let key = chooser.one(&FEW);
        return RandomQuery::bag(format!(
            "SELECT {key} AS k, {all} FROM records{filter} GROUP BY {key}"
        ));
    }
    RandomQuery::bag(format!("SELECT {all} FROM records{filter}"))
}

/// One row of aggregates over all records.
pub(super) fn totals(chooser: &mut Chooser) -> RandomQuery {
    let count = chooser.rng.usize(1..5);
    let aggregates = chooser.aggregates("", count);
    RandomQuery::bag(format!(
        "SELECT {aggregates} FROM records{}",
        chooser.filter("")
    ))
}

/// Groups, some with HAVING, an order and a limit.
pub(super) fn groups(chooser: &mut Chooser) -> RandomQuery {
    let (mut keys, count) = (Vec::new(), chooser.rng.usize(1..4));
    for _ in 0..chooser.rng.usize(1..4) {
        let key = chooser.key("");
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let named: Vec<String> = keys
        .iter()
        .enumerate()
        .map(|(place, key)| format!("{key} AS k{place}"))
        .collect();
    let having = chooser.one(&[
        "",
        "",
        "",
        " HAVING count(*) > 3",
        " HAVING max(runtime_ns) IS NULL",
        " HAVING min(runtime_ns) > 1e5 OR count(runtime_ns) < count(*)",
        " HAVING count(DISTINCT config_id) > 10",
        " HAVING sum(CASE WHEN error_no <> 0 THEN 1 ELSE 0 END) > 2",
    ]);
    let (aggregates, filter) = (chooser.aggregates("", count), chooser.filter(""));
    let sql = format!(
        "SELECT {}, {aggregates} FROM records{filter} GROUP BY {}{having}",
        named.join(", "),
        keys.join(", ")
    );
    chooser.maybe_limited(sql, keys.len())
}

/// Several groupings in one query.
pub(super) fn grouping_sets(chooser: &mut Chooser) -> RandomQuery {
    let keys = chooser.some(3, &FEW);
    let (all, count) = (keys.join(", "), chooser.rng.usize(1..4));
    let sets = match chooser.rng.u8(..4) {
        0 => format!("ROLLUP ({all})"),
        1 => format!("CUBE ({all})"),
        2 => format!("GROUPING SETS (({}), ({all}), ())", keys[0]),
        _ => format!("GROUPING SETS (({}), ({}, {}))", keys[0], keys[1], keys[2]),
    };
    let (aggregates, filter) = (chooser.aggregates("", count), chooser.filter(""));
    RandomQuery::bag(format!(
        "SELECT {all}, grouping({}) AS g, {aggregates} FROM records{filter} GROUP BY {sets}",
        keys[0]
    ))
}

pub(super) fn distinct(chooser: &mut Chooser) -> RandomQuery {
    let names: Vec<&str> = labels().iter().map(|(name, _)| *name).collect();
    let (count, filter) = (chooser.rng.usize(1..4), chooser.filter(""));
    let chosen = chooser.some(count, &names).join(", ");
    match chooser.rng.u8(..3) {
        0 => RandomQuery::bag(format!("SELECT DISTINCT {chosen} FROM records{filter}")),
        1 => {
            let condition = chooser.condition("");
            RandomQuery::bag(format!(
                "SELECT platform, count(DISTINCT config_id) AS a, count(DISTINCT graph_id) FILTER (WHERE {condition}) AS b \
                FROM records{filter} GROUP BY platform"
            ))
        }
        _ => RandomQuery::list(format!(
            "SELECT DISTINCT ON (platform, error_no) platform, error_no, runtime_ns, source_id, line FROM records{filter} \
            ORDER BY platform, error_no, runtime_ns{}, source_id, line",
            chooser.one(&["", " DESC", " NULLS FIRST"])
        )),
    }
}

/// Groups over a grouped subquery.
pub(super) fn nested(chooser: &mut Chooser) -> RandomQuery {
    let (key, of) = (
        chooser.one(&["graph_id", "platform", "config_id"]),
        chooser.one(&["dataset", "error_no", "status"]),
    );
    let value = chooser.one(&[
        "min(runtime_ns)",
        "max(runtime_ns)",
        "count(*)",
        "count(DISTINCT config_id)",
    ]);
    let filter = chooser.filter("");
    let inner = format!(
        "SELECT {key} AS x, {of} AS y, {value} AS v, count(*) AS n FROM records{filter} GROUP BY {key}, {of}"
    );
    let outer = chooser.one(&[
        "SELECT y, count(*) AS c, sum(v) AS s, max(n) AS m FROM (@) AS q GROUP BY y",
        "SELECT x, y, v, n, v * 1e0 / n AS r FROM (@) AS q WHERE n > 2",
        "SELECT x, y, v, sum(n) OVER (PARTITION BY y) AS t, rank() OVER (PARTITION BY y ORDER BY v, x) AS p FROM (@) AS q",
        "SELECT count(*) AS c, min(v) AS a, max(v) AS b FROM (@) AS q WHERE y IS NOT NULL",
    ]);
    match chooser.rng.u8(..5) {
        0 => RandomQuery::bag(format!(
            "SELECT source_id AS x, min_by(config_id, line) AS a, max_by(graph_id, line) AS b FROM records{filter} GROUP BY source_id"
        )),
        1 => RandomQuery::list(format!(
            "SELECT {key} AS x, count(*) OVER () AS n, sum(count(*)) OVER () AS s, {value} AS v FROM records{filter} GROUP BY {key} ORDER BY {key} LIMIT 2"
        )),
        _ => RandomQuery::bag(outer.replace('@', &inner)),
    }
}
