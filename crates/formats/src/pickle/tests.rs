//! Pickles written by hand and by Python 3.11; the Python program is in a comment next to each.

use super::{Error, MAX_VALUES, Pickle, Value, read};

/// Formats a pickle like Python's `repr`, up to a depth.
fn format_value(pickle: &Pickle, id: super::Id, depth: usize) -> String {
    if depth == 0 {
        return "...".to_owned();
    }
    let format_item = |id: &super::Id| format_value(pickle, *id, depth - 1);
    let format_items =
        |ids: &[super::Id]| ids.iter().map(format_item).collect::<Vec<_>>().join(", ");
    let pairs = |pairs: &[(super::Id, super::Id)]| {
        let pairs = pairs
            .iter()
            .map(|(key, value)| format!("{}: {}", format_item(key), format_item(value)));
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
    };
    match pickle.get(id) {
        Value::None => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Wide(bytes) => format!("wide{bytes:?}"),
        Value::Digits(digits) => digits.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Text(text) => format!("{text:?}"),
        Value::Bytes(bytes) => format!("b{bytes:?}"),
        Value::ByteArray(bytes) => format!("bytearray{bytes:?}"),
        Value::List(items) => format!("[{}]", format_items(items)),
        Value::Tuple(items) => format!("({})", format_items(items)),
        Value::Dict(entries) => pairs(entries),
        Value::Set(items) => format!("{{{}}}", format_items(items)),
        Value::FrozenSet(items) => format!("frozenset({})", format_items(items)),
        Value::Global { .. } => {
            let (module, name) = pickle.global(id).unwrap();
            format!("<{module}.{name}>")
        }
        Value::Object(object) => {
            let mut text = format!(
                "{}{}",
                format_item(&object.class),
                format_item(&object.arguments)
            );
            if let Some(keyword_arguments) = &object.named {
                text += &format!("**{}", format_item(keyword_arguments));
            }
            if let Some(state) = &object.state {
                text += &format!(" state {}", format_item(state));
            }
            if !object.items.is_empty() {
                text += &format!(" items [{}]", format_items(&object.items));
            }
            if !object.entries.is_empty() {
                text += &format!(" entries {}", pairs(&object.entries));
            }
            text
        }
    }
}

fn show(bytes: &[u8]) -> String {
    let pickle = read(bytes).unwrap();
    assert_eq!(pickle.length(), bytes.len());
    format_value(&pickle, pickle.root(), 9)
}

