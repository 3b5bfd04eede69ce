//! A paddle graph as `model.py` again: the blocks that paddle's exporter writes, laid out as black
//! lays them out.
//!
//! ```text
//! # pd_op.matmul: (100x20xf32) <- (100x1xf32, 1x20xf32)        types of results and operands
//! matmul_0 = paddle._C_ops.matmul(data_1, parameter_8, False, False)
//! del data_1                                                   what is not used any more
//! ```
//!
//! Most blocks follow from the graph and the types of its values. What does not is the *layout*:
//! second names of values (`assign_0 = full_1`) and where they are used, values that live to the
//! end, comments that say something else, and blocks that are no block of this kind, as text.
//! [`layout`] finds it, [`write`] uses it; a file that does not come back so is kept as text.

mod blocks;
mod body;
mod model;
mod ops;

use std::collections::BTreeSet;

use super::render;
use body::Body;
pub(crate) use model::Model;
use ops::{Inputs, Layout, Op};

/// Between a block's statement and what it ends the use of.
const DELETES: &str = "\n        del ";

/// The file; `None` where the layout does not fit the graph.
pub(crate) fn write(model: &Model<'_>, layout: &[u8]) -> Option<String> {
    let layout = Layout::read(layout)?;
    let mut body = Body::new(model);
    for op in &layout.ops {
        body.push(op)?;
    }
    let mut text = model.prelude.to_owned();
    text.push_str("class GraphModule(paddle.nn.Layer):\n    def __init__(self):\n");
    text.push_str("        super().__init__()\n\n");
    header(model.arguments, &mut text);
    text.push_str(&body.finish(&layout.kept)?);
    text.push('\n');
    Some(text)
}

fn header(arguments: &[String], text: &mut String) {
    let all = std::iter::once("self").chain(arguments.iter().map(String::as_str));
    let all: Vec<&str> = all.collect();
    let flat = format!("    def forward({}):\n", all.join(", "));
    let line = format!("        {}\n", all.join(", "));
    if flat.len() <= render::WIDTH + 1 {
        text.push_str(&flat);
    } else if line.len() <= render::WIDTH + 1 {
        text.push_str(&format!("    def forward(\n{line}    ):\n"));
    } else {
        text.push_str("    def forward(\n");
        all.iter()
            .for_each(|one| text.push_str(&format!("        {one},\n")));
        text.push_str("    ):\n");
    }
}

/// What [`write`] needs to give `text` back, which must be tried; `None` where it cannot.
pub(crate) fn layout(model: &Model<'_>, text: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once("def forward(")?;
    let (_, rest) = rest.split_once("):\n")?;
    let blocks: Vec<&str> = rest.strip_suffix('\n')?.split("\n\n").collect();
    let mut body = Body::new(model);
    let mut layout = Layout::default();
    let mut deleted: Vec<BTreeSet<&str>> = Vec::new();
    for block in blocks {
        let (core, dead) = block.split_once(DELETES).unwrap_or((block, ""));
        let words = dead.split([' ', ',', '(', ')', '\n']);
        deleted.push(words.filter(|word| !word.is_empty()).collect());
        let op = op(&body, core)?;
        body.push_read(&op, core.to_owned())?;
        layout.ops.push(op);
    }
    layout.kept = body.kept(&deleted);
    Some(layout.pack())
}

/// The shortest way to say a block.
fn op(body: &Body<'_>, core: &str) -> Option<Op> {
    let (comment, statement) = match core.split_once('\n') {
        Some((comment, statement)) if comment.starts_with("        # ") => (comment, statement),
        _ => ("", core),
    };
    if let Some(value) = statement.strip_prefix("        return ") {
        let names = names_of(body, value);
        return Some(Op::Return {
            second: body.second_of_returns(&names)?,
        });
    }
    let exact = |mut op: Op| {
        let same = body.core(&op).is_some_and(|predicted| predicted == core);
        if !same {
            op.set_text(core);
        }
        Some(op)
    };
    let (targets, value) = statement.split_once(" = ").unwrap_or(("", statement));
    let targets: Vec<&str> = words(targets).collect();
    let used = names_of(body, value);
    if let [of] = used.as_slice()
        && value == body.name(*of)?
        && !targets.is_empty()
    {
        let named = body.predicted(comment, targets.len());
        let named = named.iter().eq(targets.iter());
        let names = (!named).then(|| targets.join(","));
        let list = statement.trim_start().starts_with('(') || targets.len() > 1;
        let parts = list.then_some(targets.len());
        return exact(Op::Second {
            said: said(comment)?.to_owned(),
            names,
            parts,
            of: *of,
            text: None,
        });
    }
    if body.next_names() != Some(targets.join(",").as_str()) {
        return Some(Op::Text(core.to_owned()));
    }
    let second = body.second_of_operands(&used);
    let node = |called, inputs| Op::Node {
        second: second.clone().unwrap_or_default(),
        called,
        inputs,
        text: None,
    };
    let own = said(comment).filter(|own| body.next_called().as_deref() != Some(*own));
    let called = own.map(str::to_owned);
    for inputs in [Inputs::Usual, Inputs::All] {
        let op = node(called.clone(), inputs);
        if body.core(&op).is_some_and(|predicted| predicted == core) {
            return Some(op);
        }
    }
    let types = comment.split_once(") <- (").map_or("", |(_, types)| types);
    let types = types.strip_suffix(')').unwrap_or(types);
    exact(node(called, Inputs::Text(types.to_owned())))
}

