//! Names that files lack: graph and platform for all files or by patterns of paths, and mappings of tables.

use std::path::Path;

use glob::Pattern;
use serde::Deserialize;
use tsql_autotuners::{Format, Mapping, RunOptions, Value, parse_json};

use super::tuner_file::TunerFile;
use crate::DocumentFormat;

/// Pattern of the files to which a mapping without a pattern applies.
const TABLES: [&str; 2] = ["*.csv", "*.tsv"];

/// Name of a graph as users give it.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphName {
    /// Name of the kernel.
    pub kernel: String,
    /// The problem; empty if only the kernel is given.
    pub problem: Vec<(String, Value)>,
}

impl GraphName {
    /// Parses a name, or a JSON list of a name and an object: `["gemm", {"M": 512}]`.
    ///
    /// # Errors
    /// The text is empty, or another list.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = "expected a name, or a list such as [\"gemm\", {\"M\": 512}]";
        if text.trim().is_empty() {
            return Err(format!("the graph is empty, {expected}"));
        }
        if !text.trim_start().starts_with('[') {
            return Ok(Self {
                kernel: text.to_owned(),
                problem: Vec::new(),
            });
        }
        let wrong = || format!("`{text}` is not a graph, {expected}");
        let list = parse_json(text).ok_or_else(wrong)?;
        let (kernel, problem) = match list.as_list() {
            Some([kernel]) => (kernel, Vec::new()),
            Some([kernel, problem]) => (kernel, problem.as_object().ok_or_else(wrong)?.clone()),
            _ => return Err(wrong()),
        };
        Ok(Self {
            kernel: kernel.as_text().ok_or_else(wrong)?.to_owned(),
            problem,
        })
    }
}

/// Names and mapping of one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileNames {
    /// Graph of all its records.
    pub graph: Option<GraphName>,
    /// Platform of all its records.
    pub platform: Option<String>,
    /// Mapping of its columns, for a table in no other format.
    pub table: Option<Mapping>,
    /// Facts of the run that measured its records.
    pub run: RunOptions,
}

/// Names that users give to files. They win over files and paths.
#[derive(Clone, Debug, Default)]
pub struct NamingOptions {
    graph: Option<GraphName>,
    run: RunOptions,
    rules: Vec<Rule>,
}

/// Names of the files whose paths match a pattern.
#[derive(Clone, Debug)]
struct Rule {
    patterns: Vec<Pattern>,
    names: FileNames,
}

/// A rule as a mapping file states it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatedRule {
    path: String,
    graph: Option<String>,
    platform: Option<String>,
    table: Option<toml::Table>,
}

impl NamingOptions {
    /// Sets the graph of all files.
    ///
    /// # Errors
    /// As [`GraphName::parse`].
    pub fn set_graph(&mut self, text: &str) -> Result<(), String> {
        self.graph = Some(GraphName::parse(text)?);
        Ok(())
    }

    /// Sets the commit of the code that all records measure.
    ///
    /// # Errors
    /// The text is empty or has several lines.
    pub fn set_commit(&mut self, text: &str) -> Result<(), String> {
        if text.trim().is_empty() || text.contains(['\n', '\r']) {
            return Err("expected one line of text".to_owned());
        }
        self.run.commit = Some(text.trim().to_owned());
        Ok(())
    }

    /// Sets the time of all measurements, as RFC 3339: a date and a time with its zone.
    ///
    /// # Errors
    /// The text is another date, or has no zone.
    pub fn set_measured_at(&mut self, text: &str) -> Result<(), String> {
        let parsed = chrono::DateTime::parse_from_rfc3339(text.trim());
        let expected = "expected a time with its zone, such as 2026-03-01T12:00:00Z";
        parsed.map_err(|_| format!("`{text}` is no time, {expected}"))?;
        self.run.measured_at = Some(text.trim().to_owned());
        Ok(())
    }

