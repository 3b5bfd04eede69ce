//! Compressions, as the first bytes of files give them away.

/// Compression that a file's first bytes give away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952, of any number of members.
    Gzip,
    /// RFC 8878, of any number of frames.
    Zstd,
}

impl Compression {
    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Gzip, Self::Zstd];
        all.into_iter().find(|one| one.name() == name)
    }

    /// That of a file which begins like this.
    pub fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(&[0x1f, 0x8b]) {
            Some(Self::Gzip)
        } else {
            let is_zstd = head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
            is_zstd.then_some(Self::Zstd)
        }
    }

    /// Its name in the `sources` table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}
