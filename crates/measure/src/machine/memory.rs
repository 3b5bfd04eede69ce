//! Main memory and its pages.

use serde::{Deserialize, Serialize};

use crate::fs_root::{FsRoot, parse_field};

/// Installed memory, independent of its use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// Memory managed by the kernel, slightly less than installed.
    pub(crate) total_bytes: Option<u64>,
    pub(crate) swap_bytes: Option<u64>,
    pub(crate) page_bytes: Option<u64>,
    pub(crate) huge_page_bytes: Option<u64>,
    /// Huge pages reserved by the administrator.
    pub(crate) huge_pages: Option<u64>,
    /// `always`, `madvise` or `never`.
    pub(crate) transparent_huge_pages: Option<String>,
}

impl Memory {
    pub(super) fn read(root: &FsRoot) -> Self {
        let text = root.text("/proc/meminfo").unwrap_or_default();
        let auxiliary = root.bytes("/proc/self/auxv").unwrap_or_default();
        let pages = |key| parse_field(&text, key)?.parse::<u64>().ok();
        Self {
            total_bytes: meminfo_bytes(&text, "MemTotal"),
            swap_bytes: meminfo_bytes(&text, "SwapTotal"),
            page_bytes: page_bytes(&auxiliary),
            huge_page_bytes: meminfo_bytes(&text, "Hugepagesize"),
            // Surplus pages change with demand.
            huge_pages: (|| pages("HugePages_Total")?.checked_sub(pages("HugePages_Surp")?))(),
            transparent_huge_pages: root
                .text("/sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|text| bracketed_word(&text)),
        }
    }
}

/// Value of a line `key: 123 kB` in `/proc/meminfo`, in bytes.
pub(crate) fn meminfo_bytes(text: &str, key: &str) -> Option<u64> {
    let kilobytes = parse_field(text, key)?.strip_suffix("kB")?.trim();
    kilobytes.parse::<u64>().ok()?.checked_mul(1024)
}

/// Word in brackets: `madvise` of `always [madvise] never`.
fn bracketed_word(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// Value of `AT_PAGESZ` in the auxiliary vector, which consists of pairs of words: key and value.
fn page_bytes(auxiliary: &[u8]) -> Option<u64> {
    const AT_PAGESZ: u64 = 6;
    let (words, _) = auxiliary.as_chunks::<8>();
    let (pairs, _) = words.as_chunks::<2>();
    let mut pairs = pairs
        .iter()
        .map(|[key, value]| (u64::from_ne_bytes(*key), u64::from_ne_bytes(*value)));
    pairs
        .find(|(key, _)| *key == AT_PAGESZ)
        .map(|(_, bytes)| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_that_of_the_auxiliary_vector() {
        let words: Vec<u8> = [3_u64, 0x1000, 6, 65536, 0, 0]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        assert_eq!(page_bytes(&words), Some(65536));
        assert_eq!(page_bytes(&words[..24]), None);
    }

    #[test]
    fn the_chosen_word_is_in_brackets() {
        assert_eq!(
            bracketed_word("always [madvise] never").as_deref(),
            Some("madvise")
        );
        assert_eq!(bracketed_word("always madvise"), None);
    }
}
