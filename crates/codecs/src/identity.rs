//! Content hashes that identify graphs, environments, programs and files.
//!
//! Identifiers of graphs, environments and sources are XXH3-64 of a canonical byte form, stored as `Int64`.
//! Two machines that read the same data compute the same identifiers.
//!
//! The canonical form is a list of parts, each prefixed with its length as eight little-endian bytes, so
//! that different lists never share their bytes. The first part names the kind of object and the version of
//! the form.
//!
//! The test vectors below must never change. A new form gets a new first part.

use std::io::{self, Read};

use twox_hash::{XxHash3_64, XxHash3_128};

/// Canonical form of an object of `kind` with these parts.
fn canonical(kind: &str, parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64 + parts.iter().map(|part| part.len() + 8).sum::<usize>());
    for part in std::iter::once(kind.as_bytes()).chain(parts.iter().copied()) {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

/// Identifier of an object of `kind` with these parts.
fn content_id(kind: &str, parts: &[&[u8]]) -> i64 {
    XxHash3_64::oneshot(&canonical(kind, parts)).cast_signed()
}

/// XXH3-128 of the parts of a core graph, in hex. It is the workload key of graphs without a name.
pub fn core_hash(parts: &[&[u8]]) -> String {
    format!("{:032x}", XxHash3_128::oneshot(&canonical("core/1", parts)))
}

/// XXH3-128 of the canonical text of a computation, in hex. Equal computations have equal hashes.
pub fn computation_hash(text: &str) -> String {
    let parts = [text.as_bytes()];
    let hash = XxHash3_128::oneshot(&canonical("computation/1", &parts));
    format!("{hash:032x}")
}

/// Key of a graph: XXH3-128 of its dataset and its workload key, verbatim.
pub fn graph_key(dataset: &str, workload_key: &str) -> Key {
    let parts = [dataset.as_bytes(), workload_key.as_bytes()];
    Key(XxHash3_128::oneshot(&canonical("graph-key/1", &parts)))
}

/// Key of an environment: XXH3-128 of its known fields, each with its field index.
///
/// Unknown fields are skipped, so adding a field later changes no key.
pub fn environment_key<'a>(fields: impl IntoIterator<Item = Option<&'a str>>) -> Key {
    let indexed = (0_u32..).zip(fields);
    let fields: Vec<([u8; 4], &[u8])> = indexed
        .filter_map(|(index, text)| Some((index.to_le_bytes(), text?.as_bytes())))
        .collect();
    let parts = fields.iter().flat_map(|(index, text)| [&index[..], *text]);
    let parts: Vec<&[u8]> = parts.collect();
    Key(XxHash3_128::oneshot(&canonical(
        "environment-key/1",
        &parts,
    )))
}

/// Store-independent key: a 128-bit content hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(u128);

impl Key {
    /// Returns the bytes in the order of the text form.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Creates a key from its bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// Parses 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: &[u8; 32] = text.as_bytes().try_into().ok()?;
        let mut key = 0;
        for digit in digits {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                b'A'..=b'F' => digit - b'A' + 10,
                _ => return None,
            };
            key = key << 4 | u128::from(value);
        }
        Some(Self(key))
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

/// Identifier of a graph: its dataset and its workload key, verbatim.
pub fn graph_id(dataset: &str, workload_key: &str) -> i64 {
    content_id("graph/1", &[dataset.as_bytes(), workload_key.as_bytes()])
}

/// Identifier of an environment: its dataset and its columns as one canonical text.
pub fn environment_id(dataset: &str, text: &str) -> i64 {
    content_id("environment/1", &[dataset.as_bytes(), text.as_bytes()])
}

/// Identifier of a GraphNet sample: its path and the hash of its files.
pub fn sample_id(path: &str, files_hash: &str) -> i64 {
    content_id("sample/1", &[path.as_bytes(), files_hash.as_bytes()])
}

/// Identifier of a stored text.
pub fn text_id(text: &[u8]) -> i64 {
    content_id("text/1", &[text])
}

/// Identifier of a source file: unique by dataset, platform and name.
pub fn source_id(dataset: &str, platform: &str, name: &str) -> i64 {
    content_id(
        "source/1",
        &[dataset.as_bytes(), platform.as_bytes(), name.as_bytes()],
    )
}

/// XXH3-128 of a program's canonical steps. Equal programs of one graph have equal hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramHash(u128);

impl ProgramHash {
    /// Hashes `steps` in TVM's own spelling.
    pub fn from_steps(steps: &[u8]) -> Self {
        Self(XxHash3_128::oneshot(steps))
    }

    /// Hashes the layout choice for one node of a layout configuration: the slot as four little-endian
    /// bytes, then the 18 numbers.
    pub fn from_slot(slot: u32, vector: &[u8; 18]) -> Self {
        let mut bytes = [0; 22];
        let (prefix, numbers) = bytes.split_at_mut(4);
        prefix.copy_from_slice(&slot.to_le_bytes());
        numbers.copy_from_slice(vector);
        Self(XxHash3_128::oneshot(&bytes))
    }

    /// Combines the hash with the program and build of a kernel. Returns the hash itself if neither is
    /// known.
    pub fn for_kernel(self, program: Option<&str>, build: Option<&str>) -> Self {
        if program.is_none() && build.is_none() {
            return self;
        }
        let present = [u8::from(program.is_some()), u8::from(build.is_some())];
        let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
        let (program, build) = (text(program), text(build));
        let steps = self.0.to_le_bytes();
        let parts = [&steps[..], &present, program.as_bytes(), build.as_bytes()];
        Self(XxHash3_128::oneshot(&canonical("kernel/1", &parts)))
    }

