//! Benchmark logs: each is read as a whole; of one that has grown only the records that are new.
//!
//! ```text
//! text ─▶ reader ─▶ graphs, environments ─▶ configurations ─▶ texts ─▶ records ─▶ runs ─▶ sources
//! ```

mod columns;
mod group;
mod packed;
mod read;

use tsql_formats::graphnet::{BenchmarkLog, NAME};
use tsql_formats::{Documents, Input, Opened};

use crate::error::Result;
use crate::formats::platform;
use crate::formats::platform::NO_PLATFORM;
use crate::formats::taking::{Admission, Admitting, Given, Hand, Taking, What};
use crate::ledger::Ledger;
use group::Gathered;
use read::{Read, Work};

const NO_HARDWARE: &str = "\nhint: it names no hardware: give one with --platform NAME";

/// The room of benchmark logs.
#[derive(Clone, Copy)]
pub(crate) struct Logs;

impl Admitting for Logs {
    fn formats(&self) -> &'static [&'static dyn Documents] {
        &[&BenchmarkLog]
    }

    fn recalls(&self, input: &Input) -> bool {
        let was = input.was(NAME);
        was.is_some_and(|file| file.platform != NO_PLATFORM)
    }

    fn admit(
        &self,
        input: &Input,
        opened: Option<&Opened>,
        asked: Option<&str>,
    ) -> Result<Admission> {
        // A directory of logs is named after anything but the hardware.
        let said = platform::said(asked, NAME, None, input);
        let label = match (&said, opened) {
            (None, Some(opened)) => read::hardware(opened, input)?,
            _ => None,
        };
        Ok(match said.or(label) {
            None => Admission::Nameless(NO_HARDWARE),
            platform => Admission::Taken(platform),
        })
    }
}

impl Taking for Logs {
    type Work = Work;
    type Read = Read;
    type Group = Gathered;

    const DATASET: &'static str = NAME;
    const TABLES: &'static [&'static str] = &["records", "runs"];
    const QUEUE: (usize, usize) = (1, 1);
    const IS_STRICT: bool = false;

    fn read(
        &self,
        given: &Given,
        ledger: &mut Ledger,
        hand: &mut Hand<'_, Work>,
    ) -> Result<Option<()>> {
        match (&given.what, &given.platform) {
            (What::File(input, compression), Some(platform)) => {
                read::log(input, *compression, platform, ledger, hand)
            }
            _ => Ok(Some(())),
        }
    }

    fn parse(work: Work) -> Result<Read, String> {
        read::parse(work)
    }
}
