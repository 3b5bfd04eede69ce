//! Messages of the engine, without the prefixes of its layers.

/// Prefixes that name the layer of an error. They do not help the reader.
const LAYERS: [&str; 13] = [
    "Error during planning: ",
    "Schema error: ",
    "SQL error: ",
    "Execution error: ",
    "External error: ",
    "External: ",
    "Arrow error: ",
    "Parquet error: ",
    "Compute error: ",
    "Cast error: ",
    "Parser error: ",
    "Invalid argument error: ",
    "Invalid or Unsupported Configuration: ",
];

/// Text between the name of a planner rule and its error.
const CAUSE: &str = "\ncaused by\n";

/// Start of the engine's advice, which follows the error.
const ADVICE: [&str; 2] = [
    "\nThis issue was likely caused by a bug in DataFusion's code",
    ". You might need to add explicit type casts",
];

/// Messages that print a syntax tree, and their plain form.
const FACTS: [(&str, &str); 13] = [
    (
        "Physical plan does not support logical expression InSubquery",
        "`IN (SELECT ...)` is not supported at this position",
    ),
    (
        "Physical plan does not support logical expression Exists",
        "`EXISTS (SELECT ...)` is not supported at this position",
    ),
    (
        "Physical plan does not support logical expression ScalarSubquery",
        "this correlated subquery is not supported",
    ),
    (
        "Physical plan does not support logical expression OuterReferenceColumn",
        "this correlated subquery is not supported",
    ),
    (
        "orrelated scalar subquery can only be used in",
        "this correlated subquery is not supported",
    ),
    // The planner lost a column of a correlated subquery. The user did not write this name.
    (
        "__correlated_sq_",
        "this correlated subquery is not supported",
    ),
    (
        "Physical plan does not support logical expression WindowFunction",
        "a window function is not allowed in WHERE, GROUP BY or HAVING",
    ),
    (
        "Physical plan does not support logical expression AggregateFunction",
        "an aggregate function is not allowed in WHERE, GROUP BY or ON",
    ),
    (
        "In/Exist/SetComparison subquery can only be used in",
        "`IN (SELECT ...)` and `EXISTS (SELECT ...)` are not supported at this position",
    ),
    (
        "Unsupported LIMIT expression",
        "LIMIT takes a number, not a subquery or column",
    ),
    (
        "Unsupported OFFSET expression",
        "OFFSET takes a number, not a subquery or column",
    ),
    (
        "Aggregate can not be used as a sliding accumulator",
        "this aggregate function is not supported in a window frame whose start moves",
    ),
    (
        "single expression required.",
        "a subquery of IN has one column",
    ),
];

/// Catalog prefixes, which do not occur in the user's SQL.
const CATALOG: [&str; 2] = ["tsql.public.", "tsql.stored."];

/// Returns the message as a sentence for the author of the SQL: `table 'x' not found`.
pub fn plain_message(text: &str) -> String {
    let mut text = text.trim();
    while let Some((_, cause)) = text.split_once(CAUSE) {
        text = cause.trim_start();
    }
    while let Some(rest) = LAYERS.iter().find_map(|layer| text.strip_prefix(layer)) {
        text = rest.trim_start();
    }
    if let Some((_, fact)) = FACTS.iter().find(|(printed, _)| text.contains(printed)) {
        return (*fact).to_owned();
    }
    if let Some(rest) = text.strip_prefix("This feature is not implemented: ") {
        return without_catalog(&format!("not supported: {}", lowercase_first(rest)));
    }
    for advice in ADVICE {
        if let Some((before, _)) = text.split_once(advice) {
            text = before.trim_end();
        }
    }
    without_catalog(&lowercase_first(text))
}

fn without_catalog(text: &str) -> String {
    let [public, stored] = CATALOG;
    text.replace(public, "").replace(stored, "stored.")
}

/// Lowercases the first letter of a message, except in names such as `JOIN`.
fn lowercase_first(text: &str) -> String {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            let rest = text.strip_prefix(first).unwrap_or_default();
            format!("{}{rest}", first.to_lowercase())
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_left_out() {
        for (text, wanted) in [
            (
                "Error during planning: table 'tsql.public.recods' not found",
                "table 'recods' not found",
            ),
            (
                "Optimizer rule 'simplify_expressions' failed\ncaused by\nArrow error: Cast error: Cannot cast string 'x' to value of Int32 type",
                "cannot cast string 'x' to value of Int32 type",
            ),
            ("Arrow error: Divide by zero error", "divide by zero error"),
            (
                "This feature is not implemented: GROUPING SETS here",
                "not supported: GROUPING SETS here",
            ),
            ("JOIN is odd", "JOIN is odd"),
            (
                "This feature is not implemented: Physical plan does not support logical expression Exists(Exists { subquery: <subquery>, negated: false })",
                "`EXISTS (SELECT ...)` is not supported at this position",
            ),
            ("", ""),
            (
                "Schema error: No field named __correlated_sq_1.c. Valid fields are t.a.",
                "this correlated subquery is not supported",
            ),
            (
                "type_coercion\ncaused by\nError during planning: Cannot coerce arithmetic expression Int64 + Utf8 to valid types",
                "cannot coerce arithmetic expression Int64 + Utf8 to valid types",
            ),
        ] {
            assert_eq!(plain_message(text), wanted);
        }
    }
}
