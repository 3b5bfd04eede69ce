//! Functions that do not take what they are given.

use super::told::Told;
use crate::error::plain;

/// What stands before a call that matched nothing: its name and the types of its arguments.
const CALL: &str = "No function matches the given name and argument types '";

/// What stands before the calls that would have matched.
const CANDIDATES: &str = "Candidate functions:";

/// What stands before the reason that a function gives itself.
const OWN_REASON: &str = "user-defined coercion failed with: ";

/// Calls that are listed.
const LISTED_CALLS: usize = 6;

/// A call whose arguments have other types, or another number, than any that there is.
pub(super) fn mistake(message: &str) -> Option<Told> {
    let (_, rest) = message.split_once(CALL)?;
    let (call, rest) = rest.split_once('\'')?;
    let (name, _) = call.split_once('(')?;
    let taken = rest.split_once(CANDIDATES).map_or("", |(_, calls)| calls);
    let taken = taken.lines().map(str::trim).filter(|line| !line.is_empty());
    let taken: Vec<&str> = taken.take(LISTED_CALLS).collect();
    if let Some(reason) = own_reason(message) {
        return Some(Told {
            message: reason,
            name: name.to_owned(),
            hint: None,
        });
    }
    let hint = match taken.as_slice() {
        [] => format!("`tsql functions {name}` tells how it is called"),
        calls => format!(
            "it is called as {}; CAST(x AS DOUBLE) changes a type",
            calls.join(", ")
        ),
    };
    Some(Told {
        message: format!("no `{call}`: the function takes other arguments"),
        name: name.to_owned(),
        hint: Some(hint),
    })
}

/// What a function says itself of what it does not take.
fn own_reason(message: &str) -> Option<String> {
    let (_, reason) = message.split_once(OWN_REASON)?;
    let (reason, _) = reason.split_once(CALL)?;
    let reason = plain(reason.trim_end());
    Some(reason.trim_end_matches('.').to_owned())
}
