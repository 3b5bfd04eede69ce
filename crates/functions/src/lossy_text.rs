//! `lossy_text`: bytes as text, with the replacement character for invalid UTF-8.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_binary_view_array;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "lossy_text",
        "Bytes as text, with replacement characters for invalid UTF-8",
        "SELECT lossy_text(x'61ff')",
    )
    .argument("bytes", DataType::BinaryView, "bytes")
    .source("The Unicode Standard, section 3.9, substitution of maximal subparts");
    Scalar::new(&about, DataType::Utf8View, texts)
}

fn texts(args: &[ArrayRef]) -> Result<ArrayRef> {
    let bytes = as_binary_view_array(argument(args, 0)?)?.iter();
    let texts = bytes.map(|bytes| bytes.map(String::from_utf8_lossy));
    Ok(Arc::new(texts.collect::<StringViewArray>()))
}
