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

#[cfg(test)]
mod tests {
    /// Expected values are from Python's `hashlib` and `xxhash`.
    #[tokio::test]
    async fn hashes_are_those_of_other_programs() {
        let context = crate::Store::demo().await.unwrap().session().await.unwrap();
        for (text, expected) in [
            (
                "''",
                "3244421341483603138 d41d8cd98f00b204e9800998ecf8427e e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                "'abc'",
                "8696274497037089104 900150983cd24fb0d6963f7d28e17f72 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                "'ü'",
                "6748675957732712302 c03410a5204b21cd8229ff754688d743 607474ca475a9724d7360aba71a56d5df77e61350e3f724cfa1f46e857e2d85f",
            ),
        ] {
            let sql =
                format!("SELECT concat_ws(' ', xxh3_64({text}), md5({text}), sha256({text}))");
            let rows = crate::query::collect(&context, &sql).await.unwrap();
            let told = arrow::util::pretty::pretty_format_batches(&rows);
            assert!(told.unwrap().to_string().contains(expected), "{text}");
        }
        let none = "SELECT concat(xxh3_64(NULL), md5(NULL), sha256(NULL)) AS none";
        let rows = crate::query::collect(&context, none).await.unwrap();
        let told = arrow::util::pretty::pretty_format_batches(&rows);
        assert!(!told.unwrap().to_string().contains('1'));
    }
}
