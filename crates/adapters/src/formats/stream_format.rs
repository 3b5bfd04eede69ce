//! Formats of streams.

use tsql_formats::Dialect;

/// Format of a stream: lines of any dialect, or Arrow.
#[derive(Clone, Copy, Debug)]
pub struct StreamFormat {
    dialect: Dialect,
    is_arrow: bool,
}

impl StreamFormat {
    /// Lines of auto_scheduler.
    pub const TENSET: Self = Self::lines(Dialect::TENSET);

    /// Records as JSON lines whose keys are columns: `workload_key`, `steps`, `repeats_ns`, ...
    pub const MEASURED: Self = Self::lines(Dialect::MEASURED);

    /// Measured records as columns, in Arrow's streaming IPC. They are stored and exported as lines.
    pub const ARROW: Self = Self {
        dialect: Dialect::MEASURED,
        is_arrow: true,
    };

    /// Lines of a dialect.
    const fn lines(dialect: Dialect) -> Self {
        Self {
            dialect,
            is_arrow: false,
        }
    }

    /// Returns all stream formats: the lines of each dialect, then Arrow.
    pub fn all() -> impl Iterator<Item = Self> {
        let lines = Dialect::ALL.iter().copied().map(Self::lines);
        lines.chain([Self::ARROW])
    }

    /// Returns the stream format with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().find(|format| format.name() == name)
    }

    /// Name in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        if self.is_arrow {
            "arrow"
        } else {
            self.dialect.name()
        }
    }

    /// Description of a stream of this format.
    #[must_use]
    pub fn description(self) -> &'static str {
        if self.is_arrow {
            "measured records as columns, in Arrow's streaming IPC"
        } else {
            self.dialect.description()
        }
    }

    /// Dialect of its lines.
    #[must_use]
    pub fn dialect(self) -> Dialect {
        self.dialect
    }
}

impl Default for StreamFormat {
    fn default() -> Self {
        Self::TENSET
    }
}

impl PartialEq for StreamFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for StreamFormat {}

/// Earlier names.
#[doc(hidden)]
#[allow(
    non_upper_case_globals,
    missing_docs,
    reason = "these were variants of an enumeration"
)]
impl StreamFormat {
    pub const Tenset: Self = Self::TENSET;
    pub const Measured: Self = Self::MEASURED;
    pub const AutoTvm: Self = Self::lines(Dialect::AUTOTVM);
    pub const MetaSchedule: Self = Self::lines(Dialect::METASCHEDULE);
    pub const Arrow: Self = Self::ARROW;
}