    /// Sets the names of the parameters that belong to the graph, separated by commas.
    ///
    /// # Errors
    /// A name is empty.
    pub fn set_graph_parameters(&mut self, text: &str) -> Result<(), String> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        if names.iter().any(String::is_empty) {
            return Err(format!(
                "`{text}` has an empty name, expected names such as size,dim"
            ));
        }
        self.run.graph_parameters = names;
        Ok(())
    }

    /// Adds the rules of a mapping file: a list `file` of patterns with graph, platform and table, and the keys of a
    /// mapping for all other tables.
    ///
    /// # Errors
    /// The text is no TOML, or has an unknown key or an invalid value.
    pub fn add_map(&mut self, text: &str) -> Result<(), String> {
        let mut map: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
        let stated = map.remove("file").unwrap_or(toml::Value::Array(Vec::new()));
        let stated: Vec<StatedRule> = stated
            .try_into()
            .map_err(|error| format!("`file`: {error}"))?;
        for rule in stated {
            let wrong = |error: String| format!("`{}`: {error}", rule.path);
            let graph = rule.graph.as_deref().map(GraphName::parse).transpose();
            let table = rule.table.as_ref().map(parse_mapping).transpose();
            let names = FileNames {
                graph: graph.map_err(wrong)?,
                platform: rule.platform.clone(),
                table: table.map_err(wrong)?,
                ..FileNames::default()
            };
            self.add_rule(&[&rule.path], names)?;
        }
        if !map.is_empty() {
            let table = Some(parse_mapping(&map)?);
            let names = FileNames {
                table,
                ..FileNames::default()
            };
            self.add_rule(&TABLES, names)?;
        }
        Ok(())
    }

    fn add_rule(&mut self, paths: &[&str], names: FileNames) -> Result<(), String> {
        let mut patterns = Vec::new();
        for path in paths {
            for text in [(*path).to_owned(), format!("*/{path}")] {
                let pattern = Pattern::new(&text);
                let wrong = |error: glob::PatternError| format!("`{path}`: {}", error.msg);
                patterns.push(pattern.map_err(wrong)?);
            }
        }
        self.rules.push(Rule { patterns, names });
        Ok(())
    }

    /// Format of a file in no other format, if a mapping of its columns is given.
    #[must_use]
    pub fn format_of_table(&self, path: &str) -> Option<&'static dyn DocumentFormat> {
        self.names_of(path).table?;
        let file = TunerFile::of_reader(Format::Table)?;
        Some(file)
    }

    /// Format of a detected file. A mapping of its columns wins over a table that is only detected by its numbers.
    #[must_use]
    pub fn format_of_detected(
        &self,
        detected: &'static dyn DocumentFormat,
        path: &str,
    ) -> &'static dyn DocumentFormat {
        let file = TunerFile::by_name(detected.name());
        let is_plain = file.is_some_and(|file| file.format == Format::PerfReport);
        let mapped = is_plain.then(|| self.format_of_table(path)).flatten();
        mapped.unwrap_or(detected)
    }

    /// Names of a file by its path. Of several rules, the first that states a name wins.
    #[must_use]
    pub fn names_of(&self, path: &str) -> FileNames {
        let plain = without_compression(path);
        let matches = |rule: &&Rule| {
            let mut patterns = rule.patterns.iter();
            patterns.any(|pattern| pattern.matches(path) || pattern.matches(plain))
        };
        let mut names = FileNames {
            graph: self.graph.clone(),
            run: self.run.clone(),
            ..FileNames::default()
        };
        for rule in self.rules.iter().filter(matches) {
            names.graph = names.graph.or_else(|| rule.names.graph.clone());
            names.platform = names.platform.or_else(|| rule.names.platform.clone());
            names.table = names.table.or_else(|| rule.names.table.clone());
        }
        names
    }
}

fn parse_mapping(table: &toml::Table) -> Result<Mapping, String> {
    Mapping::parse(&table.to_string()).map_err(|error| error.to_string())
}

/// Path without the extension of a compression.
fn without_compression(path: &str) -> &str {
    let extension = Path::new(path).extension().and_then(|text| text.to_str());
    match extension {
        Some(text @ ("gz" | "bz2" | "zst" | "xz")) => {
            let length = path.len() - text.len() - 1;
            path.get(..length).unwrap_or(path)
        }
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_names_or_lists() {
        assert_eq!(GraphName::parse("gemm").unwrap().kernel, "gemm");
        let graph = GraphName::parse(r#"["gemm", {"M": 512}]"#).unwrap();
        assert_eq!(graph.kernel, "gemm");
        assert_eq!(graph.problem[0].0, "M");
        for wrong in ["", "[1]", "[\"a\", 2]", "[\"a\"", "[]"] {
            assert!(GraphName::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rules_apply_by_path_and_the_first_wins() {
        let mut naming = NamingOptions::default();
        let map = r#"
            time_column = "t"
            time_unit = "ms"
            [[file]]
            path = "a/*.json"
            platform = "P"
            [[file]]
            path = "*"
            platform = "Q"
            graph = "g"
        "#;
        naming.add_map(map).unwrap();
        let names = naming.names_of("x/a/b.json.gz");
        assert_eq!(names.platform.as_deref(), Some("P"));
        assert_eq!(names.graph.unwrap().kernel, "g");
        assert!(names.table.is_none());
        let table = naming.names_of("y.csv");
        assert_eq!(table.platform.as_deref(), Some("Q"));
        assert_eq!(table.table.unwrap().time_column, "t");
        naming.set_graph("h").unwrap();
        assert_eq!(naming.names_of("y.csv").graph.unwrap().kernel, "h");
    }

    #[test]
    fn wrong_maps_are_rejected_with_the_reason() {
        let error = |text: &str| NamingOptions::default().add_map(text).unwrap_err();
        assert!(error("[[file]]\npath = \"a\"\nx = 1").contains("unknown field"));
        assert!(error("time_column = \"t\"").contains("time_unit"));
        assert!(error("[[file]]\npath = \"a\"\ngraph = \"[1]\"").contains("not a graph"));
        assert!(error("[[file]]\npath = \"[\"").contains('['));
        assert!(error("=").contains("TOML"));
    }
}
