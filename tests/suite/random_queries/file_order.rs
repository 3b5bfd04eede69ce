//! Queries in the sort order of the data files, for which engines omit sorts and push limits down.

use super::grammar::Chooser;
use super::shapes::RandomQuery;

/// Sort order of the files of records. It is unique for each record.
const ORDER: [&str; 3] = ["graph_id", "source_id", "line"];

impl Chooser<'_> {
    /// A query over records in that order: all of them, the first ones, or a union.
    fn in_order(&mut self) -> String {
        let filter = self.filter("");
        let names = "graph_id, source_id, line, platform, runtime_ns";
        let rows = format!("SELECT {names} FROM records{filter}");
        let first = format!("{rows} ORDER BY {} LIMIT 60", ORDER.join(", "));
        match self.rng.u8(..6) {
            0..2 => rows,
            2 => first,
            3 => format!("({first}) UNION ALL ({first}) UNION ALL ({rows})"),
            4 => {
                let other = self.filter("");
                format!("{rows} UNION ALL SELECT {names} FROM records{other}")
            }
            _ => {
                let partition = self.one(&["", "PARTITION BY graph_id ", "PARTITION BY platform "]);
                let by = ORDER.join(", ");
                format!(
                    "SELECT {names}, row_number() OVER ({partition}ORDER BY {by}) AS place FROM records{filter}"
                )
            }
        }
    }
}

/// The first records, keys or groups in file order, also with joins.
pub(super) fn file_order(chooser: &mut Chooser) -> RandomQuery {
    let rows = chooser.in_order();
    let count = chooser.rng.usize(1..=ORDER.len());
    let keys = ORDER[..count].join(", ");
    let by = ORDER.join(", ");
    let way = chooser.one(&["", "", "", " DESC"]);
    let limit = chooser.one(&["LIMIT 1", "LIMIT 3", "LIMIT 40", "LIMIT 10 OFFSET 5", ""]);
    let first = format!(
        "ORDER BY {}{way} {limit}",
        keys.replace(", ", &format!("{way}, "))
    );
    match chooser.rng.u8(..8) {
        0..2 => RandomQuery::list(format!("SELECT DISTINCT {keys} FROM ({rows}) AS q {first}")),
        2..4 => RandomQuery::list(format!(
            "SELECT {keys}, count(*) AS n, min(runtime_ns) AS m FROM ({rows}) AS q GROUP BY {keys} {first}"
        )),
        4 => RandomQuery::list(format!(
            "SELECT {by}, runtime_ns FROM ({rows}) AS q WHERE line % 3 = 1 ORDER BY {by}, runtime_ns {limit}"
        )),
        5 => RandomQuery::list(format!(
            "SELECT q.graph_id, q.source_id, q.line, g.node_count FROM ({rows}) AS q JOIN graphs AS g ON g.graph_id = q.graph_id ORDER BY q.graph_id, q.source_id, q.line {limit}"
        )),
        6 => RandomQuery::bag(format!(
            "SELECT platform, count(*) AS n FROM records WHERE graph_id IN (SELECT DISTINCT graph_id FROM ({rows}) AS q ORDER BY graph_id LIMIT 3) GROUP BY platform"
        )),
        _ => RandomQuery::list(format!(
            "SELECT {by}, lag(line) OVER (ORDER BY {by}) AS before FROM ({rows}) AS q ORDER BY {by}, before {limit}"
        )),
    }
}
