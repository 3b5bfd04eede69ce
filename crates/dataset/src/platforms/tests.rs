//! Facts that are set, replaced, unset and read beside those of environments.

use super::*;
use crate::demo::create_demo;

fn pairs(values: &[(&str, &str)]) -> Vec<(String, String)> {
    let values = values.iter();
    values
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

async fn row_count(store: &Store) -> u64 {
    store.row_count(PLATFORM_FACTS).await.unwrap()
}

#[tokio::test]
async fn the_newest_fact_is_valid_and_equal_ones_are_not_stored_again() {
    let store = create_demo().await.unwrap();
    let peak = |text: &str| pairs(&[("peak_flop_per_s", text)]);
    let both = pairs(&[("peak_flop_per_s", "1TFLOP/s"), ("cores", "2")]);
    let set = set_facts(&store, "epyc-1t", &both, "data sheet", Some("ann"));
    let set = set.await.unwrap();
    assert_eq!(
        (set.written.len(), set.unchanged, set.has_records),
        (2, 0, true)
    );
    let version = async || {
        store
            .snapshot(PLATFORM_FACTS)
            .await
            .unwrap()
            .unwrap()
            .version()
    };
    let before = version().await;
    // The same value in another unit, by another author.
    let again = pairs(&[("peak_flop_per_s", "1000 GFLOPS"), ("cores", "2")]);
    let again = set_facts(&store, "epyc-1t", &again, " data sheet ", None);
    assert_eq!(again.await.unwrap().unchanged, 2);
    assert_eq!(version().await, before);
    let slower = peak("0.9T");
    let measured = set_facts(&store, "epyc-1t", &slower, "matmul", None);
    assert_eq!(measured.await.unwrap().written.len(), 1);
    let facts = platform_facts(&store, "epyc-1t").await.unwrap();
    let valid = facts.iter().find(|fact| fact.fact == "peak_flop_per_s");
    let valid = valid.unwrap();
    assert_eq!(valid.value, FactValue::Number(0.9e12));
    assert_eq!(valid.source, "matmul");
    assert_eq!(row_count(&store).await, 3);
    // An earlier value can be set again, and all values are removed together.
    let first = peak("1T");
    let first = set_facts(&store, "epyc-1t", &first, "data sheet", None);
    assert_eq!(first.await.unwrap().written.len(), 1);
    unset_fact(&store, "epyc-1t", "peak_flop_per_s")
        .await
        .unwrap();
    assert_eq!(row_count(&store).await, 1);
    let none = unset_fact(&store, "epyc-1t", "peak_flop_per_s").await;
    let none = none.unwrap_err().to_string();
    assert!(
        none.starts_with("peak_flop_per_s of platform `epyc-1t` was not set\nhint: "),
        "{none}"
    );
}

#[tokio::test]
async fn facts_of_environments_are_valid_until_they_are_set() {
    let store = create_demo().await.unwrap();
    let environment = platform_facts(&store, "epyc-2t").await.unwrap();
    for fact in &environment {
        assert!(fact.source.starts_with("environment "), "{fact:?}");
        assert_eq!((fact.set_at_us, &fact.author), (None, &None));
    }
    let cores = |facts: &[PlatformFact]| {
        let found = facts.iter().find(|fact| fact.fact == "cores").cloned();
        found.map(|fact| (fact.value, fact.source))
    };
    let stated = cores(&environment).unwrap();
    let own = pairs(&[("cores", "999")]);
    let set = set_facts(&store, "epyc-2t", &own, "counted", None);
    set.await.unwrap();
    let facts = platform_facts(&store, "epyc-2t").await.unwrap();
    let wanted = (FactValue::Number(999.0), "counted".to_owned());
    assert_eq!(cores(&facts), Some(wanted));
    assert_eq!(facts.len(), environment.len());
    unset_fact(&store, "epyc-2t", "cores").await.unwrap();
    let facts = platform_facts(&store, "epyc-2t").await.unwrap();
    assert_eq!(cores(&facts), Some(stated));
}

#[tokio::test]
async fn invalid_facts_leave_the_store_unchanged() {
    let store = create_demo().await.unwrap();
    for (values, source) in [
        (pairs(&[("cores", "4"), ("clock_hz", "-1GHz")]), "x"),
        (pairs(&[("cores", "4"), ("speed", "9")]), "x"),
        (pairs(&[("cores", "4")]), " "),
        (Vec::new(), "x"),
    ] {
        let set = set_facts(&store, "epyc-1t", &values, source, None);
        set.await.unwrap_err();
    }
    assert!(store.snapshot(PLATFORM_FACTS).await.unwrap().is_none());
    // A platform without records may have facts.
    let later = pairs(&[("vendor", "Acme")]);
    let set = set_facts(&store, "o'later", &later, "x", None);
    assert!(!set.await.unwrap().has_records);
    let facts = platform_facts(&store, "o'later").await.unwrap();
    assert_eq!(facts.len(), 1);
    let unknown = platform_facts(&store, "never").await.unwrap_err();
    assert!(matches!(unknown, Error::Unknown { .. }), "{unknown}");
}
