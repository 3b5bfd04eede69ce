//! The pictures of ready-made questions.

use tsql_plot::Spec;

use crate::error::{Error, Result};
use crate::query::Question;

/// What a question says that is drawn of its answer; its title stands above.
///
/// # Errors
/// [`Error::Argument`] where its `-- plot:` line is not understood.
pub fn of_question(question: &Question) -> Result<Spec> {
    let mut spec: Spec = match &question.plot {
        None => Spec::default(),
        Some(text) => text.parse().map_err(|reason| Error::Argument {
            name: "plot",
            reason: format!("{}: {reason}", question.name),
        })?,
    };
    if spec.title.is_none() {
        let title = question
            .title
            .split_once(':')
            .map_or(question.title.as_str(), |(title, _)| title);
        spec.title = Some(title.trim_end_matches('.').to_owned());
    }
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::questions;

    #[test]
    fn the_pictures_of_all_questions_are_understood() {
        let drawn = questions()
            .into_iter()
            .filter(|question| question.plot.is_some());
        let count = drawn
            .inspect(|question| {
                of_question(question).unwrap();
            })
            .count();
        assert!(count >= 10, "{count}");
    }
}
