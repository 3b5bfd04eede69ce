//! Calls with invalid arguments.

use super::finding::Finding;
use tsql_error::plain_message;

/// Text of DataFusion's error before the call that matched nothing: its name and argument types.
const CALL: &str = "No function matches the given name and argument types '";

/// Text before the candidate calls.
const CANDIDATES: &str = "Candidate functions:";

/// Text before the reason that a function reports itself.
const OWN_REASON: &str = "user-defined coercion failed with: ";

/// Maximum number of listed calls.
const LISTED_CALLS: usize = 6;

/// Describes a call for which no function has these argument types or this number of arguments.
pub(super) fn no_matching_function(message: &str) -> Option<Finding> {
    let (_, rest) = message.split_once(CALL)?;
    let (call, rest) = rest.split_once('\'')?;
    let (name, _) = call.split_once('(')?;
    let taken = rest.split_once(CANDIDATES).map_or("", |(_, calls)| calls);
    let taken = taken.lines().map(str::trim).filter(|line| !line.is_empty());
    let taken: Vec<&str> = taken.take(LISTED_CALLS).collect();
    if let Some(reason) = own_reason(message) {
        return Some(Finding {
            message: reason,
            name: name.to_owned(),
            hint: None,
        });
    }
    let hint = match taken.as_slice() {
        [] => format!("`tsql functions {name}` shows its arguments"),
        calls => format!("use {}; CAST(x AS DOUBLE) changes a type", calls.join(", ")),
    };
    Some(Finding {
        message: format!("no function matches `{call}`"),
        name: name.to_owned(),
        hint: Some(hint),
    })
}

/// The reason that a function reports itself.
fn own_reason(message: &str) -> Option<String> {
    let (_, reason) = message.split_once(OWN_REASON)?;
    let (reason, _) = reason.split_once(CALL)?;
    let reason = plain_message(reason.trim_end());
    Some(reason.trim_end_matches('.').to_owned())
}
