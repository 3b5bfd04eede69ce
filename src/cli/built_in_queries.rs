//! Ready-made questions, as they are asked: which there are, what is chosen for them, and why there is no answer.

use datafusion::prelude::SessionContext;

use super::stderr::print_message;
use super::store_options::StoreOptions;
use crate::error::Error;
use crate::query::{NamedQuery, built_in_queries, user_queries};

/// What was given, and what was chosen where nothing was, which is told.
pub(super) async fn choose_values(
    question: &NamedQuery,
    context: &SessionContext,
    set: &[(String, String)],
) -> Result<Vec<(String, String)>, Error> {
    let values = question.parameter_values(context, set).await?;
    for parameter in question.parameters.iter().filter(|one| one.is_platform()) {
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

/// The questions that come with tsql, and the user's own, which go before those of the same name.
pub(super) fn all(place: &StoreOptions) -> Result<Vec<NamedQuery>, Error> {
    let own = user_queries(&place.question_folders()?);
    for (path, reason) in &own.failed {
        print_message(&format!("{}: {reason}", path.display()));
    }
    let mut all = own.questions;
    for question in built_in_queries() {
        if !all.iter().any(|own| own.name == question.name) {
            all.push(question);
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// Says why there are no rows.
pub(super) async fn tell_empty(
    question: &NamedQuery,
    context: &SessionContext,
    values: &[(String, String)],
) -> Result<(), Error> {
    if let Some(what) = question.missing_data(context).await? {
        print_message(&format!("note: no answer, because the store has no {what}"));
        return Ok(());
    }
    let values = question.parameters.iter().filter_map(|parameter| {
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
        question.name
    ));
    Ok(())
}
