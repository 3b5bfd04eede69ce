//! Bracket tags of a line and the text after each.

/// Tags that a line may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Processing,
    Config,
    Profiling,
    Datatype,
    DatatypeMatch,
    Shape,
    Correctness,
    Performance,
    Speedup,
    Outcome,
    FailDue,
}

/// Spelling of each tag.
const TAGS: [(&str, Tag); 11] = [
    ("[Processing]", Tag::Processing),
    ("[Config]", Tag::Config),
    ("[Profiling]", Tag::Profiling),
    ("[Datatype]", Tag::Datatype),
    ("[DataType]", Tag::DatatypeMatch),
    ("[Shape]", Tag::Shape),
    ("[Correctness]", Tag::Correctness),
    ("[Performance]", Tag::Performance),
    ("[Speedup]", Tag::Speedup),
    ("[Result]", Tag::Outcome),
    ("[Fail due to ", Tag::FailDue),
];

/// Tag and the text up to the next tag.
pub(super) struct TaggedText<'a> {
    pub(super) tag: Tag,
    pub(super) body: &'a str,
    pub(super) is_last: bool,
}

/// Splits a line at its tags.
pub(super) fn split_tags(line: &str) -> Vec<TaggedText<'_>> {
    let mut pieces: Vec<TaggedText> = Vec::new();
    let mut starts = line.match_indices('[').filter_map(|(position, _)| {
        let rest = line.get(position..)?;
        let tag_and_rest = TAGS
            .iter()
            .find_map(|(text, tag)| Some((*tag, rest.strip_prefix(text)?)));
        tag_and_rest.map(|(tag, rest)| (position, tag, rest))
    });
    let mut current = starts.next();
    while let Some((_, tag, rest)) = current {
        current = starts.next();
        let start = line.len() - rest.len();
        let body = match current {
            Some((next, ..)) => line.get(start..next).unwrap_or(rest),
            None => rest,
        };
        pieces.push(TaggedText {
            tag,
            body,
            is_last: current.is_none(),
        });
    }
    pieces
}
