//! Errors of exhausted memory or temporary disk space: the largest consumers, and the options that change the limit.

/// Text before the list of the largest memory consumers.
const HOLDERS: &str = "with top memory consumers (across reservations) as:\n";

/// Hint for memory errors.
const HINT: &str = "--memory-limit SIZE (or TSQL_MEMORY_LIMIT) limits the memory of a query; fewer columns, or a WHERE, need less";

/// Returns the message for an exhausted memory pool or temporary folder. `reason` is the engine's text.
pub(super) fn resource_exhausted_message(reason: &str) -> String {
    if reason.contains("disk") {
        let hint = "--temp-dir DIR selects a folder with more space for temporary files";
        return format!("no space left for temporary files: {reason}\nhint: {hint}");
    }
    let Some((_, rest)) = reason.split_once(HOLDERS) else {
        return format!("not enough memory: {reason}\nhint: {HINT}");
    };
    let (holders, wanted) = rest.split_once("\nError: ").unwrap_or((rest, ""));
    let holders = holders.lines().filter_map(holder).collect::<Vec<_>>();
    let more = wanted
        .strip_prefix("Failed to allocate additional ")
        .and_then(|wanted| wanted.split_once(" for "));
    let more = more.map_or_else(String::new, |(bytes, _)| {
        format!(", {bytes} more were requested")
    });
    let limit = wanted.rsplit_once("pool_size: ");
    let limit = limit.map_or_else(String::new, |(_, size)| {
        format!(" within {}", size.trim_end_matches([')', '.']))
    });
    let held = holders.join(", ");
    format!("not enough memory{limit}: most is held by {held}{more}\nhint: {HINT}")
}

/// Parses `  GroupedHashAggregateStream[0]#3(can spill: true) consumed 1.2 MB, peak 2 MB,` to
/// `GroupedHashAggregateStream[0] (1.2 MB)`.
fn holder(line: &str) -> Option<String> {
    let (who, rest) = line.trim().split_once("(can spill: ")?;
    let (name, _) = who.rsplit_once('#')?;
    let (_, held) = rest.split_once("consumed ")?;
    let (held, _) = held.split_once(", peak ")?;
    Some(format!("{name} ({held})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumers_and_the_limit_are_reported() {
        let reason = "Additional allocation failed for r5 with top memory consumers (across reservations) as:\n  \
            HashJoinInput[1]#7(can spill: false) consumed 45.2 MB, peak 50.0 MB,\n  \
            ExternalSorter[0]#9(can spill: true) consumed 3.0 MB, peak 3.0 MB.\n\
            Error: Failed to allocate additional 1.5 MB for r5 with 0.0 B already allocated for this reservation - 5.0 B remain available for the total memory pool: fair(pool_size: 50.0 MB)";
        let found = resource_exhausted_message(reason);
        let (message, hint) = found.split_once("\nhint: ").unwrap();
        assert_eq!(
            message,
            "not enough memory within 50.0 MB: most is held by HashJoinInput[1] (45.2 MB), ExternalSorter[0] (3.0 MB), 1.5 MB more were requested"
        );
        assert!(hint.contains("--memory-limit"));
        assert!(
            resource_exhausted_message("odd")
                .starts_with("not enough memory: odd\nhint: --memory-limit")
        );
    }
}
