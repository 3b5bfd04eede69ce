//! Functions that read JSON, for hints.

/// Functions that read JSON.
pub(crate) const JSON_FUNCTIONS: &str =
    "json_text(object, 'field'), json_keys(object) and json_elements(list) read JSON";
