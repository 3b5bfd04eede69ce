//! Store markers, and settings files beside stores.

use crate::support::{Place, log};

const COUNT: &str = "SELECT count(*) FROM records";

#[test]
fn a_settings_file_makes_no_store() {
    let place = Place::new();
    let settings = "[bucket.measurements]\nprofile = \"lab\"\n";
    for folder in [".", "p", "p/deep"] {
        place.write(&format!("{folder}/tsql.toml"), settings);
    }
    place.write("p/a.json", log(1, 3));
    place.write("p/deep/b.json", log(100, 4));
    let none = place.tsql(&[COUNT]);
    assert!(
        none.stderr.contains("there is no store here"),
        "{}",
        none.stderr
    );
    let named = place.tsql(&["--store", "p", COUNT]);
    assert!(
        named.stderr.contains("`p` is not a tsql store"),
        "{}",
        named.stderr
    );
    // A store among the inputs is no input. A folder with settings is one.
    place.ok(&["init", "p/inner"]);
    place.write("p/inner/c.json", log(200, 5));
    place.ok(&["ingest", "-q", "--platform", "x", "p"]);
    assert_eq!(place.rows(COUNT), ["7"]);
    assert!(place.path().join(".tsql/tsql-store.toml").is_file());
    let below = place
        .command(&[COUNT])
        .current_dir(place.path().join("p/deep"))
        .output();
    assert_eq!(below.unwrap().stdout, b"count(*)\n7\n");
}

/// `tsql.toml` is the marker of the first store format.
#[test]
fn a_store_with_the_first_marker_is_found_and_writable() {
    let place = Place::new();
    place.write("p/a.json", log(1, 3));
    place.ok(&["ingest", "-q", "p"]);
    let marker = |name: &str| place.path().join(".tsql").join(name);
    std::fs::rename(marker("tsql-store.toml"), marker("tsql.toml")).unwrap();
    assert_eq!(place.rows(COUNT), ["3"]);
    place.write("p/b.json", log(100, 4));
    place.ok(&["ingest", "-q", "--platform", "p", "p/b.json"]);
    place.ok(&["optimize"]);
    assert_eq!(place.rows(COUNT), ["7"]);
    assert!(marker("tsql.toml").is_file() && !marker("tsql-store.toml").exists());
    let again = place.tsql(&["init"]);
    assert!(
        again.stderr.contains("is a tsql store already"),
        "{}",
        again.stderr
    );
    // The marker is not a settings file.
    let inside = place
        .command(&["--store", "s3://measurements/x", COUNT])
        .current_dir(place.path().join(".tsql"))
        .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        .env("TSQL_RETRY_S", "0")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&inside.stderr);
    assert!(!stderr.contains("tsql.toml"), "{stderr}");
}

#[test]
fn an_interrupted_init_blocks_nothing() {
    let place = Place::new();
    place.write(".tsql/tsql-store.toml#1", "form");
    place.ok(&["init"]);
    assert_eq!(place.rows(COUNT), ["0"]);
    place.write("other/tsql-store.toml#1", "");
    place.write("other/notes.txt", "");
    let ran = place.tsql(&["init", "other"]);
    assert!(ran.stderr.contains("is not empty"), "{}", ran.stderr);
}

/// Queries an unreachable bucket, and returns the error output. Errors in settings come first.
fn query_stderr(place: &Place, settings: Option<&str>) -> String {
    let mut command = place.command(&["--store", "s3://measurements/x", COUNT]);
    command.env("HOME", place.path().join("home"));
    command.env("AWS_EC2_METADATA_DISABLED", "true");
    command.env("TSQL_RETRY_S", "0");
    if let Some(settings) = settings {
        command.env("TSQL_CONFIG", settings);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn invalid_settings_are_reported_with_their_position() {
    let place = Place::new();
    place.write(
        "tsql.toml",
        "# here\n[bucket.measurements]\nendpiont = \"http://127.0.0.1:9\"\n",
    );
    let stderr = query_stderr(&place, None);
    assert!(
        stderr.starts_with("error: tsql.toml:3: unknown field `endpiont`"),
        "{stderr}"
    );
    place.write("other.toml", "[buckets.measurements]\n");
    let stderr = query_stderr(&place, Some("other.toml"));
    assert!(
        stderr.starts_with("error: other.toml:1: unknown field `buckets`"),
        "{stderr}"
    );
    let stderr = query_stderr(&place, Some("missing.toml"));
    assert!(stderr.starts_with("error: missing.toml: "), "{stderr}");
    std::fs::remove_file(place.path().join("tsql.toml")).unwrap();
    place.write(
        "home/.config/tsql/tsql.toml",
        "[bucket.measurements]\nregio = \"x\"\n",
    );
    let stderr = query_stderr(&place, None);
    assert!(
        stderr.contains(".config/tsql/tsql.toml:2: unknown field `regio`"),
        "{stderr}"
    );
}

/// A settings file in the working directory starts no program of the user.
#[cfg(unix)]
#[test]
fn settings_in_the_working_directory_run_no_program() {
    let place = Place::new();
    let ran = place.path().join("ran");
    let program = format!(
        "[profile lab]\nsource_profile = inner\nrole_arn = x\n[profile inner]\ncredential_process = touch {}\n",
        ran.display()
    );
    place.write("home/.aws/config", program);
    let settings = "[bucket.measurements]\nendpoint = \"http://127.0.0.1:9\"\nprofile = \"inner\"\nregion = \"x\"\n";
    for profile in ["inner", "lab"] {
        place.write("tsql.toml", settings.replace("inner", profile));
        let stderr = query_stderr(&place, None);
        assert!(
            stderr.contains("runs a program for its credentials"),
            "{stderr}"
        );
        assert!(!ran.exists(), "the program of the profile `{profile}` ran");
    }
    // A settings file that the user names may start programs.
    place.write("tsql.toml", settings);
    let stderr = query_stderr(&place, Some("tsql.toml"));
    assert!(ran.exists(), "{stderr}");
}

/// Only root can give a file to another user.
#[cfg(unix)]
#[test]
fn settings_of_another_user_are_rejected() {
    let place = Place::new();
    let file = place.write(
        "tsql.toml",
        "[bucket.measurements]\nendpoint = \"http://127.0.0.1:9\"\n",
    );
    if std::os::unix::fs::chown(&file, Some(65_534), None).is_err() {
        eprintln!("skipped: no file can be given to another user");
        return;
    }
    let stderr = query_stderr(&place, None);
    assert!(
        stderr.contains("belong to another user") && stderr.contains("TSQL_CONFIG=tsql.toml"),
        "{stderr}"
    );
    assert!(!query_stderr(&place, Some("tsql.toml")).contains("another user"));
}