    /// Key of this configuration of a graph: XXH3-128 of the graph identifier and the hash.
    ///
    /// The key does not depend on numbers that a store assigns or on how a sketch is packed. `graph_id` follows from
    /// the graph's content, and the hash from the unpacked steps.
    pub fn key(self, graph_id: i64) -> Key {
        let (graph, steps) = (graph_id.to_le_bytes(), self.0.to_le_bytes());
        Key(XxHash3_128::oneshot(&canonical(
            "config-key/1",
            &[&graph, &steps],
        )))
    }

    /// Combines two hashes. The operation is commutative and associative.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

/// Incremental XXH3-128 of a file.
#[derive(Clone)]
pub struct ContentHasher(twox_hash::xxhash3_128::Hasher);

impl Default for ContentHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl ContentHasher {
    /// Creates a hasher with no input.
    pub fn new() -> Self {
        Self(twox_hash::xxhash3_128::Hasher::new())
    }

    /// Hashes these bytes.
    pub fn hash_bytes(bytes: &[u8]) -> String {
        let mut hasher = Self::new();
        hasher.update(bytes);
        hasher.hex()
    }

    /// Reads a stream to its end. Returns its length in bytes and its hash.
    ///
    /// # Errors
    ///
    /// Read errors of the stream.
    pub fn hash_stream(mut stream: impl Read) -> io::Result<(u64, String)> {
        let (mut hasher, mut bytes) = (Self::new(), 0);
        let mut buffer = vec![0; 1 << 18];
        loop {
            let length = stream.read(&mut buffer)?;
            if length == 0 {
                return Ok((bytes, hasher.hex()));
            }
            hasher.update(buffer.get(..length).unwrap_or(&[]));
            bytes += length as u64;
        }
    }

    /// Feeds more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// Hash of all input so far, as 32 hexadecimal digits.
    pub fn hex(&self) -> String {
        format!("{:032x}", self.0.finish_128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with the reference implementation through Python's `xxhash`.
    #[test]
    fn canonical_forms_never_change() {
        assert_eq!(
            ContentHasher::new().hex(),
            "99aa06d3014798d86001c324468d497f"
        );
        assert_eq!(
            XxHash3_64::oneshot(b"").cast_signed(),
            0x2d06_8005_38d3_94c2
        );
        assert_eq!(
            graph_id("tenset", "[\"matmul\", 8, 8]"),
            -8_068_421_683_032_550_993
        );
        assert_eq!(environment_id("tenset", "llvm"), -2_956_937_190_754_609_606);
        assert_eq!(
            ProgramHash::from_steps(b"[[\"CI\", 1]]").0,
            0xc681_ca7e_c1c0_f2eb_150a_c9d5_6f98_c246
        );
        assert_eq!(
            ProgramHash::from_slot(7, &std::array::from_fn(|index| [1, 0, 255][index.min(2)])).0,
            0x9f41_e4b1_d785_c6c2_3fa7_75ac_972b_ab3c
        );
        assert_eq!(
            source_id("tenset", "k80", "k80/a.json"),
            -8_306_669_153_844_014_384
        );
        assert_eq!(
            computation_hash("out: s0\n"),
            "d3582753c892c878e38854c4f9eea83b"
        );
        let steps = ProgramHash::from_steps(b"{\"TILE\": 8}");
        assert_eq!(
            steps.for_kernel(Some("mm@1"), Some("cc 12 -O3")).0,
            0x0c7a_2368_c7c3_42a0_a65e_d422_eaf2_ea5e
        );
        assert_eq!(steps.for_kernel(None, None), steps);
        assert_eq!(
            graph_key("tenset", "[\"matmul\", 8, 8]").to_string(),
            "8f6d3f46f839feec851e4690141aac4c"
        );
        assert_eq!(
            environment_key([Some("tenset"), Some("llvm"), None, Some("")]).to_string(),
            "beb8393938d0fa79b41cf3a0488a2ddd"
        );
        assert_eq!(
            steps.key(-8_068_421_683_032_550_993).to_string(),
            "b6d66f1c83de2e484058d5cf32fa6c8a"
        );
        assert_ne!(steps.for_kernel(None, Some("")), steps);
        assert_ne!(
            steps.for_kernel(Some("x"), None),
            steps.for_kernel(None, Some("x"))
        );
    }

    #[test]
    fn keys_come_back_from_their_text_and_their_bytes() {
        let key = graph_key("tenset", "x");
        assert_eq!(Key::parse(&key.to_string()), Some(key));
        assert_eq!(Key::from_bytes(key.to_bytes()), key);
        assert_eq!(Key(0xab).to_string(), "000000000000000000000000000000ab");
        for text in ["", "ab", &"g".repeat(32), &"+".repeat(32), &"a".repeat(33)] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
    }

    #[test]
    fn unknown_fields_change_no_environment_key() {
        let fields = [Some("tenset"), None, Some("llvm")];
        let later = fields.into_iter().chain([None, None]);
        assert_eq!(environment_key(fields), environment_key(later));
        assert_ne!(
            environment_key(fields),
            environment_key([Some("tenset"), Some("llvm"), None])
        );
    }

    #[test]
    fn parts_are_separated() {
        assert_ne!(source_id("a", "bc", "d"), source_id("ab", "c", "d"));
    }

    #[test]
    fn incremental_hashes_equal_hashes_of_all_bytes() {
        let mut pieces = ContentHasher::new();
        pieces.update(b"ab");
        pieces.update(b"c");
        assert_eq!(pieces.hex(), ContentHasher::hash_bytes(b"abc"));
        let stream = ContentHasher::hash_stream(b"abc".as_slice()).unwrap();
        assert_eq!(stream, (3, pieces.hex()));
    }
}
