//! Queries with windows: aggregates over whole labels (joined from pre-aggregates), ranks, neighbors, top rows.

use super::columns::labels;
use super::grammar::Chooser;
use super::shapes::RandomQuery;

/// A total order of the rows of a window.
const TOTAL: &str = "source_id, line";

impl Chooser<'_> {
    /// An aggregate over a whole label.
    fn over_label(&mut self) -> String {
        let measure = self.one(&["runtime_ns", "runtime_ns", "runtime_ns", "all_cost_s"]);
        let aggregate = match self.rng.u8(..5) {
            0 => "count(*)".to_owned(),
            1 => "sum(CASE WHEN error_no <> 0 THEN 1 ELSE 0 END)".to_owned(),
            2 => "max(platform)".to_owned(),
            _ => format!(
                "{}({measure})",
                self.one(&["min", "max", "avg", "sum", "count"])
            ),
        };
        let filter = match self.percent(20) {
            true => format!(" FILTER (WHERE {})", self.on("records", "", labels(), 1)),
            false => String::new(),
        };
        let names: Vec<&str> = labels().iter().map(|(name, _)| *name).collect();
        let count = self.rng.usize(1..3);
        let partition = self.some(count, &names).join(", ");
        let frame = self.one(&[
            "",
            "",
            " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
        ]);
        format!("{aggregate}{filter} OVER (PARTITION BY {partition}{frame})")
    }

    /// Order of each partition: its first column, and the complete ORDER BY list.
    fn ordering(&mut self) -> (&'static str, String) {
        let by = self.one(&[
            "runtime_ns",
            "runtime_ns",
            "runtime_ns",
            "baseline_ns",
            "measured_at",
            "noise",
            "repeat_count",
            "error_message",
        ]);
        let way = self.one(&["", " DESC", " DESC NULLS FIRST", " NULLS FIRST"]);
        (by, format!("{by}{way}, {TOTAL}"))
    }
}

/// Records next to aggregates over their labels.
pub(super) fn label_windows(chooser: &mut Chooser) -> RandomQuery {
    let count = chooser.rng.usize(1..4);
    let windows: Vec<String> = (0..count)
        .map(|index| format!("{} AS w{index}", chooser.over_label()))
        .collect();
    let inner = format!(
        "SELECT source_id, line, platform, config_id, runtime_ns, {} FROM records{}",
        windows.join(", "),
        chooser.filter("")
    );
    let last = count - 1;
    match chooser.rng.u8(..5) {
        0 => RandomQuery::bag(format!("SELECT * FROM ({inner}) AS q WHERE line % 37 = 3")),
        1 => RandomQuery::bag(format!(
            "SELECT count(*) AS n, count(w0) AS a, min(w0) AS b, sum(CASE WHEN w{last} IS NULL THEN 1 ELSE 0 END) AS c FROM ({inner}) AS q"
        )),
        2 => RandomQuery::bag(format!(
            "SELECT platform, count(*) AS n, max(w{last}) AS m FROM ({inner}) AS q GROUP BY platform"
        )),
        3 => RandomQuery::list(format!(
            "SELECT source_id, line, w0 FROM ({inner}) AS q WHERE w0 IS NULL OR line % 5 = 1 ORDER BY {TOTAL} LIMIT 200"
        )),
        _ => RandomQuery::list(format!(
            "SELECT q.*, w{last} IS NULL AS h FROM ({inner}) AS q ORDER BY {TOTAL} LIMIT 30 OFFSET 7"
        )),
    }
}

