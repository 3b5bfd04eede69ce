//! Compression formats, detected by magic bytes.

/// Compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952, any number of members.
    Gzip,
    /// RFC 8878, any number of frames.
    Zstd,
}

impl Compression {
    /// Returns the compression with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        let all = [Self::Gzip, Self::Zstd];
        all.into_iter()
            .find(|compression| compression.name() == name)
    }

    /// Detects the compression of a file from its first bytes.
    pub fn detect(head: &[u8]) -> Option<Self> {
        if head.starts_with(&[0x1f, 0x8b]) {
            Some(Self::Gzip)
        } else {
            let is_zstd = head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
            is_zstd.then_some(Self::Zstd)
        }
    }

    /// Name in the `sources` table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}
