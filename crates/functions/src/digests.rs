//! Standard hash functions of text.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray, UInt64Array};
use arrow::datatypes::DataType;
use datafusion::common::cast::as_string_view_array;
use md5::Md5;
use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

pub(super) fn md5() -> Scalar {
    let about = FunctionDocs::new(
        "md5",
        "MD5 of a text, as 32 hexadecimal digits",
        "SELECT md5('tensor')",
    )
    .argument("text", DataType::Utf8View, "text, hashed as UTF-8")
    .source("RFC 1321, as in DuckDB");
    hex_digest_udf(&about, |text| {
        use md5::Digest as _;
        Md5::digest(text).to_vec()
    })
}

pub(super) fn sha256() -> Scalar {
    let about = FunctionDocs::new(
        "sha256",
        "SHA-256 of a text, as 64 hexadecimal digits",
        "SELECT sha256('tensor')",
    )
    .argument("text", DataType::Utf8View, "text, hashed as UTF-8")
    .source("FIPS 180-4, as in DuckDB");
    hex_digest_udf(&about, |text| Sha256::digest(text).to_vec())
}

pub(super) fn xxh3_64() -> Scalar {
    let about = FunctionDocs::new(
        "xxh3_64",
        "XXH3-64 of a text (seed 0), as a whole number from 0 to 2^64 - 1",
        "SELECT xxh3_64('tensor')",
    )
    .argument("text", DataType::Utf8View, "text, hashed as UTF-8")
    .source("xxHash 0.8, XXH3_64bits");
    Scalar::new(&about, DataType::UInt64, |args| {
        let texts = as_string_view_array(argument(args, 0)?)?.iter();
        let hashes = texts.map(|text| text.map(|text| XxHash3_64::oneshot(text.as_bytes())));
        let hashes: ArrayRef = Arc::new(hashes.collect::<UInt64Array>());
        Ok(hashes)
    })
}

/// A hash function of text, which returns hexadecimal digits.
fn hex_digest_udf(about: &FunctionDocs, of: fn(&[u8]) -> Vec<u8>) -> Scalar {
    Scalar::new(about, DataType::Utf8View, move |args| {
        let texts = as_string_view_array(argument(args, 0)?)?.iter();
        let digits = texts.map(|text| {
            let mut digits = String::with_capacity(64);
            for byte in of(text?.as_bytes()) {
                // Writing to a string cannot fail.
                let _ = write!(digits, "{byte:02x}");
            }
            Some(digits)
        });
        let digits: ArrayRef = Arc::new(digits.collect::<StringViewArray>());
        Ok(digits)
    })
}
