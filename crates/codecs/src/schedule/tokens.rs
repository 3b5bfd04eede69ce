//! Encodes a schedule as the integer rows that TLP (ASPLOS 2023) uses as model input.
//!
//! A row is a step: a one-hot vector of its kind among 11, then its arguments in order. Lists are
//! flattened, texts are replaced by table indexes, and rows are zero-padded or truncated
//! (`tlp_make_dataset.py:37-74`).

use std::sync::LazyLock;

use super::scan::{Argument, KINDS, for_each_step};

/// Number of kinds in the one-hot vector.
const KIND_COUNT: usize = 11;

/// Target device; it determines tables and shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// CPUs: shape (25, 22).
    Llvm,
    /// NVIDIA GPUs: shape (40, 20).
    Cuda,
}

type KindIndexes = [Option<usize>; KINDS.len()];

/// Computed once: a program takes only a few hundred nanoseconds.
static LLVM_INDEXES: LazyLock<KindIndexes> = LazyLock::new(|| Target::Llvm.find_indexes());
static CUDA_INDEXES: LazyLock<KindIndexes> = LazyLock::new(|| Target::Cuda.find_indexes());

impl Target {
    /// Parses `llvm` or `cuda`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "llvm" => Some(Self::Llvm),
            "cuda" => Some(Self::Cuda),
            _ => None,
        }
    }

    /// Number of steps, and of numbers per step.
    pub fn shape(self) -> (usize, usize) {
        match self {
            Self::Llvm => (25, 22),
            Self::Cuda => (40, 20),
        }
    }

    fn kinds(self) -> [&'static str; KIND_COUNT] {
        match self {
            Self::Llvm => [
                "CI", "RE", "AN", "RF", "CHW", "SP", "CR", "CA", "FU", "FSP", "PR",
            ],
            Self::Cuda => [
                "AN", "CHR", "CHW", "CI", "CA", "FFSP", "SP", "FU", "RE", "PR", "FSP",
            ],
        }
    }

    /// Unroll steps by their index from 1.
    fn unrollings(self) -> &'static [&'static str] {
        match self {
            Self::Llvm => &["16", "0", "512", "64"],
            Self::Cuda => &["0", "16", "64", "1024", "512"],
        }
    }

    /// One-hot index of each of [`KINDS`].
    fn kind_indexes(self) -> &'static KindIndexes {
        match self {
            Self::Llvm => &LLVM_INDEXES,
            Self::Cuda => &CUDA_INDEXES,
        }
    }

    fn find_indexes(self) -> KindIndexes {
        KINDS.map(|kind| self.kinds().iter().position(|name| *name == kind))
    }

    /// Table index of a text; 0 if upstream's table does not contain it.
    fn token(self, text: &str) -> i32 {
        let texts: &[&str] = match text.split_once('$') {
            Some(("auto_unroll_max_step", steps)) => {
                return index_from_one(self.unrollings(), steps);
            }
            _ => &["local", "shared", "global"],
        };
        index_from_one(texts, text)
    }
}

/// Index in the list from 1; 0 if missing.
fn index_from_one(list: &[&str], text: &str) -> i32 {
    let index = list.iter().position(|item| *item == text);
    index.map_or(0, |index| i32::try_from(index + 1).unwrap_or_default())
}

/// Token names in order: `step_0_is_CI`, `step_0_argument_0`.
pub fn token_names(target: Target) -> Vec<String> {
    let (steps, width) = target.shape();
    let of_step = |step: usize| {
        let kinds = target.kinds().map(|kind| format!("step_{step}_is_{kind}"));
        let arguments = 0..width.saturating_sub(KIND_COUNT);
        let arguments = arguments.map(move |index| format!("step_{step}_argument_{index}"));
        kinds.into_iter().chain(arguments)
    };
    (0..steps).flat_map(of_step).collect()
}