fn read_error(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn what_python_writes_is_read_in_every_protocol() {
    // pickle.dumps([None, True, -7, 70000, 2**40, 2**70, 0.5, "ä", b"\xff\x00", (1,), {"k": [2]}], protocol=n)
    let wide = "wide[0, 0, 0, 0, 0, 0, 0, 0, 64]";
    let expected = |large: &str, bytes: &str| {
        format!(
            "[None, True, -7, 70000, 1099511627776, {large}, 0.5, \"ä\", {bytes}, (1), {{\"k\": [2]}}]"
        )
    };
    let encoded = "<_codecs.encode>(\"ÿ\\0\", \"latin1\")";
    let text = b"(lp0\nNaI01\naI-7\naI70000\naL1099511627776L\naL1180591620717411303424L\naF0.5\naV\xe4\np1\n\
        ac_codecs\nencode\np2\n(V\xff\\u0000\np3\nVlatin1\np4\ntp5\nRp6\na(I1\ntp7\na(dp8\nVk\np9\n(lp10\n\
        I2\nasa.";
    assert_eq!(show(text), expected("1180591620717411303424", encoded));
    let two = b"\x80\x02]q\x00(N\x88J\xf9\xff\xff\xffJp\x11\x01\x00\x8a\x06\x00\x00\x00\x00\x00\x01\x8a\t\x00\
        \x00\x00\x00\x00\x00\x00\x00@G?\xe0\x00\x00\x00\x00\x00\x00X\x02\x00\x00\x00\xc3\xa4q\x01c_codecs\n\
        encode\nq\x02X\x03\x00\x00\x00\xc3\xbf\x00q\x03X\x06\x00\x00\x00latin1q\x04\x86q\x05Rq\x06K\x01\x85\
        q\x07}q\x08X\x01\x00\x00\x00kq\t]q\nK\x02ase.";
    assert_eq!(show(two), expected(wide, encoded));
    let five = b"\x80\x05\x95G\x00\x00\x00\x00\x00\x00\x00]\x94(N\x88J\xf9\xff\xff\xffJp\x11\x01\x00\x8a\x06\
        \x00\x00\x00\x00\x00\x01\x8a\t\x00\x00\x00\x00\x00\x00\x00\x00@G?\xe0\x00\x00\x00\x00\x00\x00\x8c\x02\
        \xc3\xa4\x94C\x02\xff\x00\x94K\x01\x85\x94}\x94\x8c\x01k\x94]\x94K\x02ase.";
    assert_eq!(show(five), expected(wide, "b[255, 0]"));
}

#[test]
fn every_operation_that_pushes() {
    for (bytes, value) in [
        (&b"I00\n."[..], "False"),
        (b"I12345678901234567890123\n.", "12345678901234567890123"),
        (b"L-5L\n.", "-5"),
        (b"F-1e3\n.", "-1000.0"),
        (b"M\x01\x02.", "513"),
        (b"\x8a\x00.", "0"),
        (b"\x8a\x01\xff.", "-1"),
        (
            b"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00.",
            "wide[255, 255, 255, 255, 255, 255, 255, 255, 0]",
        ),
        (b"\x8a\x0a\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff.", "-2"),
        (b"\x8b\x02\x00\x00\x00\x00\x01.", "256"),
        (b"S'a\\x41\\n\\101\\'\\q'\n.", "\"aA\\nA'\\\\q\""),
        (b"U\x02\xff\x00.", "b[255, 0]"),
        (b"T\x02\x00\x00\x00ab.", "\"ab\""),
        (b"V\\u00e9\\U0001f600\xe9\n.", "\"é😀é\""),
        (b"\x8d\x01\x00\x00\x00\x00\x00\x00\x00a.", "\"a\""),
        (b"B\x01\x00\x00\x00a.", "b[97]"),
        (b"\x8e\x01\x00\x00\x00\x00\x00\x00\x00a.", "b[97]"),
        (b"\x96\x01\x00\x00\x00\x00\x00\x00\x00a.", "bytearray[97]"),
        (b"\x89.", "False"),
        (b")].", "[]"),
        (b"(K\x01K\x02l.", "[1, 2]"),
        (b"(K\x01K\x02d.", "{1: 2}"),
        (b"(K\x01K\x02t.", "(1, 2)"),
        (b"K\x01K\x02K\x03\x87.", "(1, 2, 3)"),
        (b"\x8f(K\x01K\x02\x90.", "{1, 2}"),
        (b"(K\x01\x91.", "frozenset(1)"),
        (b"K\x01K\x020.", "1"),
        (b"K\x01(K\x02K\x031.", "1"),
        (b"K\x01(0.", "1"),
        (b"K\x072\x86.", "(7, 7)"),
        (b"]p7\ng7\n\x86.", "([], [])"),
    ] {
        assert_eq!(show(bytes), value, "{bytes:?}");
    }
}

#[test]
fn calls_are_recorded() {
    for (bytes, value) in [
        // Result of `__reduce__` of a malicious object.
        (
            &b"cos\nsystem\n(S'rm -rf /'\ntR."[..],
            "<os.system>(\"rm -rf /\")",
        ),
        (
            b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.",
            "<os.system>(\"ls\")",
        ),
        (b"(S'ls'\nios\nsystem\n.", "<os.system>(\"ls\")"),
        (b"(cos\nsystem\nS'ls'\no.", "<os.system>(\"ls\")"),
        (b"cm\nC\n)\x81}S'x'\nK\x01sb.", "<m.C>() state {\"x\": 1}"),
        (b"cm\nC\n)}S'x'\nK\x01s\x92.", "<m.C>()**{\"x\": 1}"),
        (b"cm\nC\n)R)R.", "<m.C>()()"),
        (
            b"ccollections\nOrderedDict\n)R(K\x01K\x02u.",
            "<collections.OrderedDict>() entries {1: 2}",
        ),
        (
            b"ccollections\ndeque\n)R(K\x01e.",
            "<collections.deque>() items [1]",
        ),
    ] {
        assert_eq!(show(bytes), value, "{bytes:?}");
    }
}

#[test]
fn invalid_pickles_are_rejected_at_their_position() {
    for (bytes, reason) in [
        (&b""[..], "byte 0: the pickle is incomplete"),
        (b"]", "byte 1: the pickle is incomplete"),
        (b".", "byte 0: the stack has no value"),
        (b"]\xfe.", "byte 1: unknown pickle operation 0xfe"),
        (b"\x80\x06N.", "byte 0: protocol 6, expected at most 5"),
        (
            b"\x80\x04X\xff\xff\xff\xffab",
            "byte 2: 4294967295 bytes expected, 2 are left",
        ),
        (
            b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffab",
            "byte 0: 18446744073709551615 bytes expected, 2 are left",
        ),
        (
            b"\x95\x09\x00\x00\x00\x00\x00\x00\x00N.",
            "byte 0: 9 bytes expected, 2 are left",
        ),
        (
            b"\x8b\xff\xff\xff\xffab",
            "byte 0: a length of -1 bytes, expected 0 or more",
        ),
        (
            b"Nj\xff\xff\xff\xff.",
            "byte 1: the memo has no entry 4294967295",
        ),
        (b"Ng-1\n.", "byte 1: \"-1\" is not a memo index"),
        (b"\x94.", "byte 0: the stack has no value"),
        (b"K\x01(\x85.", "byte 3: the stack has no value"),
        (b"Kt", "byte 2: the pickle is incomplete"),
        (b"K\x01t.", "byte 2: the stack has no mark"),
        (b"(K\x01d.", "byte 3: a key without a value"),
        (b"(K\x01u.", "byte 3: a key without a value"),
        (
            b"NNa.",
            "byte 2: items for a value that is not a list, set or object",
        ),
        (
            b"NNNs.",
            "byte 3: entries for a value that is not a dictionary or object",
        ),
        (b"]Nb.", "byte 2: a state for a value that is not an object"),
        (
            b"cm\nC\n)RNbNb.",
            "byte 10: a second state for the same object",
        ),
        (
            b"N)R.",
            "byte 2: a call of a value that is not a class or function",
        ),
        (b"cm\nC\n]R.", "byte 6: arguments that are not a tuple"),
        (
            b"cm\nC\n)N\x92.",
            "byte 7: keyword arguments that are not a dictionary",
        ),
        (b"NN\x93.", "byte 2: a name that is not text"),
        (b"cm\nC", "byte 0: a line without a line feed"),
        (b"(o.", "byte 1: a call without a function"),
        (b"X\x01\x00\x00\x00\xff.", "byte 0: text that is not UTF-8"),
        (b"V\\ud800\n.", "byte 0: an escape that is not a character"),
        (b"S'a\n.", "byte 0: text that is not quoted correctly"),
        (b"Ix\n.", "byte 0: a line that is not a number"),
        (
            b"P1\n.",
            "byte 0: a persistent id of an object that is not in the pickle",
        ),
        (
            b"NQ.",
            "byte 1: a persistent id of an object that is not in the pickle",
        ),
        (
            b"\x82\x01.",
            "byte 0: a registered extension with a name that is not in the pickle",
        ),
        (b"\x97.", "byte 0: a buffer that is not in the pickle"),
        (b"N\x98.", "byte 1: a buffer that is not in the pickle"),
    ] {
        assert_eq!(read_error(bytes), reason, "{bytes:?}");
    }
    let digits = [b"I".as_slice(), &[b'9'; 5000], b"\n."].concat();
    assert_eq!(read_error(&digits), "byte 0: a line that is not a number");
}

#[test]
fn a_list_may_contain_itself() {
    // l = []; l.append(l); pickle.dumps(l, 4)
    let pickle = read(b"\x80\x04]\x94h\x00a.").unwrap();
    let root = pickle.root();
    assert_eq!(pickle.get(root), &Value::List(vec![root]));
    // The same with an object that is its own state and class.
    let pickle = read(b"cm\nC\n)R\x94h\x00b.").unwrap();
    assert_eq!(
        pickle.object(pickle.root()).unwrap().state,
        Some(pickle.root())
    );
}

#[test]
fn nesting_uses_no_stack_and_memory_is_bounded() {
    const DEPTH: usize = 1_000_000;
    let tuples = [b")".as_slice(), &b"\x85".repeat(DEPTH), b"."].concat();
    let lists = [b"]".repeat(DEPTH), b"a".repeat(DEPTH - 1), b".".to_vec()].concat();
    let marks = [b"(".repeat(DEPTH), b"t".repeat(DEPTH), b".".to_vec()].concat();
    for bytes in [tuples, lists, marks] {
        let pickle = read(&bytes).unwrap();
        assert!(pickle.value_count() >= DEPTH);
        let (mut current, mut depth) = (pickle.root(), 0);
        while let Some(&[first, ..]) = pickle.sequence(current) {
            (current, depth) = (first, depth + 1);
        }
        assert!(depth >= DEPTH - 1);
    }
    let many = [b"N".repeat(MAX_VALUES + 1), b".".to_vec()].concat();
    let error = read(&many).unwrap_err();
    assert_eq!(
        error,
        Error {
            position: MAX_VALUES,
            reason: "more than 4194304 values".to_owned()
        }
    );
}

#[test]
fn the_last_value_of_a_key_counts() {
    let pickle = read(b"}(V1\nK\x01V2\nK\x02V1\nK\x03u.more").unwrap();
    assert_eq!(pickle.length(), 19);
    let entry = |key| pickle.int(pickle.entry(pickle.root(), key).unwrap());
    assert_eq!((entry("1"), entry("2")), (Some(3), Some(2)));
    assert_eq!(pickle.entry(pickle.root(), "3"), None);
}