/// The operation that a comment names: `pd_op.add`.
fn said(comment: &str) -> Option<&str> {
    Some(comment.strip_prefix("        # ")?.split_once(": (")?.0)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty())
}

/// The values that a text names, in order.
fn names_of(body: &Body<'_>, text: &str) -> Vec<usize> {
    let mut names = Vec::new();
    // Every second part is inside of quotes.
    for part in text.split('"').step_by(2) {
        let mut before = ' ';
        let mut rest = part;
        while let Some(c) = rest.chars().next() {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(length.max(c.len_utf8()));
            if is_word(c) && before != '.' {
                names.extend(body.named(word));
            }
            before = c;
            rest = after;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample::{File, Sample, read};

    const MODEL: &str =
        include_str!("../../../../../data/graphnet/paddle_samples/ours/tiny/model.py");

    fn sample(model: &str) -> Sample {
        let file = File::new("model.py".to_owned(), model.as_bytes().to_vec());
        read(&[file]).samples.remove(0)
    }

    /// Second names, parts, values that live to the end, odd comments, long lists.
    const ODD: &str = r#"import paddle


class GraphModule(paddle.nn.Layer):
    def __init__(self):
        super().__init__()

    def forward(self, parameter_0, data_0):
        # pd_op.full: (1xf32) <- ()
        full_0 = paddle._C_ops.full(
            [1], float("1"), paddle.float32, paddle.core.CPUPlace()
        )

        # pd_op.assign: (1xf32) <- (1xf32)
        assign_0 = full_0

        # pd_op.assign: (1xf32) <- (1xf32)
        assign_1 = full_0

        # pd_op.split_with_num: ([-1x4xf32, -1x4xf32]) <- (-1x8xf32, 1xf32)
        split_with_num_0 = paddle._C_ops.split_with_num(data_0, 2, assign_1)
        del assign_1, data_0

        # builtin.split: (-1x4xf32, -1x4xf32) <- ([-1x4xf32, -1x4xf32])
        (
            split_0,
            split_1,
        ) = split_with_num_0
        del split_with_num_0

        # pd_op.strange: (-1x4xf32, -1x4xui8) <- (-1x4xf32, None, 8xf32, None)
        dropout_0, dropout_1 = (lambda x, f: f(x))(
            paddle._C_ops.dropout(split_1, None, parameter_0, None, float("0.5")),
            lambda out: out if isinstance(out, (list, tuple)) else (out, None),
        )
        del parameter_0

        # pd_op.add: (-1x4xf32) <- (-1x4xf32, -1x4xf32)
        add_0 = paddle._C_ops.add(split_0, dropout_0) + 1
        del assign_0, dropout_0, dropout_1, full_0, split_0, split_1

        return add_0
"#;

    #[test]
    fn odd_blocks_come_back() {
        let sample = sample(ODD);
        let layout = sample.layout.as_deref().expect("a layout");
        assert!(layout.len() < 200, "{}", layout.len());
        assert_eq!(sample.file("model.py").as_deref(), Some(ODD));
    }

    #[test]
    fn what_is_no_graph_of_paddle_has_no_layout() {
        for text in [
            ODD.replace("import paddle", "import torch"),
            ODD.replace("        return add_0\n", ""),
            ODD.replace("del data_0", "del data_0, full_0"),
            format!("{ODD}\n"),
        ] {
            let sample = sample(&text);
            let back = sample.file("model.py");
            assert!(back.is_none_or(|back| back == text), "{text}");
        }
    }

    /// A line of `text` left out, doubled or exchanged, or a letter of it another one.
    fn mutated(text: &str, how: u8, place: usize, letter: char) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = place % lines.len();
        match how {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines.swap(at, (at + 1) % text.lines().count()),
            _ => {
                let count = lines[at].chars().count();
                let letters = lines[at].chars().enumerate();
                let other = |(n, c)| if n == place % count { letter } else { c };
                lines[at] = letters.map(other).collect();
            }
        }
        lines.join("\n") + "\n"
    }

    proptest! {
        #[test]
        fn mutated_files_come_back_or_are_kept_as_text(
            odd: bool, how in 0_u8..4, place in 0_usize..400, letter in "[a-z0-9_(),. ä\"]",
        ) {
            let text = if odd { ODD } else { MODEL };
            let text = mutated(text, how, place, letter.chars().next().unwrap());
            let sample = sample(&text);
            if sample.layout.is_some() {
                prop_assert_eq!(sample.file("model.py"), Some(text));
            }
        }

        #[test]
        fn damage_is_no_panic(place in 0_usize..1000, byte: u8) {
            let mut sample = sample(ODD);
            let mut layout = sample.layout.take().unwrap();
            let place = place % layout.len();
            layout[place] = byte;
            sample.layout = Some(layout);
            let _ = sample.file("model.py");
        }
    }
}
