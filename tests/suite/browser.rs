//! The page of `tsql ui` and the file of `tsql page` in Chromium.

use crate::engines::{python, run};

#[test]
fn pages_work_in_a_browser() {
    let is_required = std::env::var_os("TSQL_REQUIRE_BROWSER").is_some();
    let Some(python) = python() else {
        assert!(!is_required, "no Python with selenium");
        return;
    };
    let shots = std::env::var("TSQL_TEST_SHOTS");
    let mut args = vec![env!("CARGO_BIN_EXE_tsql")];
    args.extend(shots.as_deref());
    let told = run(&python, "browser.py", &args);
    if let Some(why) = told["skipped"].as_str() {
        assert!(!is_required, "{why}");
        eprintln!("skipped: {why}");
        return;
    }
    // Six views of `tsql ui`, and the page: at three widths, on one or two papers.
    assert_eq!(told["looked"].as_array().unwrap().len(), 3 * 2 * 4 + 3 * 2);
}
