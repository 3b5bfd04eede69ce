//! Comparison as Markdown for a comment on a pull request.

use std::fmt::Write as _;

use tsql_verdicts::floor_classes::ClassFloor;
use tsql_verdicts::verdict::Reason;

use super::wording::{
    advice, change_with_interval, duration, outcome, pair_name, percent, signed_percent,
};
use crate::compare::comparison::{Change, ComparedSide, Comparison};

/// First line of the comment. A workflow finds its comment by it and updates that one.
pub const GITHUB_MARKER: &str = "<!-- tsql-compare -->";

/// Maximum number of characters of a comment.
const MAX_CHARS: usize = 65_536;

/// Characters that are left for the note about omitted rows.
const NOTE_CHARS: usize = 200;

/// Maximum number of characters of a name in a table.
const MAX_NAME_CHARS: usize = 100;

impl Comparison {
    /// Returns the comparison as Markdown of at most 65,536 characters. The first line is [`GITHUB_MARKER`].
    ///
    /// Rows are cut at the least important ones: unchanged pairs, then unclear, faster, slower. The last line states how
    /// many are missing.
    pub fn to_github(&self) -> String {
        let mut document = Document::default();
        document.line(GITHUB_MARKER);
        document.line(&format!("## {}", heading(self)));
        document.line("");
        document.line(&outcome(self));
        document.line("");
        write_sides(&mut document, self);
        write_anchors(&mut document, self);
        let of = |verdict: &str, list: &[Change]| -> Vec<Change> {
            let of_verdict = list.iter().filter(|change| change.verdict == verdict);
            of_verdict.cloned().collect()
        };
        // All pairs, if they were listed.
        let all = |list: &[Change], verdict: &str| {
            let listed = of(verdict, &self.pairs);
            let mut found = if listed.is_empty() {
                of(verdict, list)
            } else {
                listed
            };
            found.sort_by(|one, other| size(other).total_cmp(&size(one)));
            found
        };
        document.table("Slower", &all(&self.regressions, "slower"), self.all.slower);
        document.failures(&self.failures, self.newly_failing);
        document.table("Faster", &all(&self.gains, "faster"), self.all.faster);
        write_reasons(&mut document, self);
        write_floors(&mut document, self);
        document.folded("Unclear", &all(&self.unclear, "unclear"), self.all.unclear);
        document.folded("The same", &of("same", &self.pairs), self.all.same);
        document.finish()
    }
}

fn size(change: &Change) -> f64 {
    change.speedup.map_or(0.0, |speedup| speedup.ln().abs())
}

fn heading(found: &Comparison) -> String {
    format!("{} against {}", cell(&found.b.name), cell(&found.a.name))
}

fn write_sides(document: &mut Document, found: &Comparison) {
    document.line("| side | commit | days | platforms | records | failed |");
    document.line("|---|---|---|---|--:|--:|");
    for side in [&found.a, &found.b] {
        let ComparedSide {
            records,
            failed_records,
            ..
        } = side;
        let days = match (&side.first_day, &side.last_day) {
            (Some(first), Some(last)) if first == last => first.clone(),
            (Some(first), Some(last)) => format!("{first} to {last}"),
            _ => String::new(),
        };
        let commits = cell(&side.commits.join(", "));
        let platforms = cell(&side.platforms.join(", "));
        document.line(&format!(
            "| {} | {commits} | {days} | {platforms} | {records} | {failed_records} |",
            cell(&side.name)
        ));
    }
    document.line("");
    if let Some(speedup) = found.all.speedup {
        let interval = found.all.speedup_low.zip(found.all.speedup_high);
        let interval = interval.map_or_else(
            || "its interval is unknown".to_owned(),
            |(low, high)| format!("{low:.3} to {high:.3}"),
        );
        document.line(&format!(
            "Mean speedup of all pairs: {speedup:.3} ({interval})."
        ));
    }
    for shift in found.shifts.iter().filter(|shift| shift.has_moved) {
        let platform = shift.platform.as_deref().unwrap_or("the platform");
        document.line(&format!(
            "**{}**: {} of {} pairs moved one way (median {}). The machine may have changed.",
            cell(platform),
            percent(shift.moved),
            shift.pairs,
            signed_percent(shift.median)
        ));
    }
    document.line("");
}

fn write_anchors(document: &mut Document, found: &Comparison) {
    for anchor in &found.anchors {
        document.line(&format!(
            "Control program {}: {}, {}.",
            cell(&pair_name(anchor)),
            anchor.verdict,
            change_with_interval(anchor)
        ));
    }
}

