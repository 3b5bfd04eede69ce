//! The way in: npz files, also in tar. Each is taken as a whole, or refused as a whole.

mod columns;
mod group;
mod parsed;
mod read;

use std::io::BufReader;

use tsql_formats::tpugraphs::{self, Arrays, NAME, PLATFORM};
use tsql_formats::{Documents, Input, Opened};

use crate::error::Result;
use crate::formats::platform;
use crate::formats::taking::{Admission, Admitting, Contents, Given, Hand, Taking, What};
use crate::ledger::Ledger;
use group::Gathered;
use read::{Read, Work};

/// The room of its files.
#[derive(Clone, Copy)]
pub(crate) struct Files;

impl Admitting for Files {
    fn formats(&self) -> &'static [&'static dyn Documents] {
        &[&Arrays]
    }

    fn contents(&self, members: Vec<Input>) -> Contents {
        let mut contents = Contents::default();
        for member in members {
            let is_array = Arrays.is_member(&member.name);
            let other = if is_array {
                member
                    .opened()
                    .ok()
                    .and_then(|opened| read::foreign(&opened))
            } else {
                Some(read::looks(&member))
            };
            match other {
                None => contents.taken.push(What::File(member, None)),
                Some(looks) => contents.others.push((member, looks)),
            }
        }
        contents
    }

    fn admit(
        &self,
        input: &Input,
        opened: Option<&Opened>,
        asked: Option<&str>,
    ) -> Result<Admission> {
        if let Some(looks) = opened.and_then(read::foreign) {
            return Ok(Admission::Skipped(looks));
        }
        let platform = platform::said(asked, NAME, Some(PLATFORM), input);
        Ok(Admission::Taken(platform))
    }
}

impl Taking for Files {
    type Work = Work;
    type Read = Read;
    type Group = Gathered;

    const DATASET: &'static str = NAME;
    const TABLES: &'static [&'static str] = &["records"];
    const QUEUE: (usize, usize) = (1, 1);
    const IS_STRICT: bool = true;

    fn names<'a>(&self, given: &'a [Given]) -> Option<Vec<(&'a str, &'a str)>> {
        let name = |given: &'a Given| match &given.what {
            What::File(input, _) => Some((given.platform.as_deref()?, input.name.as_str())),
            _ => None,
        };
        given.iter().map(name).collect()
    }

    fn read(
        &self,
        given: &Given,
        ledger: &mut Ledger,
        hand: &mut Hand<'_, Work>,
    ) -> Result<Option<()>> {
        let platform = given.platform.as_deref().unwrap_or(PLATFORM);
        read::Reader::new(platform, ledger, hand).read(&given.what)
    }

    fn parse(work: Work) -> Result<Read, String> {
        let buffered = BufReader::with_capacity(1 << 16, work.opened.bytes());
        let document = tpugraphs::read(buffered)?;
        Ok(Read { work, document })
    }
}
