//! The web UI and the HTML report in Chromium.

use crate::engines::{python, run};

#[test]
#[ignore = "full tier"]
fn pages_work_in_a_browser() {
    let is_required = std::env::var_os("TSQL_REQUIRE_BROWSER").is_some();
    let Some(python) = python() else {
        assert!(!is_required, "no Python with selenium");
        return;
    };
    let shots = std::env::var("TSQL_TEST_SHOTS");
    let mut args = vec![env!("CARGO_BIN_EXE_tsql")];
    args.extend(shots.as_deref());
    let report = run(&python, "browser.py", &args);
    if let Some(reason) = report["skipped"].as_str() {
        assert!(!is_required, "{reason}");
        eprintln!("skipped: {reason}");
        return;
    }
    // Views of the web UI, and the report: at three widths, in one or two themes.
    assert_eq!(
        report["looked"].as_array().unwrap().len(),
        3 * 2 * 5 + 3 * 2
    );
}
