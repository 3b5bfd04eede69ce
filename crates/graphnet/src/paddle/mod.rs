//! Rebuilds `model.py` of a paddle graph: the blocks that paddle's exporter writes, formatted by black.
//!
//! ```text
//! # pd_op.matmul: (100x20xf32) <- (100x1xf32, 1x20xf32)        types of results and operands
//! matmul_0 = paddle._C_ops.matmul(data_1, parameter_8, False, False)
//! del data_1                                                   values after their last use
//! ```
//!
//! Most blocks follow from the graph and the types of its values. The remaining information is the *layout*: aliases of
//! values (`assign_0 = full_1`) and their uses, values that live to the end, deviating comments, and other blocks as
//! text. [`find_layout`] determines it and [`write`] uses it. A file that cannot be reproduced this way is stored as
//! text.

mod blocks;
mod body;
mod model;
mod ops;

use std::collections::BTreeSet;

use super::render;
use body::ForwardBody;
pub(crate) use model::PaddleModel;
use ops::{BlockOp, CommentTypes, Layout};

/// Separator between the statement of a block and its `del`.
const DELETES: &str = "\n        del ";

/// Returns the file; `None` if the layout does not fit the graph.
pub(crate) fn write(model: &PaddleModel<'_>, layout: &[u8]) -> Option<String> {
    let layout = Layout::unpack(layout)?;
    let mut body = ForwardBody::new(model);
    for op in &layout.ops {
        body.push(op)?;
    }
    let mut text = model.prelude.to_owned();
    text.push_str("class GraphModule(paddle.nn.Layer):\n    def __init__(self):\n");
    text.push_str("        super().__init__()\n\n");
    write_header(model.arguments, &mut text);
    text.push_str(&body.finish(&layout.is_retained)?);
    text.push('\n');
    Some(text)
}

fn write_header(arguments: &[String], text: &mut String) {
    let parameters = std::iter::once("self").chain(arguments.iter().map(String::as_str));
    let parameters: Vec<&str> = parameters.collect();
    let flat = format!("    def forward({}):\n", parameters.join(", "));
    let line = format!("        {}\n", parameters.join(", "));
    if flat.len() <= render::LINE_WIDTH + 1 {
        text.push_str(&flat);
    } else if line.len() <= render::LINE_WIDTH + 1 {
        text.push_str(&format!("    def forward(\n{line}    ):\n"));
    } else {
        text.push_str("    def forward(\n");
        parameters
            .iter()
            .for_each(|parameter| text.push_str(&format!("        {parameter},\n")));
        text.push_str("    ):\n");
    }
}

/// Returns the layout with which [`write`] may reproduce `text`; the caller must verify it. `None` if there is none.
pub(crate) fn find_layout(model: &PaddleModel<'_>, text: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once("def forward(")?;
    let (_, rest) = rest.split_once("):\n")?;
    let blocks: Vec<&str> = rest.strip_suffix('\n')?.split("\n\n").collect();
    let mut body = ForwardBody::new(model);
    let mut layout = Layout::default();
    let mut deleted: Vec<BTreeSet<&str>> = Vec::new();
    for block in blocks {
        let (core, unused) = block.split_once(DELETES).unwrap_or((block, ""));
        let words = unused.split([' ', ',', '(', ')', '\n']);
        deleted.push(words.filter(|word| !word.is_empty()).collect());
        let op = parse_block(&body, core)?;
        body.push_with_text(&op, core.to_owned())?;
        layout.ops.push(op);
    }
    layout.is_retained = body.retained_names(&deleted);
    Some(layout.pack())
}

