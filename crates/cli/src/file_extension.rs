//! Format and compression of an output file by its name: `x.csv.gz` is compressed CSV.

use std::io::{self, Write};
use std::path::Path;

use flate2::write::GzEncoder;

use super::outcome::Failure;
use super::printer::Format;

/// Extensions of formats.
const FORMATS: [(&str, Format); 13] = [
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("json", Format::Json),
    ("jsonl", Format::Jsonl),
    ("ndjson", Format::Jsonl),
    ("parquet", Format::Parquet),
    ("arrow", Format::Arrow),
    ("feather", Format::Arrow),
    ("arrows", Format::Arrows),
    ("md", Format::Markdown),
    ("markdown", Format::Markdown),
    ("tex", Format::Latex),
    ("txt", Format::Table),
];

/// Second extensions, of compressed text files.
const PACKINGS: [(&str, Packing); 2] = [("gz", Packing::Gzip), ("zst", Packing::Zstd)];

/// Compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
    Zstd,
}

/// Returns the format and the compression of a file by its name. The format `requested` overrides the extension.
///
/// # Errors
/// Fails for an unknown extension without a requested format, and for a compressed file of a binary format.
pub(super) fn format_of_path(
    path: &Path,
    requested: Option<Format>,
) -> Result<(Format, Packing), Failure> {
    let ending = path.extension().map(|ending| ending.to_string_lossy());
    let ending = ending.unwrap_or_default().to_ascii_lowercase();
    let packing = PACKINGS.iter().find(|(name, _)| *name == ending);
    let packing = packing.map_or(Packing::None, |(_, packing)| *packing);
    let stem = path.file_stem().map(Path::new);
    let ending = match stem {
        Some(stem) if packing != Packing::None => {
            let ending = stem.extension().map(|ending| ending.to_string_lossy());
            ending.unwrap_or_default().to_ascii_lowercase()
        }
        _ => ending,
    };
    let named = FORMATS.iter().find(|(name, _)| *name == ending);
    let format = requested.or(named.map(|(_, format)| *format));
    let format = format.ok_or_else(|| unknown(path))?;
    if packing != Packing::None && !format.is_text() {
        return Err(Failure::Usage(format!(
            "`{}`: files of {format} have their own compression\nhint: leave out the last extension",
            path.display()
        )));
    }
    Ok((format, packing))
}

fn unknown(path: &Path) -> Failure {
    let known = FORMATS.map(|(name, _)| format!(".{name}")).join(", ");
    Failure::Usage(format!(
        "`{}` has no known extension\nhint: use one of {known}, for text also with .gz or .zst, or --format",
        path.display()
    ))
}

/// Writer to `W` with optional compression.
pub(super) enum Packed<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Packed<W> {
    pub(super) fn new(out: W, packing: Packing) -> io::Result<Self> {
        Ok(match packing {
            Packing::None => Self::Plain(out),
            Packing::Gzip => Self::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            Packing::Zstd => Self::Zstd(zstd::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?),
        })
    }

    /// Writes all buffered bytes, and the end of a compressed stream.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut out) => out.flush(),
            Self::Gzip(encoder) => encoder.finish()?.flush(),
            Self::Zstd(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl<W: Write> Write for Packed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    /// Flushes plain output only. A flush would split the compressed stream, and no reader needs an incomplete file.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Gzip(_) | Self::Zstd(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_name_formats() {
        for (name, wanted) in [
            ("x.csv", (Format::Csv, Packing::None)),
            ("a.b/x.CSV.GZ", (Format::Csv, Packing::Gzip)),
            ("x.ndjson.zst", (Format::Jsonl, Packing::Zstd)),
            ("x.feather", (Format::Arrow, Packing::None)),
            ("x.arrows", (Format::Arrows, Packing::None)),
        ] {
            assert_eq!(
                format_of_path(Path::new(name), None).unwrap(),
                wanted,
                "{name}"
            );
        }
        let found = format_of_path(Path::new("x.gz"), Some(Format::Tsv)).unwrap();
        assert_eq!(found, (Format::Tsv, Packing::Gzip));
        for name in ["x", "x.xlsx", "x.gz", ".csv", "x.parquet.gz"] {
            let error = format_of_path(Path::new(name), None)
                .unwrap_err()
                .to_string();
            assert!(error.contains("hint: "), "{error}");
        }
    }
}
