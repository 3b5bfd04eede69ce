//! Built-in queries of the command line: their list, default parameters and the reasons of empty results.

use datafusion::prelude::SessionContext;
use tsql_error::Error;
use tsql_session::{NamedQuery, built_in_queries, user_queries};

use super::stderr::print_message;
use super::store_options::StoreOptions;

/// Returns the values in `set`, followed by the values of all parameters. Prints the platforms that were chosen by
/// default.
pub(super) async fn choose_values(
    query: &NamedQuery,
    context: &SessionContext,
    set: &[(String, String)],
) -> Result<Vec<(String, String)>, Error> {
    let values = query.parameter_values(context, set).await?;
    for parameter in query.parameters.iter().filter(|one| one.is_platform()) {
        if set.iter().any(|(name, _)| *name == parameter.name) {
            continue;
        }
        let chosen = values.iter().find(|(name, _)| *name == parameter.name);
        if let Some((name, value)) = chosen {
            print_message(&format!(
                "note: {name} = {value} (--set {name}=NAME for another)"
            ));
        }
    }
    Ok(set.iter().cloned().chain(values).collect())
}

/// Returns the built-in queries and the user's own, sorted by name. Own queries replace built-in ones of the same name.
pub(super) fn all(place: &StoreOptions) -> Result<Vec<NamedQuery>, Error> {
    let own = user_queries(&place.query_folders()?);
    for (path, reason) in &own.failed {
        print_message(&format!("{}: {reason}", path.display()));
    }
    let mut all = own.questions;
    for query in built_in_queries() {
        if !all.iter().any(|own| own.name == query.name) {
            all.push(query);
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// Prints the reason of an empty result.
pub(super) async fn print_empty_reason(
    query: &NamedQuery,
    context: &SessionContext,
    values: &[(String, String)],
) -> Result<(), Error> {
    if let Some(what) = query.missing_data(context).await? {
        print_message(&format!("note: no result, because the store has no {what}"));
        return Ok(());
    }
    let values = query.parameters.iter().filter_map(|parameter| {
        let value = values
            .iter()
            .rev()
            .find(|(name, _)| *name == parameter.name);
        value.map(|(name, value)| format!("{name} = {value}"))
    });
    let values = values.collect::<Vec<_>>().join(", ");
    let where_they_are = if values.is_empty() {
        String::new()
    } else {
        format!(" with {values}")
    };
    print_message(&format!(
        "note: no rows meet the conditions{where_they_are}; `tsql queries {} --sql` shows them",
        query.name
    ));
    Ok(())
}
