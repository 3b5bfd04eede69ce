//! Compression formats, detected by magic bytes.

/// Compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952, any number of members.
    Gzip,
    /// RFC 8878, any number of frames.
    Zstd,
    /// bzip2, any number of streams.
    Bzip2,
    /// xz, any number of streams.
    Xz,
}

impl Compression {
    /// Returns the compression with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        let all = [Self::Gzip, Self::Zstd, Self::Bzip2, Self::Xz];
        all.into_iter()
            .find(|compression| compression.name() == name)
    }

    /// Detects the compression of a file from its first bytes.
    pub fn detect(head: &[u8]) -> Option<Self> {
        if head.starts_with(&[0x1f, 0x8b]) {
            Some(Self::Gzip)
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Self::Zstd)
        } else if head.starts_with(b"\xfd7zXZ\0") {
            Some(Self::Xz)
        } else {
            // The level, then the first bytes of a block, or of the end of an empty file.
            let block = head.get(4..10);
            let is_block = block == Some(b"1AY&SY") || block == Some(b"\x17\x72\x45\x38\x50\x90");
            (head.starts_with(b"BZh") && is_block).then_some(Self::Bzip2)
        }
    }

    /// Name in the `sources` table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_are_detected_by_magic_bytes() {
        for (head, expected) in [
            (&b"\x1f\x8b\x08\0"[..], Some(Compression::Gzip)),
            (b"\xfd7zXZ\0\0\x04", Some(Compression::Xz)),
            (b"BZh91AY&SY\xab", Some(Compression::Bzip2)),
            (b"BZh9\x17\x72\x45\x38\x50\x90", Some(Compression::Bzip2)),
            (b"BZh is text", None),
            (b"{}", None),
        ] {
            assert_eq!(Compression::detect(head), expected, "{head:?}");
        }
        for compression in [
            Compression::Gzip,
            Compression::Zstd,
            Compression::Bzip2,
            Compression::Xz,
        ] {
            assert_eq!(Compression::by_name(compression.name()), Some(compression));
        }
    }
}