/// The top rows of each partition, next to other windows over the same rows.
pub(super) fn top_rows(chooser: &mut Chooser) -> RandomQuery {
    let count = chooser.rng.usize(1..3);
    let labels = [
        "platform",
        "graph_id",
        "dataset",
        "error_no",
        "collection",
        "config_id",
    ];
    let partition = chooser.some(count, &labels);
    let (by, order) = chooser.ordering();
    let over = format!(
        "OVER (PARTITION BY {} ORDER BY {order})",
        partition.join(", ")
    );
    let first = chooser.one(&["row_number()", "row_number()", "rank()", "dense_rank()"]);
    let mut windows = vec![format!("{first} {over} AS w0")];
    for index in 1..chooser.rng.usize(1..4) {
        let other = chooser.one(&[
            "lead(line)",
            "lag(runtime_ns)",
            "first_value(line)",
            "count(*)",
            "sum(line)",
            "ntile(4)",
            "last_value(line)",
            "max(runtime_ns)",
        ]);
        windows.push(format!("{other} {over} AS w{index}"));
    }
    // Exactly the columns that the windows read, so that no projection is between the windows and the filter.
    let mut columns = partition;
    columns.extend([by, "source_id", "line", "runtime_ns"]);
    if chooser.percent(30) {
        columns.extend(["flags", "repeat_count"]);
    }
    columns.sort_unstable();
    columns.dedup();
    chooser.rng.shuffle(&mut columns);
    let last = windows.len() - 1;
    let (columns, windows) = (columns.join(", "), windows.join(", "));
    let rows = format!(
        "SELECT {columns}, {windows} FROM records{}",
        chooser.filter("")
    );
    let few = chooser.one(&[
        "w0 <= 1",
        "w0 <= 3",
        "w0 < 3",
        "2 >= w0",
        "w0 = 2",
        "w0 <= 2 AND runtime_ns > 1e6",
        "w0 BETWEEN 2 AND 4",
        "w0 IN (1, 3)",
        "w0 < 1",
        "w0 <= 2 OR line = 5",
        "w0 > 2 AND w0 <= 4",
        "line <= 5",
    ]);
    match chooser.rng.u8(..5) {
        0 => RandomQuery::bag(format!("{rows} QUALIFY w0 <= 2")),
        1 => RandomQuery::bag(format!(
            "SELECT count(*) AS n, sum(w0) AS s, max(line) AS m, count(w{last}) AS c FROM ({rows}) AS q WHERE {few}"
        )),
        2 => RandomQuery::list(format!(
            "SELECT * FROM ({rows}) AS q WHERE {few} ORDER BY {TOTAL} LIMIT 50"
        )),
        _ => RandomQuery::bag(format!("SELECT * FROM ({rows}) AS q WHERE {few}")),
    }
}

/// Frames that move with the current row.
pub(super) fn running(chooser: &mut Chooser) -> RandomQuery {
    let (_, order) = chooser.ordering();
    let function = chooser.one(&[
        "sum(repeat_count)",
        "count(runtime_ns)",
        "min(runtime_ns)",
        "max(line)",
        "sum(line)",
        "avg(runtime_ns)",
        "count(*)",
    ]);
    let frame = chooser.one(&[
        "",
        "",
        " ROWS UNBOUNDED PRECEDING",
        " ROWS BETWEEN 3 PRECEDING AND CURRENT ROW",
        " ROWS BETWEEN 0 PRECEDING AND CURRENT ROW",
        " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
        " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
        " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    ]);
    // For frames with following rows, DataFusion subtracts from sums of fractions and loses digits.
    let function = match frame.contains("FOLLOWING") {
        true => function.replace("avg(", "max("),
        false => function.to_owned(),
    };
    let partition = chooser.one(&[
        "",
        "PARTITION BY platform ",
        "PARTITION BY graph_id ",
        "PARTITION BY dataset, error_no ",
    ]);
    let filter = chooser.filter("");
    let inner = format!(
        "SELECT source_id, line, {function} OVER ({partition}ORDER BY {order}{frame}) AS w FROM records{filter}"
    );
    match chooser.rng.bool() {
        true => RandomQuery::bag(format!(
            "SELECT source_id, count(w) AS n, max(w) AS m, min(w) AS l FROM ({inner}) AS q GROUP BY source_id"
        )),
        false => RandomQuery::bag(format!("SELECT * FROM ({inner}) AS q WHERE line % 41 = 2")),
    }
}
