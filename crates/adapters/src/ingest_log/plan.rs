//! Plans how to handle a given file: unchanged, alias, or read.

use tsql_codecs::identity::sample_id;
use tsql_error::{Error, Result};
use tsql_formats::naming::numbered_name;
use tsql_formats::{Compression, FileHandle, Input};

use super::IngestLog;
use super::prefixes::Prefixes;
use super::source::{Alias, EarlierVersions, FilePlan, ReadPlan, Source, UNCOMMITTED};

impl IngestLog {
    /// Plans how to handle `input` on `platform`. Aliases are added to the log at once.
    ///
    /// Reads the file only if the store has one of the same name or size. A compressed file is read if the
    /// platform has any files, because its decompressed size is unknown.
    pub fn plan(
        &mut self,
        dataset: &'static str,
        platform: &str,
        input: &Input,
        opened: &FileHandle,
        compression: Option<Compression>,
    ) -> Result<FilePlan> {
        let mut versions = EarlierVersions {
            path: input.path.clone(),
            new: None,
            same: None,
            earlier: Vec::new(),
        };
        let plan = self.choose_plan(
            dataset,
            platform,
            input,
            (opened, compression),
            &mut versions,
        )?;
        self.add_alias(dataset, &plan);
        self.add_versions(&plan, versions);
        Ok(plan)
    }

    fn add_versions(&mut self, plan: &FilePlan, versions: EarlierVersions) {
        if versions.earlier.is_empty() {
            return;
        }
        let new = match plan {
            FilePlan::Read(reading) => Some(reading.source_id),
            FilePlan::Unchanged | FilePlan::Alias(_) => None,
        };
        self.versions.push(EarlierVersions { new, ..versions });
    }

    /// Adds an alias of this run, so that a third file with that name and these bytes is unchanged.
    fn add_alias(&mut self, dataset: &'static str, plan: &FilePlan) {
        if let FilePlan::Alias(alias) = plan {
            self.add(Source::new_uncommitted_alias(dataset, alias));
        }
    }

    fn choose_plan(
        &self,
        dataset: &'static str,
        platform: &str,
        input: &Input,
        (opened, compression): (&FileHandle, Option<Compression>),
        versions: &mut EarlierVersions,
    ) -> Result<FilePlan> {
        let same_name = self.sources_named(&input.name);
        let size = opened.size().map_err(Error::io(&input.file))?;
        let known = self.by_size.get(platform);
        let alike = known.is_some_and(|sizes| compression.is_some() || sizes.contains_key(&size));
        let copy = same_name.len() + 1;
        let name = numbered_name(&input.name, copy);
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
            let others = others.map(|source| source.to_earlier_version(&input.path));
            versions.earlier.extend(others);
            begun.sort_by_key(|source| source.end_byte);
            if let Some(longest) = begun.last() {
                versions.same = Some(longest.source_id);
                if longest.end_byte == prefixes.size {
                    return Ok(FilePlan::Unchanged);
                }
                if longest.segments != UNCOMMITTED && longest.same_as.is_none() {
                    return Ok(plan_appended(longest, &prefixes));
                }
            }
            let mut twins = self.sources_of_size(platform, prefixes.size);
            let twin = twins.find(|twin| twin.content_hash == prefixes.whole);
            if let Some(twin) = twin.filter(|_| prefixes.size > 0) {
                let begun = begun
                    .last()
                    .filter(|begun| begun.same_as == Some(twin.source_id));
                return Ok(FilePlan::Alias(Box::new(Alias {
                    given: given.filter(|_| begun.is_none()),
                    name: begun.map_or(name, |begun| begun.name.clone()),
                    segment: begun.map_or(0, |begun| begun.segments),
                    compression,
                    dataset,
                    same_as: twin.clone(),
                })));
            }
        }
        let reading = ReadPlan::for_new_file(dataset, platform, name);
        Ok(FilePlan::Read(ReadPlan { given, ..reading }))
    }

    /// Plans a file that is read as a whole or not at all, with its name, size and hash.
    ///
    /// It becomes an alias only if `alike` confirms that the other source has the same attributes. Aliases
    /// are added to the log at once.
    pub(crate) fn plan_document(
        &mut self,
        dataset: &'static str,
        platform: &str,
        named: &str,
        bytes: u64,
        content_hash: &str,
        alike: impl Fn(&Source) -> bool,
    ) -> FilePlan {
        let plan =
            self.choose_document_plan(dataset, platform, named, (bytes, content_hash), alike);
        let others = self.sources_named(named).into_iter().filter(|source| {
            source.content_hash != content_hash && source.may_be_earlier(platform)
        });
        let earlier = others
            .map(|source| source.to_earlier_version(named))
            .collect();
        let mut same = self
            .sources_named(named)
            .into_iter()
            .filter(|source| source.content_hash == content_hash && source.is_on(platform));
        let versions = EarlierVersions {
            path: named.to_owned(),
            new: None,
            same: same.next().map(|source| source.source_id),
            earlier,
        };
        self.add_alias(dataset, &plan);
        self.add_versions(&plan, versions);
        plan
    }

    fn choose_document_plan(
        &self,
        dataset: &'static str,
        platform: &str,
        named: &str,
        (bytes, content_hash): (u64, &str),
        alike: impl Fn(&Source) -> bool,
    ) -> FilePlan {
        let same_name = self.sources_named(named);
        let same = |source: &&Source| source.is_on(platform) && source.content_hash == content_hash;
        if same_name.iter().copied().any(|source| same(&source)) {
            return FilePlan::Unchanged;
        }
        let copy = same_name.len() + 1;
        let name = numbered_name(named, copy);
        let given = (copy > 1).then(|| named.to_owned());
        let mut twins = self.sources_of_size(platform, bytes).filter(same);
        match twins.find(|twin| alike(twin)) {
            Some(twin) => FilePlan::Alias(Box::new(Alias {
                name,
                given,
                segment: 0,
                compression: None,
                dataset,
                same_as: twin.clone(),
            })),
            None => FilePlan::Read(ReadPlan {
                given,
                ..ReadPlan::for_new_file(dataset, platform, name)
            }),
        }
    }

    /// Directory of a sample in the store: its own, or a numbered one if the name is in use. Returns `None`
    /// if the store has the sample.
    pub fn plan_sample(&self, folder: &str, files_hash: &str) -> Option<String> {
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

/// Plans a file that starts with everything that the store has of it.
fn plan_appended(source: &Source, prefixes: &Prefixes) -> FilePlan {
    let (first_byte, first_line) = match source.open_line.as_deref() {
        Some("other") => (prefixes.line_start(source.end_byte), source.last_line),
        Some(_) => (source.end_byte, source.last_line),
        None => (source.end_byte, source.last_line + 1),
    };
    FilePlan::Read(ReadPlan {
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
