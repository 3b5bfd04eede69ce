//! What a file that is given means: nothing new, another name, or something to be read.

use tsql_codecs::identity::sample_id;
use tsql_formats::naming::numbered;
use tsql_formats::{Compression, Input, Opened};

use super::Ledger;
use super::prefixes::Prefixes;
use super::source::{Alias, Plan, Reading, Source, UNCOMMITTED, Versions};
use crate::error::{Error, Result};

impl Ledger {
    /// What is to be done with `input` on `platform`. Another name counts from then on. Reads the file only where the store has one
    /// of its name, or one of its size; how many bytes are in a compressed one shows only then.
    pub(crate) fn plan(
        &mut self,
        dataset: &str,
        platform: &str,
        input: &Input,
        opened: &Opened,
        compression: Option<Compression>,
    ) -> Result<Plan> {
        let mut versions = Versions {
            path: input.path.clone(),
            new: None,
            same: None,
            earlier: Vec::new(),
        };
        let plan = self.look(
            dataset,
            platform,
            input,
            (opened, compression),
            &mut versions,
        )?;
        self.name(dataset, &plan);
        self.add_versions(&plan, versions);
        Ok(plan)
    }

    fn add_versions(&mut self, plan: &Plan, versions: Versions) {
        if versions.earlier.is_empty() {
            return;
        }
        let new = match plan {
            Plan::Read(reading) => Some(reading.source_id),
            Plan::Unchanged | Plan::Alias(_) => None,
        };
        self.versions.push(Versions { new, ..versions });
    }

    /// Another name that this run gives: a third file of that name and these bytes is nothing new.
    fn name(&mut self, dataset: &str, plan: &Plan) {
        if let Plan::Alias(alias) = plan {
            self.add(Source::being_named(dataset, alias));
        }
    }

    fn look(
        &self,
        dataset: &str,
        platform: &str,
        input: &Input,
        (opened, compression): (&Opened, Option<Compression>),
        versions: &mut Versions,
    ) -> Result<Plan> {
        let same_name = self.of_name(&input.name);
        let size = opened.size().map_err(Error::io(&input.file))?;
        let known = self.by_size.get(platform);
        let alike = known.is_some_and(|sizes| compression.is_some() || sizes.contains_key(&size));
        let copy = same_name.len() + 1;
        let name = numbered(&input.name, copy);
        let given = (copy > 1).then(|| input.name.clone());
        if !same_name.is_empty() || (size > 0 && alike) {
            let offsets = same_name.iter().map(|source| source.end_byte).collect();
            let prefixes = Prefixes::read(opened, offsets);
            let prefixes = prefixes.map_err(Error::io(&input.file))?;
            let mut begun: Vec<&Source> = same_name
                .iter()
                .filter(|source| source.is_on(platform))
                .filter(|source| prefixes.hash_at(source.end_byte) == Some(&source.content_hash))
                .copied()
                .collect();
            let others = same_name.iter().filter(|source| {
                let is_begun = prefixes.hash_at(source.end_byte) == Some(&source.content_hash);
                !is_begun && source.may_be_earlier(platform)
            });
            let others = others.map(|source| source.as_earlier(&input.path));
            versions.earlier.extend(others);
            begun.sort_by_key(|source| source.end_byte);
            if let Some(longest) = begun.last() {
                versions.same = Some(longest.source_id);
                if longest.end_byte == prefixes.size {
                    return Ok(Plan::Unchanged);
                }
                if longest.segments != UNCOMMITTED && longest.same_as.is_none() {
                    return Ok(grown(longest, &prefixes));
                }
            }
            let mut twins = self.of_size(platform, prefixes.size);
            let twin = twins.find(|twin| twin.content_hash == prefixes.whole);
            if let Some(twin) = twin.filter(|_| prefixes.size > 0) {
                let begun = begun
                    .last()
                    .filter(|begun| begun.same_as == Some(twin.source_id));
                return Ok(Plan::Alias(Box::new(Alias {
                    given: given.filter(|_| begun.is_none()),
                    name: begun.map_or(name, |begun| begun.name.clone()),
                    segment: begun.map_or(0, |begun| begun.segments),
                    compression,
                    same_as: twin.clone(),
                })));
            }
        }
        let reading = Reading::of_file(dataset, platform, name);
        Ok(Plan::Read(Reading { given, ..reading }))
    }

