use super::*;

/// Builds a graph from a text: a node for each character. Each node consumes the previous one.
fn chain(text: &str) -> (Vec<u64>, Vec<Vec<NodeInput>>) {
    let kinds = text
        .chars()
        .map(|character| u64::from(u32::from(character)));
    let uses = (0..)
        .take(text.len())
        .map(|node: u32| vec![node.checked_sub(1).map(|previous| (previous, 0))]);
    (kinds.collect(), uses.collect())
}

fn length_and_starts(blocks: &[Block]) -> Vec<(u32, Vec<u32>)> {
    blocks
        .iter()
        .map(|block| (block.length, block.starts.clone()))
        .collect()
}

#[test]
fn layers_of_a_chain_are_found() {
    let (kinds, uses) = chain("eqkvsoLqkvsoLqkvsoLp");
    let blocks = find_blocks(&kinds, &uses, 3);
    assert_eq!(length_and_starts(&blocks), [(6, vec![1, 7, 13])]);
    assert_eq!((blocks[0].inputs, blocks[0].saved_nodes()), (1, 12));
}

/// Two stages with different layers, as in a ResNet.
#[test]
fn stages_are_blocks_of_their_own() {
    let (kinds, uses) = chain("sabcabcabcdxyzwxyzwe");
    assert_eq!(
        length_and_starts(&find_blocks(&kinds, &uses, 3)),
        [(3, vec![1, 4, 7]), (4, vec![11, 15])]
    );
    assert_eq!(
        length_and_starts(&find_blocks(&kinds, &uses, 4)),
        [(4, vec![11, 15])]
    );
    assert_eq!(length_and_starts(&find_blocks(&kinds, &uses, 5)), []);
}

/// The same kinds, but in one of three the third node consumes the first, not the second.
#[test]
fn inner_uses_distinguish_runs() {
    let (kinds, mut uses) = chain("xabcyabczabcw");
    uses[7] = vec![Some((5, 0))];
    let blocks = find_blocks(&kinds, &uses, 3);
    assert_eq!(length_and_starts(&blocks), [(3, vec![1, 9])]);
    // The index of the output matters as well.
    let (kinds, mut uses) = chain("abcabc");
    uses[5] = vec![Some((4, 1))];
    assert_eq!(length_and_starts(&find_blocks(&kinds, &uses, 3)), []);
}

/// A residual block: `a b +`, where `+` also consumes the input of `a`. The search selects the division of the chain
/// with a single input.
#[test]
fn blocks_begin_where_fewest_values_come_in() {
    let kinds: Vec<u64> = "xpab+ab+ab+y"
        .chars()
        .map(|character| u64::from(u32::from(character)))
        .collect();
    let mut uses: Vec<Vec<NodeInput>> = chain("xpab+ab+ab+y").1;
    for plus in [4, 7, 10] {
        uses[plus].push(Some((plus as u32 - 3, 0)));
    }
    let blocks = find_blocks(&kinds, &uses, 3);
    assert_eq!(length_and_starts(&blocks), [(3, vec![2, 5, 8])]);
    assert_eq!(blocks[0].inputs, 1);
    // `b+a` and `+ab` occur as often, and have two inputs.
    let kinds: Vec<u64> = "pab+ab+ab+ab"
        .chars()
        .map(|character| u64::from(u32::from(character)))
        .collect();
    let mut uses: Vec<Vec<NodeInput>> = chain("pab+ab+ab+ab").1;
    for plus in [3, 6, 9] {
        uses[plus].push(Some((plus as u32 - 3, 0)));
    }
    let blocks = find_blocks(&kinds, &uses, 3);
    assert_eq!(length_and_starts(&blocks), [(3, vec![1, 4, 7])]);
    // Without these uses each has one input, and the last one is chosen.
    let blocks = find_blocks(&kinds, &chain("pab+ab+ab+ab").1, 3);
    assert_eq!(length_and_starts(&blocks), [(3, vec![3, 6, 9])]);
}

/// Distant inputs from outside, such as a mask, do not distinguish layers.
#[test]
fn inputs_from_outside_may_have_any_source() {
    let (kinds, mut uses) = chain("mabcabc");
    for node in [2, 5] {
        uses[node].push(Some((0, 0)));
    }
    uses[3].push(None);
    uses[6].push(Some((1, 0)));
    let blocks = find_blocks(&kinds, &uses, 3);
    // The third node of the first run consumes an input of the graph, that of the second run an earlier node.
    assert_eq!(length_and_starts(&blocks), [(3, vec![1, 4])]);
    assert_eq!(blocks[0].inputs, 3);
}

#[test]
fn the_same_block_has_the_same_hash_in_any_graph() {
    let first_hash = |text: &str| {
        let (kinds, uses) = chain(text);
        find_blocks(&kinds, &uses, 3)[0].hash
    };
    assert_eq!(first_hash("xabcabc"), first_hash("yyabcabcabcz"));
    assert_ne!(first_hash("xabcabc"), first_hash("xabdabd"));
}

/// Properties on random graphs.
#[test]
fn occurrences_are_equal_and_do_not_overlap() {
    let mut random = fastrand::Rng::with_seed(2);
    for _ in 0..200 {
        let count = random.u32(0..80);
        let kinds: Vec<u64> = (0..count).map(|_| random.u64(0..2)).collect();
        let mut uses: Vec<Vec<NodeInput>> = Vec::new();
        for node in 0..count {
            let near = node.saturating_sub(2)..node.max(1);
            uses.push(vec![(node > 0).then(|| (random.u32(near), 0))]);
        }
        let mut is_covered = vec![false; count as usize];
        for block in find_blocks(&kinds, &uses, 3) {
            assert!(block.starts.len() > 1 && block.length >= 3);
            for &start in &block.starts {
                assert_eq!(
                    run_shape(start, block.length as usize, &kinds, &uses).0,
                    block.hash
                );
                for node in start..start + block.length {
                    assert!(!std::mem::replace(&mut is_covered[node as usize], true));
                }
            }
        }
    }
}

/// Structure of ResNet-50 from its second block on: `i` is a block that keeps its size, `d` one that halves it. A run
/// of several blocks that straddles stages has more nodes in total, and saves fewer.
#[test]
fn blocks_are_not_cut_across_stages() {
    let layer = |block: char| if block == 'i' { "abcde" } else { "abxyzw" };
    let text: String = "iidiiidiiiiidii".chars().map(layer).collect();
    let (kinds, uses) = chain(&text);
    let blocks = find_blocks(&kinds, &uses, 4);
    assert_eq!((blocks[0].length, blocks[0].starts.len()), (5, 12));
    assert_eq!((blocks[1].length, blocks[1].starts.len()), (6, 3));
}
