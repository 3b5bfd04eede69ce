//! Dataset card: `README.md`, whose front matter tells Hugging Face which files belong to which table.

use tsql_store::atomic_output::CHECKSUMS;

use super::dataset::{Dataset, DatasetTable, with_thousands_separators};
use super::facts::FactTable;
use super::publication::{CARD, CROISSANT};

/// Licences with the same name at Hugging Face and SPDX, in lower case.
const LICENSES: [&str; 16] = [
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC-BY-4.0",
    "CC-BY-NC-4.0",
    "CC-BY-NC-ND-4.0",
    "CC-BY-NC-SA-4.0",
    "CC-BY-ND-4.0",
    "CC-BY-SA-4.0",
    "CC0-1.0",
    "CDLA-Permissive-1.0",
    "CDLA-Permissive-2.0",
    "CDLA-Sharing-1.0",
    "MIT",
    "MPL-2.0",
    "Unlicense",
];

/// Lower bounds of Hugging Face's size categories.
const SIZES: [(u64, &str); 6] = [
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
];

/// Renders the card.
pub(super) fn render_card(dataset: &Dataset) -> String {
    let mut text = front_matter(dataset);
    let mut say = |part: &str| {
        text.push_str(part);
        text.push('\n');
    };
    say(&format!("# {}\n\n{}\n", dataset.title, dataset.description));
    for line in about_lines(dataset) {
        say(&line);
    }
    say("\n## Tables\n");
    say(&markdown_table(&table_overview(&dataset.tables)));
    say(&format!(
        "`{CROISSANT}` and the metadata of the Parquet files describe each column with its unit \
         and reference. Ids are 64-bit hashes; do not convert them to floating point.\n"
    ));
    for fact in &dataset.facts.counts {
        say(&render_section("##", fact));
    }
    if !dataset.facts.measured.is_empty() {
        say("## Measurement\n");
    }
    for fact in &dataset.facts.measured {
        say(&render_section("###", fact));
    }
    say(&loading_section(dataset));
    say(&format!(
        "## Verification\n\n\
         `{}` contains the SHA-256 of each file: `sha256sum -c {}` or `tsql verify .` compares \
         them.\n",
        CHECKSUMS, CHECKSUMS
    ));
    say("## License\n");
    say(&dataset.license.as_ref().map_or_else(
        || "Not stated. Contact the authors.\n".to_owned(),
        |license| format!("{license}\n"),
    ));
    say("## Citation\n");
    say(&dataset.citation.as_ref().map_or_else(
        || "Not stated.".to_owned(),
        |citation| {
            code_block(
                if citation.starts_with('@') {
                    "bibtex"
                } else {
                    ""
                },
                citation,
            )
        },
    ));
    text
}

/// Renders the YAML front matter. Values are JSON strings, which are valid YAML.
fn front_matter(dataset: &Dataset) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut lines = vec![
        "---".to_owned(),
        format!("pretty_name: {}", quoted(&dataset.title)),
    ];
    if let Some(license) = &dataset.license {
        if LICENSES.contains(&license.as_str()) {
            lines.push(format!("license: {}", license.to_ascii_lowercase()));
        } else {
            lines.push("license: other".to_owned());
            lines.push(format!(
                "license_name: {}",
                quoted(&license.to_ascii_lowercase())
            ));
        }
    }
    let rows = dataset.table("records").map_or(0, DatasetTable::rows);
    let size = SIZES.iter().find(|(count, _)| rows < *count);
    lines.push("size_categories:".to_owned());
    lines.push(format!("- {}", size.map_or("100M<n<1B", |(_, size)| size)));
    lines.push("tags:".to_owned());
    let datasets = dataset.facts.datasets();
    let tags = ["tensor-programs", "performance", "croissant"].into_iter();
    lines.extend(
        tags.chain(datasets.iter().map(String::as_str))
            .map(|tag| format!("- {tag}")),
    );
    lines.push("configs:".to_owned());
    let mut tables: Vec<&DatasetTable> = dataset.tables.iter().collect();
    tables.sort_by_key(|table| table.shown.name != "records");
    for (place, table) in tables.into_iter().enumerate() {
        lines.push(format!("- config_name: {}", table.shown.name));
        lines.push(format!("  data_files: {}", quoted(&table.pattern())));
        if place == 0 {
            lines.push("  default: true".to_owned());
        }
    }
    lines.push("---\n\n".to_owned());
    lines.join("\n")
}

/// Returns the lines about authors, dates and links.
fn about_lines(dataset: &Dataset) -> Vec<String> {
    let authors = Some(dataset.authors.join(", ")).filter(|authors| !authors.is_empty());
    let told = [
        ("Version", dataset.version.clone()),
        ("Authors", authors),
        ("Published", dataset.date.clone()),
        ("Newest data", dataset.newest.clone()),
        ("Page", dataset.url.clone()),
        ("License", dataset.license.clone()),
    ];
    let told = told
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let lines = told.map(|(name, value)| format!("- {name}: {value}"));
    let made = format!(
        "- Created with: tsql {} (`tsql publish`)",
        env!("CARGO_PKG_VERSION")
    );
    lines.chain([made]).collect()
}

fn table_overview(tables: &[DatasetTable]) -> FactTable {
    let row = |table: &DatasetTable| {
        let shown = &table.shown;
        vec![
            format!("`{}`", shown.name),
            with_thousands_separators(table.rows()),
            table.files.len().to_string(),
            with_thousands_separators(table.bytes()),
            shown.doc.clone(),
        ]
    };
    FactTable {
        title: "Tables",
        note: "",
        columns: ["table", "rows", "files", "bytes", "one row"]
            .map(str::to_owned)
            .to_vec(),
        rows: tables.iter().map(row).collect(),
    }
}

fn render_section(level: &str, fact: &FactTable) -> String {
    format!(
        "{level} {}\n\n{}\n\n{}",
        fact.title,
        fact.note,
        markdown_table(fact)
    )
}

fn markdown_table(fact: &FactTable) -> String {
    let cell = |text: &String| text.replace('|', "\\|").replace(['\n', '\r'], " ");
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(cell).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule: Vec<String> = fact.columns.iter().map(|_| "---".to_owned()).collect();
    let rows = fact.rows.iter().map(|row| line(row));
    line(&fact.columns) + &line(&rule) + &rows.collect::<String>()
}

/// Renders examples that load the dataset from the folder of the card.
fn loading_section(dataset: &Dataset) -> String {
    let table = dataset.table("records").or(dataset.tables.first());
    let Some(table) = table else {
        return String::new();
    };
    let (name, pattern) = (&table.shown.name, table.pattern());
    let python = format!(
        "import pyarrow.parquet as pq\n\
         table = pq.read_table(\"{name}\")\n\n\
         import duckdb\n\
         duckdb.sql(\"SELECT count(*) FROM '{pattern}'\")\n\n\
         import datasets  # one table at a time: DIR is the folder of this file\n\
         datasets.load_dataset(\"parquet\", data_dir=\"DIR/{name}\", split=\"train\")\n\
         datasets.load_dataset(\"DIR\", \"{name}\", split=\"train\")\n\n\
         import mlcroissant\n\
         mlcroissant.Dataset(\"{CROISSANT}\").records(\"{name}\")"
    );
    let partitioned = "The folders of a partitioned table have the values of its first columns as \
        names, or numbers for values that are not valid folder names. The files have these \
        columns, too.";
    format!(
        "## Loading\n\nEach table is a folder of Parquet files; this file is `{CARD}`. {partitioned}\n\n{}",
        code_block("python", &python)
    )
}

fn code_block(language: &str, text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{text}\n{fence}\n")
}