/// Returns the shortest encoding of a block.
fn parse_block(body: &ForwardBody<'_>, core: &str) -> Option<BlockOp> {
    let (comment, statement) = match core.split_once('\n') {
        Some((comment, statement)) if comment.starts_with("        # ") => (comment, statement),
        _ => ("", core),
    };
    if let Some(value) = statement.strip_prefix("        return ") {
        let names = used_names(body, value);
        return Some(BlockOp::Return {
            aliases: body.return_aliases(&names)?,
        });
    }
    let exact = |mut op: BlockOp| {
        let same = body
            .block_text(&op)
            .is_some_and(|predicted| predicted == core);
        if !same {
            op.set_text(core);
        }
        Some(op)
    };
    let (targets, value) = statement.split_once(" = ").unwrap_or(("", statement));
    let targets: Vec<&str> = split_words(targets).collect();
    let used = used_names(body, value);
    if let [source] = used.as_slice()
        && value == body.name(*source)?
        && !targets.is_empty()
    {
        let predicted = body.predict_names(comment, targets.len());
        let has_predicted_names = predicted.iter().eq(targets.iter());
        let names = (!has_predicted_names).then(|| targets.join(","));
        let is_list = statement.trim_start().starts_with('(') || targets.len() > 1;
        let parts = is_list.then_some(targets.len());
        return exact(BlockOp::Alias {
            comment_op: commented_op(comment)?.to_owned(),
            names,
            parts,
            source: *source,
            text: None,
        });
    }
    if body.next_names() != Some(targets.join(",").as_str()) {
        return Some(BlockOp::Text(core.to_owned()));
    }
    let aliases = body.operand_aliases(&used);
    let node = |comment_op, inputs| BlockOp::Node {
        aliases: aliases.clone().unwrap_or_default(),
        comment_op,
        inputs,
        text: None,
    };
    let deviating_op = commented_op(comment)
        .filter(|deviating_op| body.next_op_name().as_deref() != Some(*deviating_op));
    let comment_op = deviating_op.map(str::to_owned);
    for inputs in [CommentTypes::Default, CommentTypes::All] {
        let op = node(comment_op.clone(), inputs);
        if body
            .block_text(&op)
            .is_some_and(|predicted| predicted == core)
        {
            return Some(op);
        }
    }
    let types = comment.split_once(") <- (").map_or("", |(_, types)| types);
    let types = types.strip_suffix(')').unwrap_or(types);
    exact(node(comment_op, CommentTypes::Text(types.to_owned())))
}

/// Returns the operation that a comment names: `pd_op.add`.
fn commented_op(comment: &str) -> Option<&str> {
    Some(comment.strip_prefix("        # ")?.split_once(": (")?.0)
}

fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty())
}

/// Returns the values that a text names, in order.
fn used_names(body: &ForwardBody<'_>, text: &str) -> Vec<usize> {
    let mut names = Vec::new();
    // Every second part is inside of quotes.
    for part in text.split('"').step_by(2) {
        let mut previous = ' ';
        let mut rest = part;
        while let Some(c) = rest.chars().next() {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(length.max(c.len_utf8()));
            if is_word(c) && previous != '.' {
                names.extend(body.find_name(word));
            }
            previous = c;
            rest = after;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample::{Sample, SampleFile, read};

    const MODEL: &str = include_str!("../../../../data/graphnet/paddle_samples/ours/tiny/model.py");

    fn sample(model: &str) -> Sample {
        let file = SampleFile::new("model.py".to_owned(), model.as_bytes().to_vec());
        read(&[file]).samples.remove(0)
    }

    /// Aliases, parts, values that live to the end, unusual comments, long lists.
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
    fn other_files_have_no_layout_or_are_restored() {
        for text in [
            ODD.replace("import paddle", "import torch"),
            ODD.replace("        return add_0\n", ""),
            ODD.replace("del data_0", "del data_0, full_0"),
            format!("{ODD}\n"),
        ] {
            let sample = sample(&text);
            let restored = sample.file("model.py");
            assert!(restored.is_none_or(|restored| restored == text), "{text}");
        }
    }

    /// Removes, duplicates or swaps a line of `text`, or replaces a character.
    fn mutate(text: &str, mutation: u8, seed: usize, character: char) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let line = seed % lines.len();
        match mutation {
            0 => drop(lines.remove(line)),
            1 => lines.insert(line, lines[line].clone()),
            2 => lines.swap(line, (line + 1) % text.lines().count()),
            _ => {
                let count = lines[line].chars().count();
                let characters = lines[line].chars().enumerate();
                let replace = |(n, c)| if n == seed % count { character } else { c };
                lines[line] = characters.map(replace).collect();
            }
        }
        lines.join("\n") + "\n"
    }

    proptest! {
        #[test]
        fn mutated_files_round_trip_or_are_stored_as_text(
            odd: bool, mutation in 0_u8..4, seed in 0_usize..400, character in "[a-z0-9_(),. ä\"]",
        ) {
            let text = if odd { ODD } else { MODEL };
            let text = mutate(text, mutation, seed, character.chars().next().unwrap());
            let sample = sample(&text);
            if sample.layout.is_some() {
                prop_assert_eq!(sample.file("model.py"), Some(text));
            }
        }

        #[test]
        fn damaged_layouts_do_not_panic(position in 0_usize..1000, byte: u8) {
            let mut sample = sample(ODD);
            let mut layout = sample.layout.take().unwrap();
            let position = position % layout.len();
            layout[position] = byte;
            sample.layout = Some(layout);
            let _ = sample.file("model.py");
        }
    }
}
