//! `workload_name` and `workload_args`: the parts of a TenSet workload key.

use std::sync::Arc;

use arrow::array::StringViewArray;
use arrow::datatypes::DataType;
use datafusion::common::cast::as_string_view_array;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature};
use tsql_codecs::json;

/// First entry of a workload key (a JSON list), or all others as a JSON list; NULL for a key that
/// is no such list.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Workload {
    signature: Signature,
    args: bool,
}

impl Workload {
    pub(super) fn name() -> Self {
        Self {
            signature: super::exact(vec![DataType::Utf8View]),
            args: false,
        }
    }

    pub(super) fn args() -> Self {
        Self {
            signature: super::exact(vec![DataType::Utf8View]),
            args: true,
        }
    }
}

impl ScalarUDFImpl for Workload {
    fn name(&self) -> &'static str {
        if self.args {
            "workload_args"
        } else {
            "workload_name"
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [keys] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(
                "one argument was promised".to_owned(),
            ));
        };
        let part = if self.args { arguments } else { first };
        let keys = as_string_view_array(keys)?.iter();
        let parts: StringViewArray = keys.map(|key| key.and_then(part)).collect();
        Ok(ColumnarValue::Array(Arc::new(parts)))
    }
}

fn first(key: &str) -> Option<String> {
    serde_json::from_str(json::elements(key)?.first()?).ok()
}

fn arguments(key: &str) -> Option<String> {
    Some(format!(
        "[{}]",
        json::elements(key)?.get(1..).unwrap_or_default().join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_key_has_its_parts() {
        for (key, name, args) in [
            (r#"["55cbf5"]"#, "55cbf5", "[]"),
            (r#"["12b88b", 1, 56]"#, "12b88b", "[1, 56]"),
            (r#"["3f28", [1, 4], [4, 4]]"#, "3f28", "[[1, 4], [4, 4]]"),
            (
                r#"["conv2d", 1, [1, 1], "SAME", true]"#,
                "conv2d",
                r#"[1, [1, 1], "SAME", true]"#,
            ),
        ] {
            assert_eq!(first(key).as_deref(), Some(name));
            assert_eq!(arguments(key).as_deref(), Some(args));
        }
        assert_eq!((first("matmul"), arguments("{}")), (None, None));
    }
}
