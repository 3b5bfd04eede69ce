//! Samples: a directory of files is taken as a whole.
//!
//! ```text
//! directories, tar, Parquet ─▶ find ─▶ read ─▶ node types ─▶ graphs ─▶ samples ─▶ texts ─▶ sources
//! ```
//!
//! All rows but those of the ledger are known by their content: what a crash leaves is found by
//! the next run, and nothing is stored twice.

mod columns;
mod find;
mod group;
mod hub;
mod member;
mod read;

use tsql_formats::{Documents, Input, Looks, Opened, graphnet};

use crate::error::Result;
use crate::formats::taking::{Admission, Admitting, Contents, Given, Hand, Taking, What};
use crate::ledger::Ledger;
use group::Gathered;
use read::{Read, Reader, Work};

/// The room of samples.
#[derive(Clone, Copy)]
pub(crate) struct Samples;

impl Admitting for Samples {
    fn formats(&self) -> &'static [&'static dyn Documents] {
        &[&graphnet::Samples, &graphnet::Hub]
    }

    fn needs_all(&self) -> bool {
        true
    }

    /// All of them: what is in no sample is kept, too.
    fn contents(&self, members: Vec<Input>) -> Contents {
        let (mut taken, others) = find::split(members);
        taken.extend(others.into_iter().map(What::Loose));
        Contents {
            taken,
            others: Vec::new(),
        }
    }

    fn folders(&self, found: Vec<Input>) -> (Vec<Given>, Vec<Input>) {
        let (samples, others) = find::split(found);
        let given = |what| Given {
            what,
            platform: None,
        };
        (samples.into_iter().map(given).collect(), others)
    }

    fn recalls(&self, input: &Input) -> bool {
        find::is_loose(input)
    }

    fn admit(&self, input: &Input, opened: Option<&Opened>, _: Option<&str>) -> Result<Admission> {
        let is_taken = input.explicit || opened.is_none_or(hub::is_hub);
        Ok(if is_taken {
            Admission::Taken(None)
        } else {
            Admission::Skipped(Looks::new("a Parquet file"))
        })
    }
}

impl Taking for Samples {
    type Work = Work;
    type Read = Read;
    type Group = Gathered;

    const DATASET: &'static str = graphnet::NAME;
    const TABLES: &'static [&'static str] = &[];
    const QUEUE: (usize, usize) = (2, 4);
    const IS_STRICT: bool = true;

    fn read(
        &self,
        given: &Given,
        ledger: &mut Ledger,
        hand: &mut Hand<'_, Work>,
    ) -> Result<Option<()>> {
        Reader { ledger, hand }.read(&given.what)
    }

    fn parse(work: Work) -> Result<Read, String> {
        Ok(read::parse(work))
    }
}
