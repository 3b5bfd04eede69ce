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
    Picture(&'static str),
    /// Plot of a query.
    Drawn {
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

const BY_OPERATOR: &str =
    "SELECT coalesce(t.op, 'not known') AS operator, r.platform, count(*) AS records
FROM records AS r LEFT JOIN tasks AS t ON t.graph_id = r.graph_id
GROUP BY 1, 2 ORDER BY sum(count(*)) OVER (PARTITION BY coalesce(t.op, 'not known')) DESC, 1, 2";

const BY_TIME: &str = "SELECT measured_at, platform FROM records WHERE measured_at IS NOT NULL";

const PLATFORMS: &str =
    "SELECT dataset, platform, count(*) AS records, count(DISTINCT graph_id) AS graphs,
  count(DISTINCT config_id) AS programs, count(*) FILTER (WHERE status = 'failed') AS failed,
  min(runtime_ns) AS fastest_ns, median(runtime_ns) AS median_ns, max(runtime_ns) AS slowest_ns,
  min(measured_at) AS first_at, max(measured_at) AS last_at
FROM records GROUP BY dataset, platform ORDER BY records DESC";

const SOURCES: &str =
    "SELECT name, dataset, platform, record_count, reject_count, size_bytes, ingested_at
FROM sources ORDER BY record_count DESC";

const BEST: &str = "SELECT r.platform, t.op, g.workload_key, count(*) AS records, min(r.runtime_ns) AS best_ns,
  median(r.runtime_ns) AS median_ns, max(t.flop_count) / min(r.runtime_ns) AS gflops
FROM records AS r JOIN graphs AS g ON g.graph_id = r.graph_id LEFT JOIN tasks AS t ON t.graph_id = r.graph_id
WHERE r.status = 'ok' GROUP BY r.platform, t.op, g.workload_key ORDER BY records DESC, g.workload_key, r.platform";

const FLAGS: &str = "SELECT flag, platform, count(*) AS records
FROM (SELECT platform, unnest(flags) AS flag FROM records WHERE flags IS NOT NULL) AS f
GROUP BY flag, platform ORDER BY records DESC";

const DUPLICATES: &str = "SELECT platform, count(*) AS programs_measured_again, sum(times) AS records, max(times) AS most_records
FROM (SELECT platform, graph_id, config_id, count(*) AS times FROM records GROUP BY platform, graph_id, config_id HAVING count(*) > 1) AS d
GROUP BY platform ORDER BY records DESC";

const STATUS: &str = "SELECT platform, status, count(*) AS records FROM records GROUP BY platform, status ORDER BY platform, status";

/// Returns all sections.
pub(super) fn chapters() -> Vec<Chapter> {
    let picture = ChapterPart::Picture;
    let table = |caption, sql| ChapterPart::Table { caption, sql };
    let drawn = |caption, sql, spec| ChapterPart::Drawn { caption, sql, spec };
    vec![
        Chapter {
            heading: "What is in it",
            text: "",
            has_facts: true,
            parts: vec![
                drawn(
                    "Records by platform",
                    STATUS,
                    "kind=bar x=platform y=records by=status",
                ),
                drawn(
                    "Records by operator",
                    BY_OPERATOR,
                    "kind=bar x=operator y=records by=platform",
                ),
                drawn(
                    "When they were measured",
                    BY_TIME,
                    "kind=histogram x=measured_at by=platform",
                ),
                picture("platform-coverage"),
                picture("tpugraphs-collections"),
                picture("graphnet-status"),
                table("Platforms", PLATFORMS),
                table("Sources", SOURCES),
            ],
        },
        Chapter {
            heading: "How good it is",
            text: "What failed, how far repeats are apart, and what is there more than once.",
            has_facts: false,
            parts: vec![
                picture("failures-by-kind"),
                picture("noise-by-runtime"),
                picture("noise-floor"),
                picture("time-outs"),
                table("Flags of measurements", FLAGS),
                table("Programs that were measured again", DUPLICATES),
            ],
        },
        Chapter {
            heading: "What it shows",
            text: "",
            has_facts: false,
            parts: vec![
                picture("best-so-far"),
                picture("platforms-compared"),
                picture("program-spread"),
                picture("label-distribution"),
                picture("gflops-beside-peak"),
                picture("roofline"),
                picture("search-curves"),
                picture("tpugraphs-spread"),
                picture("tpugraphs-layout-codes"),
                picture("graphnet-speedups"),
                picture("graphnet-score-curves"),
                table("Tasks", BEST),
            ],
        },
    ]
}
