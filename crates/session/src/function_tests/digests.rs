use tsql_dataset::demo::create_demo;

use crate::open_session;

/// Expected values are from Python's `hashlib` and `xxhash`.
#[tokio::test]
async fn hashes_are_those_of_other_programs() {
    let context = open_session(&create_demo().await.unwrap()).await.unwrap();
    for (text, expected) in [
        (
            "''",
            "3244421341483603138 d41d8cd98f00b204e9800998ecf8427e e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ),
        (
            "'abc'",
            "8696274497037089104 900150983cd24fb0d6963f7d28e17f72 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            "'ü'",
            "6748675957732712302 c03410a5204b21cd8229ff754688d743 607474ca475a9724d7360aba71a56d5df77e61350e3f724cfa1f46e857e2d85f",
        ),
    ] {
        let sql = format!("SELECT concat_ws(' ', xxh3_64({text}), md5({text}), sha256({text}))");
        let rows = tsql_dialect::collect(&context, &sql).await.unwrap();
        let told = arrow::util::pretty::pretty_format_batches(&rows);
        assert!(told.unwrap().to_string().contains(expected), "{text}");
    }
    let none = "SELECT concat(xxh3_64(NULL), md5(NULL), sha256(NULL)) AS none";
    let rows = tsql_dialect::collect(&context, none).await.unwrap();
    let told = arrow::util::pretty::pretty_format_batches(&rows);
    assert!(!told.unwrap().to_string().contains('1'));
}