fn write_reasons(document: &mut Document, found: &Comparison) {
    if found.unclear_reasons.is_empty() {
        return;
    }
    document.line("");
    document.line("| unclear | pairs | way to a verdict |");
    document.line("|---|--:|---|");
    for (reason, pairs) in &found.unclear_reasons {
        document.line(&format!(
            "| `{}` | {pairs} | {} |",
            reason.word(),
            advice(*reason)
        ));
    }
    let needed = found.unclear.iter().filter_map(|change| change.runs_needed);
    if let Some(most) = needed.max() {
        document.line("");
        document.line(&format!(
            "The unclear pairs with the largest changes need up to {most} runs on each side."
        ));
    }
}

fn write_floors(document: &mut Document, found: &Comparison) {
    let floors: &[ClassFloor] = &found.floors;
    if floors.is_empty() {
        if found.unclear_reasons.contains_key(&Reason::NoFloor) {
            document.line("");
            document
                .line("No noise floor: the store has too few repeated records on these platforms.");
        }
        return;
    }
    document.line("");
    let date = found.floor_date.as_ref();
    let date = date.map_or_else(String::new, |date| format!(", newest of {date}"));
    document.line(&format!(
        "<details><summary>Noise between runs ({} classes{date})</summary>\n",
        floors.len()
    ));
    document.line("| platform | duration | pairs | one run | between days |");
    document.line("|---|---|--:|--:|--:|");
    for floor in floors {
        let durations = floor.class.durations_ns().map_or_else(
            || "all".to_owned(),
            |(from, to)| format!("{} to {}", duration(from), duration(to)),
        );
        let days = floor
            .day_sigma
            .map_or_else(|| "unknown".to_owned(), percent);
        document.line(&format!(
            "| {} | {durations} | {} | {} | {days} |",
            cell(&floor.class.platform),
            floor.floor.pairs,
            percent(floor.floor.spread)
        ));
    }
    document.line("\n</details>");
}

/// Text of a table cell: one line, without Markdown, HTML and mentions, shortened.
fn cell(text: &str) -> String {
    let mut cell = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count >= MAX_NAME_CHARS {
            cell.push('…');
            break;
        }
        match letter {
            '&' => cell.push_str("&amp;"),
            '<' => cell.push_str("&lt;"),
            '>' => cell.push_str("&gt;"),
            '@' => cell.push_str("&#64;"),
            '#' => cell.push_str("&#35;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '~' => cell.extend(['\\', letter]),
            letter if letter.is_control() => cell.push(' '),
            letter => cell.push(letter),
        }
    }
    cell
}

/// A document with a maximum length.
#[derive(Default)]
struct Document {
    text: String,
    chars: usize,
    /// Number of rows that did not fit, or were not listed.
    omitted: u64,
}