/// Writes the tokens of a schedule to `rows`, whose size is [`Target::shape`]. Returns `None` if the text
/// is not an auto_scheduler program.
pub fn tokens(steps: &str, target: Target, rows: &mut [i32]) -> Option<()> {
    rows.fill(0);
    let (_, width) = target.shape();
    let kind_indexes = target.kind_indexes();
    let mut rows = rows.chunks_exact_mut(width);
    for_each_step(steps, |step| {
        // Truncated steps are still parsed: the whole text must be valid.
        let Some(row) = rows.next() else {
            return;
        };
        let kind_index = kind_indexes.get(step.kind).copied().flatten();
        let (kinds, arguments) = row.split_at_mut(KIND_COUNT.min(width));
        if let Some(kind) = kind_index.and_then(|kind_index| kinds.get_mut(kind_index)) {
            *kind = 1;
        }
        for (output, argument) in arguments.iter_mut().zip(&step.arguments) {
            *output = match argument {
                Argument::Number(number) => i32::try_from(*number).unwrap_or(i32::MAX),
                // Upstream knows only one scope for cache reads.
                Argument::Text(_) if KINDS.get(step.kind) == Some(&"CHR") => 1,
                Argument::Text(text) => target.token(text),
            };
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &str = r#"[["SP", 3, 0, 1000, [50, 1, 2], 1], ["CHW", 2, "global"], ["PR", 2, 0, "auto_unroll_max_step$64"],
        ["PR", 2, 0, "auto_unroll_max_step$8"], ["CHR", 4, "shared", [1, 7]], ["SA", 1, 2, 3, 4]]"#;

    fn rows(target: Target) -> Vec<Vec<i32>> {
        let (steps, width) = target.shape();
        let mut rows = vec![7; steps * width];
        tokens(STEPS, target, &mut rows).unwrap();
        rows.chunks(width).map(<[i32]>::to_vec).collect()
    }

    fn row(kind: Option<usize>, arguments: &[i32], width: usize) -> Vec<i32> {
        let mut row = vec![0; width];
        if let Some(kind) = kind {
            row[kind] = 1;
        }
        row[11..11 + arguments.len()].copy_from_slice(arguments);
        row
    }

    /// Expected values are computed by hand.
    #[test]
    fn kinds_and_texts_have_the_numbers_of_their_target() {
        let llvm = rows(Target::Llvm);
        assert_eq!(llvm[0], row(Some(5), &[3, 0, 1000, 50, 1, 2, 1], 22));
        assert_eq!(llvm[1], row(Some(4), &[2, 3], 22));
        assert_eq!(llvm[2], row(Some(10), &[2, 0, 4], 22));
        assert_eq!(llvm[3], row(Some(10), &[2, 0, 0], 22));
        assert_eq!(llvm[5], row(None, &[1, 2, 3, 4], 22));
        assert_eq!((llvm.len(), &llvm[24]), (25, &row(None, &[], 22)));
        let cuda = rows(Target::Cuda);
        assert_eq!(cuda[0], row(Some(6), &[3, 0, 1000, 50, 1, 2, 1], 20));
        assert_eq!(cuda[2], row(Some(9), &[2, 0, 3], 20));
        assert_eq!(cuda[4], row(Some(1), &[4, 1, 1, 7], 20));
        assert_eq!(cuda.len(), 40);
        let names = token_names(Target::Cuda);
        assert_eq!(names.len(), 40 * 20);
        assert_eq!(
            (&*names[6], &*names[11]),
            ("step_0_is_SP", "step_0_argument_0")
        );
        assert_eq!(names[20 + 19], "step_1_argument_8");
        assert_eq!(token_names(Target::Llvm)[22 + 5], "step_1_is_SP");
    }

    #[test]
    fn long_schedules_are_truncated() {
        let many = (0..30)
            .map(|loop_| loop_.to_string())
            .collect::<Vec<_>>()
            .join(", ");
        let steps = vec![format!(r#"["RE", 1, [{many}]]"#); 30].join(", ");
        let mut rows = vec![0; 25 * 22];
        tokens(&format!("[{steps}]"), Target::Llvm, &mut rows).unwrap();
        for row in rows.chunks(22) {
            assert_eq!(row[..13], [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
            assert_eq!(row[21], 9);
        }
        assert!(tokens("[[\"SP\", ", Target::Llvm, &mut rows).is_none());
    }
}
