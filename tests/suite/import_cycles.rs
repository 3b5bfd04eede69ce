//! Import cycles between the files of a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::slice::Iter;

/// Path of a module or an item from the root of its crate.
type Names = Vec<String>;

/// Edge between two files of one folder: the folder, the importing file, the imported file.
type Edge = (String, String, String);

/// Declarations of a file, and its references to items of its crate.
#[derive(Default)]
struct Module {
    children: BTreeSet<String>,
    /// Names that `use` declares for items of the crate, with their paths.
    aliases: BTreeMap<String, Names>,
    references: BTreeSet<Names>,
}

/// Returns the references between modules of a crate.
///
/// A reference through `pub use` counts for the defining module. Tests are ignored.
fn references(sources: &[(String, String)]) -> BTreeSet<(Names, Names)> {
    let modules = modules(sources);
    let edges = modules.iter().flat_map(|(path, module)| {
        let targets = module
            .references
            .iter()
            .map(|names| defining_module(&modules, names, 0));
        targets.map(|target| (path.clone(), target))
    });
    edges.filter(|(path, target)| path != target).collect()
}

/// Returns edges that are part of a cycle between files of one folder, by path in the crate's `src`.
///
/// A folder represents everything below it. Its `mod.rs` is one of its files: declarations and `pub use` are no edges,
/// other uses are.
pub(crate) fn cycles(sources: &[(String, String)]) -> BTreeSet<(String, String)> {
    let edges = references(sources);
    let edges: BTreeSet<Edge> = edges.iter().map(|(from, to)| edge(from, to)).collect();
    let on_cycle = edges
        .iter()
        .filter(|(folder, from, to)| reaches(&edges, folder, to, from));
    on_cycle
        .map(|(folder, from, to)| (format!("{folder}{from}"), format!("{folder}{to}")))
        .collect()
}

/// Returns the last common folder of two modules, and its file or folder on both sides.
fn edge(from: &[String], to: &[String]) -> Edge {
    let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let side = |path: &[String]| path.get(shared).map_or("mod", String::as_str).to_owned();
    let folder = from[..shared].iter().map(|name| format!("{name}/"));
    (folder.collect(), side(from), side(to))
}

fn reaches(edges: &BTreeSet<Edge>, folder: &str, from: &str, goal: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::from([from]), vec![from]);
    while let Some(at) = open.pop() {
        if at == goal {
            return true;
        }
        let next = edges
            .iter()
            .filter(|(within, from, _)| within == folder && from == at);
        open.extend(
            next.map(|(_, _, to)| to.as_str())
                .filter(|to| seen.insert(to)),
        );
    }
    false
}

/// Returns the module that defines a path. Follows every `use`.
fn defining_module(modules: &BTreeMap<Names, Module>, names: &[String], depth: usize) -> Names {
    assert!(depth < 20, "{names:?} leads nowhere");
    let mut at = Names::new();
    for (index, name) in names.iter().enumerate() {
        at.push(name.clone());
        if modules.contains_key(&at) {
            continue;
        }
        at.pop();
        let Some(target) = modules.get(&at).and_then(|module| module.aliases.get(name)) else {
            break;
        };
        let onward = [target, &names[index + 1..]].concat();
        return defining_module(modules, &onward, depth + 1);
    }
    at
}

/// Returns all modules except those for tests.
fn modules(sources: &[(String, String)]) -> BTreeMap<Names, Module> {
    let mut modules = BTreeMap::new();
    for (file, text) in sources {
        let name = file.trim_end_matches(".rs").trim_end_matches("/mod");
        let path: Names = name.split('/').map(str::to_owned).collect();
        let path = if name == "lib" { Names::new() } else { path };
        if name != "main" {
            modules.insert(path.clone(), module(&path, &strip_tests(&tokens(text))));
        }
    }
    let declared = |path: &Names| {
        (1..=path.len()).all(|length| {
            let parent = modules.get(&path[..length - 1]);
            parent.is_some_and(|parent| parent.children.contains(&path[length - 1]))
        })
    };
    let reachable: BTreeSet<Names> = modules
        .keys()
        .filter(|path| declared(path))
        .cloned()
        .collect();
    modules.retain(|path, _| reachable.contains(path));
    modules
}