    /// What is to be done with a file that is read as a whole or not at all: `named`, with these
    /// bytes and this hash. It stands for another only where `alike` says that this one says the
    /// same of its records. Another name counts from then on.
    pub(crate) fn plan_document(
        &mut self,
        dataset: &str,
        platform: &str,
        named: &str,
        bytes: u64,
        content_hash: &str,
        alike: impl Fn(&Source) -> bool,
    ) -> Plan {
        let plan = self.look_for_document(dataset, platform, named, (bytes, content_hash), alike);
        let others = self.of_name(named).into_iter().filter(|source| {
            source.content_hash != content_hash && source.may_be_earlier(platform)
        });
        let earlier = others.map(|source| source.as_earlier(named)).collect();
        let mut same = self
            .of_name(named)
            .into_iter()
            .filter(|source| source.content_hash == content_hash && source.is_on(platform));
        let versions = Versions {
            path: named.to_owned(),
            new: None,
            same: same.next().map(|source| source.source_id),
            earlier,
        };
        self.name(dataset, &plan);
        self.add_versions(&plan, versions);
        plan
    }

    fn look_for_document(
        &self,
        dataset: &str,
        platform: &str,
        named: &str,
        (bytes, content_hash): (u64, &str),
        alike: impl Fn(&Source) -> bool,
    ) -> Plan {
        let same_name = self.of_name(named);
        let same = |source: &&Source| source.is_on(platform) && source.content_hash == content_hash;
        if same_name.iter().copied().any(|source| same(&source)) {
            return Plan::Unchanged;
        }
        let copy = same_name.len() + 1;
        let name = numbered(named, copy);
        let given = (copy > 1).then(|| named.to_owned());
        let mut twins = self.of_size(platform, bytes).filter(same);
        match twins.find(|twin| alike(twin)) {
            Some(twin) => Plan::Alias(Box::new(Alias {
                name,
                given,
                segment: 0,
                compression: None,
                same_as: twin.clone(),
            })),
            None => Plan::Read(Reading {
                given,
                ..Reading::of_file(dataset, platform, name)
            }),
        }
    }

    /// The directory that a sample gets in the store: its own, or a numbered one where that has
    /// other files; `None` where the store has it.
    pub(crate) fn plan_sample(&self, folder: &str, files_hash: &str) -> Option<String> {
        let copies = (1..).map(|copy| match copy {
            1 => folder.to_owned(),
            copy => format!("{folder}~{copy}"),
        });
        for path in copies {
            if self.samples.contains(&sample_id(&path, files_hash)) {
                return None;
            }
            if !self.sample_paths.contains(&path) {
                return Some(path);
            }
        }
        None
    }
}

/// What to do with a file that begins with all that the store has of it.
fn grown(source: &Source, prefixes: &Prefixes) -> Plan {
    let (first_byte, first_line) = match source.open_line.as_deref() {
        Some("other") => (prefixes.line_start(source.end_byte), source.last_line),
        Some(_) => (source.end_byte, source.last_line),
        None => (source.end_byte, source.last_line + 1),
    };
    Plan::Read(Reading {
        source_id: source.source_id,
        platform: source.platform.clone(),
        first_platform: source.first_platform.clone(),
        name: source.name.clone(),
        given: None,
        segment: source.segments,
        first_byte,
        first_line,
        crlf: source.crlf.filter(|_| source.end_byte > 0),
    })
}
