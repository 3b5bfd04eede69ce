//! Comparison as JUnit XML.

use std::fmt::Write as _;

use super::wording::{advice, change_with_interval, pair_name, percent};
use crate::compare::comparison::{Change, Comparison};

impl Comparison {
    /// Returns the comparison as JUnit XML: a case for each listed pair
    /// ([`CompareOptions::max_pairs`](crate::compare::CompareOptions::max_pairs)), whose time is the new median in
    /// seconds.
    ///
    /// A slower pair is a failure, a newly failing one an error, and an unclear one is skipped with its reason. Change,
    /// interval and p are properties.
    pub fn to_junit(&self) -> String {
        let allowed = self.regression.map_or(self.minimum_change, |regression| {
            regression.allowed.max(self.minimum_change)
        });
        let is_failure = |change: &&Change| {
            let is_large = change.change.is_some_and(|change| change >= allowed);
            change.verdict == "slower" && is_large
        };
        let failures = self.pairs.iter().filter(is_failure).count();
        let skipped = self
            .pairs
            .iter()
            .filter(|change| change.verdict == "unclear");
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let tests = self.pairs.len() + self.failures.len();
        let name = format!("{} against {}", self.b.name, self.a.name);
        let _ = writeln!(
            xml,
            "<testsuites>\n<testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{}\" skipped=\"{}\">",
            escaped(&name),
            self.failures.len(),
            skipped.count()
        );
        for change in &self.pairs {
            write_case(&mut xml, change, is_failure(&change));
        }
        for change in &self.failures {
            let error = change
                .error_no
                .map_or_else(String::new, |error| error.to_string());
            write_start(&mut xml, change);
            let _ = writeln!(
                xml,
                "<error type=\"newly_failing\" message=\"works in A and fails in B with error {error}\"/>\n</testcase>"
            );
        }
        xml.push_str("</testsuite>\n</testsuites>\n");
        xml
    }
}

fn write_start(xml: &mut String, change: &Change) {
    let seconds = change.b_ns.unwrap_or(0.0) / 1e9;
    let class = change.platform.as_deref().unwrap_or("compare");
    let _ = writeln!(
        xml,
        "<testcase classname=\"{}\" name=\"{}\" time=\"{seconds:.9}\">",
        escaped(class),
        escaped(&pair_name(change))
    );
}

fn write_case(xml: &mut String, change: &Change, is_failure: bool) {
    write_start(xml, change);
    xml.push_str("<properties>\n");
    let numbers = [
        ("change", change.change),
        ("low", change.low),
        ("high", change.high),
        ("p", change.p),
        ("p_corrected", change.p_corrected),
        ("detectable", change.detectable),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            let _ = writeln!(xml, "<property name=\"{name}\" value=\"{number}\"/>");
        }
    }
    let _ = writeln!(
        xml,
        "<property name=\"verdict\" value=\"{}\"/>",
        change.verdict
    );
    xml.push_str("</properties>\n");
    if is_failure {
        let message = escaped(&change_with_interval(change));
        let _ = writeln!(
            xml,
            "<failure type=\"slower\" message=\"slower by {message}\"/>"
        );
    } else if change.verdict == "unclear" {
        let reason = change.reason.map_or_else(
            || "unclear".to_owned(),
            |reason| format!("{}: {}", reason.word(), advice(reason)),
        );
        let detectable = change.detectable.map_or_else(String::new, |change| {
            format!("; detectable change {}", percent(change))
        });
        let message = escaped(&(reason + &detectable));
        let _ = writeln!(xml, "<skipped message=\"{message}\"/>");
    }
    xml.push_str("</testcase>\n");
}

/// Escapes a text for an attribute. Characters that XML 1.0 does not allow become `?`.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\n' | '\r' | '\t' => escaped.push(' '),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('?');
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use tsql_verdicts::verdict::Reason;

    use super::*;

    #[test]
    fn each_verdict_has_its_element() {
        let change = |verdict, size: f64| Change {
            workload_key: "a <\"mm\"> & \u{1}b".to_owned(),
            b_ns: Some(2500.0),
            change: Some(size),
            low: Some(size - 0.01),
            high: Some(size + 0.01),
            verdict,
            ..Change::default()
        };
        let unclear = Change {
            reason: Some(Reason::NoFloor),
            ..change("unclear", 0.0)
        };
        let found = Comparison {
            minimum_change: 0.02,
            pairs: vec![change("slower", 0.1), change("same", 0.0), unclear],
            failures: vec![Change {
                error_no: Some(4),
                ..change("failed", 0.0)
            }],
            ..Comparison::default()
        };
        let xml = found.to_junit();
        assert!(
            xml.contains("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""),
            "{xml}"
        );
        assert!(
            xml.contains("name=\"a &lt;&quot;mm&quot;&gt; &amp; ?b\" time=\"0.000002500\""),
            "{xml}"
        );
        assert!(xml.contains(
            "<failure type=\"slower\" message=\"slower by +10.0 % (+9.0 % to +11.0 %)\"/>"
        ));
        assert!(xml.contains("<skipped message=\"no_floor: "), "{xml}");
        assert!(xml.contains("<error type=\"newly_failing\""), "{xml}");
        assert!(
            xml.contains("<property name=\"change\" value=\"0.1\"/>"),
            "{xml}"
        );
        assert_eq!(
            xml.matches("<testcase ").count(),
            xml.matches("</testcase>").count()
        );
    }
}