/// Parses the declarations and references of a file. `path` is the path of the file.
fn module(path: &[String], tokens: &[String]) -> Module {
    let mut module = Module::default();
    for pair in tokens
        .windows(3)
        .filter(|three| three[0] == "mod" && three[2] == ";")
    {
        module.children.insert(pair[1].clone());
    }
    let (mut passed_on, mut words) = (BTreeMap::new(), BTreeSet::new());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let before = &tokens[..at];
        let next = tokens.get(at + 1).map(String::as_str);
        if token == "use" && next != Some("<") {
            let end = at + tokens[at..].iter().position(|token| token == ";").unwrap();
            let mut leaves = Vec::new();
            use_leaves(
                &mut tokens[at + 1..end].iter().peekable(),
                Names::new(),
                &mut leaves,
            );
            let public = before
                .last()
                .is_some_and(|last| last == "pub" || last == ")");
            for (leaf, alias) in leaves {
                let Some(leaf) = absolute(path, &module.children, &leaf) else {
                    continue;
                };
                if public {
                    passed_on.insert(alias.clone(), leaf.clone());
                } else {
                    module.references.insert(leaf.clone());
                }
                module.aliases.insert(alias, leaf);
            }
            at = end;
        } else if next == Some("::") && before.last().is_none_or(|last| last != "::") {
            let length = tokens[at..]
                .chunks(2)
                .take_while(|two| two.get(1).is_some_and(|colons| colons == "::"))
                .count();
            let names: Names = tokens[at..]
                .iter()
                .step_by(2)
                .take(length + 1)
                .cloned()
                .collect();
            let visibility = before.ends_with(&["pub", "(", "in"].map(str::to_owned));
            if !visibility {
                module
                    .references
                    .extend(absolute(path, &module.children, &names));
            }
        }
        words.insert(tokens[at].clone());
        at += 1;
    }
    let used = passed_on
        .into_iter()
        .filter(|(alias, _)| words.contains(alias));
    module.references.extend(used.map(|(_, leaf)| leaf));
    module
}

/// Returns the path from the root of the crate, or `None` for items of other crates.
fn absolute(path: &[String], children: &BTreeSet<String>, names: &[String]) -> Option<Names> {
    let supers = names.iter().take_while(|name| *name == "super").count();
    let own = path.to_vec();
    let (start, skipped) = match names.first()?.as_str() {
        "crate" => (Names::new(), 1),
        "self" => (own, 1),
        "super" => (path[..path.len().checked_sub(supers)?].to_vec(), supers),
        child if children.contains(child) => (own, 0),
        _ => return None,
    };
    Some([&start, &names[skipped..]].concat())
}

/// Collects the leaves of a `use`, each with the name that it declares.
fn use_leaves(
    tokens: &mut Peekable<Iter<'_, String>>,
    prefix: Names,
    leaves: &mut Vec<(Names, String)>,
) {
    let mut names = prefix;
    while let Some(token) = tokens.next() {
        match token.as_str() {
            "::" => {}
            "{" => {
                while tokens.peek().is_some_and(|next| *next != "}") {
                    use_leaves(tokens, names.clone(), leaves);
                }
                tokens.next();
                tokens.next_if(|next| *next == ",");
                return;
            }
            "as" => {
                let alias = tokens.next().unwrap().clone();
                tokens.next_if(|next| *next == ",");
                leaves.push((names, alias));
                return;
            }
            "*" => {}
            "," => break,
            // `a::{self}` is `a`.
            "self" if !names.is_empty() => {}
            name => names.push(name.to_owned()),
        }
        if tokens.peek().is_some_and(|next| *next == "}") {
            break;
        }
    }
    let alias = names.last().unwrap().clone();
    leaves.push((names, alias));
}

