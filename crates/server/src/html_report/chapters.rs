//! Sections of the HTML report, in order.

/// A section of the report.
pub(super) struct Chapter {
    pub(super) heading: &'static str,
    pub(super) text: &'static str,
    pub(super) has_facts: bool,
    pub(super) parts: Vec<ChapterPart>,
}

/// Content of a section.
pub(super) enum ChapterPart {
    /// Plot of a built-in query.
    QueryPlot(&'static str),
    /// Plot of a query.
    SqlPlot {
        caption: &'static str,
        sql: &'static str,
        spec: &'static str,
    },
    /// A table.
    Table {
        caption: &'static str,
        sql: &'static str,
    },
}

/// Without rows if no operator is known.
const BY_OPERATOR: &str = "SELECT coalesce(op, 'unknown') AS operator, platform, records
FROM (SELECT *, count(op) OVER () AS known, sum(records) OVER (PARTITION BY op) AS total
  FROM (SELECT t.op, r.platform, count(*) AS records
    FROM records AS r LEFT JOIN tasks AS t ON t.graph_id = r.graph_id
    GROUP BY t.op, r.platform) AS g) AS counted
WHERE known > 0 ORDER BY total DESC, operator, platform";

const MEASUREMENT_TIMES: &str =
    "SELECT measured_at, platform FROM records WHERE measured_at IS NOT NULL";

const PLATFORMS: &str =
    "SELECT dataset, platform, count(*) AS records, count(DISTINCT graph_id) AS graphs,
  count(DISTINCT config_id) AS configurations, count(*) FILTER (WHERE status = 'failed') AS failed,
  min(runtime_ns) AS fastest_ns, median(runtime_ns) AS median_ns, max(runtime_ns) AS slowest_ns,
  min(measured_at) AS first_at, max(measured_at) AS last_at
FROM records GROUP BY dataset, platform ORDER BY records DESC";

const SOURCES: &str =
    "SELECT name, dataset, platform, record_count, reject_count, size_bytes, ingested_at
FROM sources ORDER BY record_count DESC";

const TASKS: &str =
    "SELECT r.platform, t.op, g.workload_key, count(*) AS records, min(r.runtime_ns) AS best_ns,
  median(r.runtime_ns) AS median_ns, max(t.flop_count) / min(r.runtime_ns) AS gflops
FROM records AS r JOIN graphs AS g ON g.graph_id = r.graph_id LEFT JOIN tasks AS t ON t.graph_id = r.graph_id
WHERE r.status = 'ok' GROUP BY r.platform, t.op, g.workload_key ORDER BY records DESC, g.workload_key, r.platform";

const FLAGS: &str = "SELECT flag, platform, count(*) AS records
FROM (SELECT platform, unnest(flags) AS flag FROM records WHERE flags IS NOT NULL) AS f
GROUP BY flag, platform ORDER BY records DESC";

const DUPLICATES: &str =
    "SELECT platform, count(*) AS repeated_configurations, sum(times) AS records, max(times) AS maximum_records
FROM (SELECT platform, graph_id, config_id, count(*) AS times
  FROM records GROUP BY platform, graph_id, config_id HAVING count(*) > 1) AS d
GROUP BY platform ORDER BY records DESC";

const STATUS: &str = "SELECT platform, status, count(*) AS records
FROM records GROUP BY platform, status ORDER BY platform, status";

/// Returns all sections.
pub(super) fn chapters() -> Vec<Chapter> {
    let query_plot = ChapterPart::QueryPlot;
    let table = |caption, sql| ChapterPart::Table { caption, sql };
    let sql_plot = |caption, sql, spec| ChapterPart::SqlPlot { caption, sql, spec };
    vec![
        Chapter {
            heading: "Contents",
            text: "",
            has_facts: true,
            parts: vec![
                sql_plot(
                    "Records by platform",
                    STATUS,
                    "kind=bar x=platform y=records by=status",
                ),
                sql_plot(
                    "Records by operator",
                    BY_OPERATOR,
                    "kind=bar x=operator y=records by=platform",
                ),
                sql_plot(
                    "Records by time of measurement",
                    MEASUREMENT_TIMES,
                    "kind=histogram x=measured_at by=platform y_title=records",
                ),
                query_plot("platform-coverage"),
                query_plot("tpugraphs-collections"),
                query_plot("graphnet-status"),
                table("Platforms", PLATFORMS),
                table("Sources", SOURCES),
            ],
        },
        Chapter {
            heading: "Data quality",
            text: "Failures, noise of repeats, and configurations with several records.",
            has_facts: false,
            parts: vec![
                query_plot("failures-by-kind"),
                query_plot("noise-by-runtime"),
                query_plot("noise-floor"),
                query_plot("time-outs"),
                query_plot("recent-changes"),
                table("Measurement flags", FLAGS),
                table("Configurations with several records", DUPLICATES),
            ],
        },
        Chapter {
            heading: "Results",
            text: "",
            has_facts: false,
            parts: vec![
                query_plot("best-so-far"),
                query_plot("platforms-compared"),
                query_plot("program-spread"),
                query_plot("label-distribution"),
                query_plot("gflops-beside-peak"),
                query_plot("roofline"),
                query_plot("search-curves"),
                query_plot("tpugraphs-spread"),
                query_plot("tpugraphs-layout-codes"),
                query_plot("graphnet-speedups"),
                query_plot("graphnet-score-curves"),
                table("Tasks", TASKS),
            ],
        },
    ]
}