impl Document {
    /// Appends a line if it fits; returns whether it does.
    fn try_line(&mut self, line: &str) -> bool {
        let chars = line.chars().count() + 1;
        if self.chars + chars > MAX_CHARS - NOTE_CHARS {
            return false;
        }
        self.chars += chars;
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    fn line(&mut self, line: &str) {
        self.try_line(line);
    }

    /// Appends a table of changes, of `total` in the comparison.
    fn table(&mut self, title: &str, changes: &[Change], total: u64) {
        if total == 0 {
            return;
        }
        self.line(&format!("\n### {title} ({total})\n"));
        self.rows(changes, total);
    }

    /// Appends a folded table of changes.
    fn folded(&mut self, title: &str, changes: &[Change], total: u64) {
        if total == 0 {
            return;
        }
        if changes.is_empty() {
            self.omitted += total;
            return;
        }
        self.line(&format!(
            "\n<details><summary>{title} ({total})</summary>\n"
        ));
        self.rows(changes, total);
        self.line("\n</details>");
    }

    fn rows(&mut self, changes: &[Change], total: u64) {
        self.line(
            "| program | before | after | change (95 %) | p | detectable | runs | days | reason |",
        );
        self.line("|---|--:|--:|--:|--:|--:|--:|--:|---|");
        let mut shown = 0;
        for change in changes {
            if !self.try_line(&row(change)) {
                break;
            }
            shown += 1;
        }
        self.omitted += total.saturating_sub(shown);
    }

    fn failures(&mut self, failures: &[Change], total: u64) {
        if total == 0 {
            return;
        }
        self.line(&format!("\n### Newly failing ({total})\n"));
        self.line("| program | before | error |");
        self.line("|---|--:|--:|");
        let mut shown = 0;
        for change in failures {
            let before = change.a_ns.map_or_else(String::new, duration);
            let error = change
                .error_no
                .map_or_else(String::new, |error| error.to_string());
            if !self.try_line(&format!("| {} | {before} | {error} |", program(change))) {
                break;
            }
            shown += 1;
        }
        self.omitted += total.saturating_sub(shown);
    }

    fn finish(mut self) -> String {
        if self.omitted > 0 {
            // The note is shorter than what was left for it.
            let _ = writeln!(
                self.text,
                "\n{} more rows are not shown. The format `json` lists all.",
                self.omitted
            );
        }
        self.text
    }
}

fn program(change: &Change) -> String {
    let platform = change.platform.as_ref();
    let platform = platform.map_or_else(String::new, |platform| format!(" ({})", cell(platform)));
    cell(&pair_name(change)) + &platform
}

fn row(change: &Change) -> String {
    let times = [change.a_ns, change.b_ns].map(|ns| ns.map_or_else(String::new, duration));
    let both = |a: Option<usize>, b: Option<usize>| {
        let counts = a.zip(b).map(|(a, b)| format!("{a}, {b}"));
        counts.unwrap_or_default()
    };
    let [before, after] = times;
    format!(
        "| {} | {before} | {after} | {} | {} | {} | {} | {} | {} |",
        program(change),
        change_with_interval(change),
        change
            .p_corrected
            .map_or_else(String::new, |p| format!("{p:.2e}")),
        change.detectable.map_or_else(String::new, percent),
        both(change.a_runs, change.b_runs),
        both(change.a_days, change.b_days),
        change.reason.map_or("", |reason| reason.word())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::comparison::{Regression, Summary};

    fn change(index: u32, verdict: &'static str, factor: f64) -> Change {
        Change {
            workload_key: format!("[\"mm|`@x`<b>\", {index}]"),
            steps: Some(format!("{{\"TILE\": {index}}}")),
            a_ns: Some(1e5),
            b_ns: Some(1e5 * factor),
            speedup: Some(1.0 / factor),
            change: Some(factor - 1.0),
            low: Some(factor - 1.01),
            high: Some(factor - 0.99),
            p_corrected: Some(1e-4),
            a_runs: Some(3),
            b_runs: Some(2),
            a_days: Some(1),
            b_days: Some(1),
            verdict,
            ..Change::default()
        }
    }

    fn comparison(pairs: Vec<Change>) -> Comparison {
        let count = |verdict| {
            pairs
                .iter()
                .filter(|change| change.verdict == verdict)
                .count() as u64
        };
        let (slower, faster) = (count("slower"), count("faster"));
        let mut found = Comparison {
            all: Summary {
                pairs: pairs.len() as u64,
                slower,
                faster,
                same: count("same"),
                unclear: count("unclear"),
                ..Summary::default()
            },
            regression: Some(Regression {
                allowed: 0.05,
                slower,
                ..Regression::default()
            }),
            pairs,
            ..Comparison::default()
        };
        found.a.name = "main".to_owned();
        found.b.name = "pull-17".to_owned();
        found
    }

    #[test]
    fn the_verdict_comes_first_and_names_are_escaped() {
        let text = comparison(vec![change(1, "slower", 1.2), change(2, "same", 1.0)]).to_github();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], GITHUB_MARKER);
        assert_eq!(lines[1], "## pull-17 against main");
        assert_eq!(
            lines[3],
            "**Regression**: 1 of 2 pairs slower by more than 5.0 %."
        );
        let row = lines.iter().find(|line| line.contains("+20.0 %")).unwrap();
        assert!(row.contains("mm\\|\\`&#64;x\\`&lt;b&gt;"), "{row}");
        assert!(
            row.contains("100 µs | 120 µs | +20.0 % (+19.0 % to +21.0 %) | 1.00e-4"),
            "{row}"
        );
        assert!(
            text.contains("<details><summary>The same (1)</summary>"),
            "{text}"
        );
        assert!(text.find("Slower (1)") < text.find("The same (1)"));
        let fine = comparison(vec![change(2, "same", 1.0)]).to_github();
        assert!(
            fine.contains("**No regression**: no pair of 1 is slower"),
            "{fine}"
        );
        assert!(
            comparison(Vec::new())
                .to_github()
                .contains("Nothing was compared")
        );
    }

    #[test]
    fn a_long_comment_is_cut_at_the_least_important_rows() {
        let mut pairs: Vec<Change> = (0..100).map(|index| change(index, "slower", 1.2)).collect();
        pairs.extend((0..1000).map(|index| change(index, "same", 1.0)));
        let text = comparison(pairs).to_github();
        assert!(
            text.chars().count() <= MAX_CHARS,
            "{}",
            text.chars().count()
        );
        let rows = |text: &str, mark: &str| text.lines().filter(|line| line.contains(mark)).count();
        assert_eq!(rows(&text, "+20.0 % ("), 100, "all slower pairs");
        let same = rows(&text, "| +0.0 % (");
        assert!(same > 100 && same < 1000, "{same}");
        let note = format!("{} more rows are not shown", 1000 - same);
        assert!(text.lines().last().unwrap().starts_with(&note), "{note}");
    }
}