/// Returns the tokens without items that have `#[cfg(test)]`.
fn strip_tests(tokens: &[String]) -> Vec<String> {
    let gates = ["# [ cfg ( test", "# [ cfg ( all ( test"].map(|gate| gate.split(' ').collect());
    let gated = |at: usize| {
        let begins = |gate: &Vec<&str>| {
            tokens[at..]
                .iter()
                .map(String::as_str)
                .take(gate.len())
                .eq(gate.iter().copied())
        };
        gates.iter().any(begins)
    };
    let (mut remaining, mut at) = (Vec::new(), 0);
    while let Some(token) = tokens.get(at) {
        if !gated(at) {
            remaining.push(token.clone());
            at += 1;
            continue;
        }
        at += tokens[at..].iter().position(|token| token == "]").unwrap() + 1;
        let mut depth = 0_u32;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" if depth == 1 => break,
                "}" | ")" | "]" => depth -= 1,
                ";" if depth == 0 => break,
                _ => {}
            }
        }
    }
    remaining
}

/// Returns the words, `::` and punctuation of a file, without comments, string literals and lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(length) = quoted_length(rest) {
            length
        } else if first.is_alphanumeric() || first == '_' {
            let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let length = word.unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

/// Returns the length of the string literal, character or lifetime at the beginning of `text`.
fn quoted_length(text: &str) -> Option<usize> {
    let sign = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - sign.len();
    if let Some(raw) = sign.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') && prefix < 2 {
            let end = format!("\"{}", "#".repeat(hashes));
            let begin = prefix + 1 + hashes + 1;
            return Some(begin + text[begin..].find(&end)? + end.len());
        }
    }
    let quote = sign
        .chars()
        .next()
        .filter(|quote| "\"'".contains(*quote) && prefix < 2)?;
    let mut signs = sign.char_indices().skip(1);
    let lifetime = |(_, second): (usize, char)| {
        quote == '\'' && second != '\\' && !sign[1 + second.len_utf8()..].starts_with('\'')
    };
    if signs.clone().next().is_some_and(lifetime) {
        let end = sign[1..].find(|c: char| !c.is_alphanumeric() && c != '_')?;
        return Some(prefix + 1 + end);
    }
    while let Some((at, c)) = signs.next() {
        match c {
            '\\' => drop(signs.next()),
            _ if c == quote => return Some(prefix + at + 1),
            _ => {}
        }
    }
    None
}

#[test]
fn cycles_are_found_for_all_import_forms() {
    let found = |files: &[(&str, &str)]| -> Vec<String> {
        let owned = |(file, text): &(&str, &str)| ((*file).to_owned(), (*text).to_owned());
        let sources: Vec<_> = files.iter().map(owned).collect();
        let pairs = cycles(&sources).into_iter();
        pairs.map(|(from, to)| format!("{from} {to}")).collect()
    };
    let root = ("lib.rs", "mod a; mod b; pub use b::Thing;");
    let user = ("a.rs", "pub struct Own; use crate::{x, Thing};");
    for text in [
        "pub struct Thing(super::a::Own);",
        "pub struct Thing(crate::a::Own);",
        "use {crate::{a::{self, Own}}, std::fmt}; pub struct Thing(Own);",
        "pub(crate) use super::a::Own as Other; pub struct Thing(Other);",
    ] {
        assert_eq!(
            found(&[root, user, ("b.rs", text)]),
            ["a b", "b a"],
            "{text}"
        );
    }
    for text in [
        "// use crate::a::Own;\npub struct Thing(&'static str);",
        "pub const THING: &str = \"super::a::Own\"; pub const C: char = '\"'; pub struct Thing;",
        "pub(crate) use super::a::Own; pub struct Thing;",
        "pub struct Thing; #[cfg(test)] mod tests { use crate::a::Own; }",
    ] {
        assert_eq!(found(&[root, user, ("b.rs", text)]), [""; 0], "{text}");
    }
    // The `mod.rs` of a folder is one of its files, and represents the folder in its parent.
    let folder = ("b/mod.rs", "mod c; pub struct Thing; fn f() { c::g() }");
    let below = (
        "b/c.rs",
        "pub fn g() { let _ = super::Thing; crate::a::f() }",
    );
    let pairs = ["a b", "b a", "b/c b/mod", "b/mod b/c"];
    assert_eq!(found(&[root, user, folder, below]), pairs);
}
