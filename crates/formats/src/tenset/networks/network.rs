//! What the name of a file says of its network.

/// A network, as a file's name has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The name of the kind of network: `resnet_50`.
    pub name: String,
    /// The shapes that its input, or its output, was made for.
    pub shapes: Vec<Vec<u64>>,
    /// The kind of target that its tasks are for; `None` where the file holds none.
    pub target: Option<String>,
    /// Name and shapes without spaces and quotes: `resnet_50,[(1,3,224,224)]`.
    pub key: String,
}

/// How the names of files end: with tasks, with a module of Relay.
const ENDINGS: [(&str, bool); 2] = [(".task.pkl", true), (".relay.pkl", false)];

impl Network {
    /// Reads the last part of a path. Spaces and quotes in it count for nothing, as `clean_name` of TenSet
    /// leaves them out and Python's `str` writes them.
    pub fn of(path: &str) -> Option<Self> {
        let file = path.rsplit('/').next()?;
        let (stem, has_target) = ENDINGS.iter().find_map(|(ending, has_target)| {
            let stem = file.strip_suffix(ending)?;
            Some((stem, *has_target))
        })?;
        let stem: String = stem.chars().filter(|c| !" '\"".contains(*c)).collect();
        let inner = stem.strip_prefix('(')?.strip_suffix(')')?;
        let (network, target) = if has_target {
            let (network, target) = inner.strip_prefix('(')?.rsplit_once("),")?;
            (network, Some(target.to_owned()))
        } else {
            (inner, None)
        };
        let (name, shapes) = network.split_once(",[")?;
        let shapes = shapes.strip_suffix(']')?;
        Some(Self {
            name: Some(name.to_owned()).filter(|name| !name.is_empty())?,
            shapes: read_shapes(shapes)?,
            target,
            key: network.to_owned(),
        })
    }
}

/// Tuples of sizes behind each other: `(1,3,224,224),(1,)`.
fn read_shapes(text: &str) -> Option<Vec<Vec<u64>>> {
    let mut shapes = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (shape, after) = rest.strip_prefix('(')?.split_once(')')?;
        let sizes = shape.split(',').filter(|size| !size.is_empty());
        let sizes = sizes.map(|size| size.parse().ok());
        shapes.push(sizes.collect::<Option<_>>()?);
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    Some(shapes)
}

#[cfg(test)]
mod tests {
    use super::Network;

    #[test]
    fn names_of_files_are_read() {
        let of = |path: &str| {
            let network = Network::of(path)?;
            Some((network.name, network.shapes, network.target, network.key))
        };
        let resnet = "resnet_50".to_owned();
        let key = "resnet_50,[(1,3,224,224)]".to_owned();
        let shapes = vec![vec![1, 3, 224, 224]];
        let llvm = Some("llvm".to_owned());
        let tasks = Some((resnet.clone(), shapes.clone(), llvm, key.clone()));
        assert_eq!(of("a/b/((resnet_50,[(1,3,224,224)]),llvm).task.pkl"), tasks);
        assert_eq!(
            of("(('resnet_50', [(1, 3, 224, 224)]), 'llvm').task.pkl"),
            tasks
        );
        let relay = Some((resnet, shapes, None, key));
        assert_eq!(of("(resnet_50,[(1,3,224,224)]).relay.pkl"), relay);
        let two = Network::of("((x,[(1,),(2,3)]),cuda).task.pkl").unwrap();
        assert_eq!(two.shapes, [vec![1], vec![2, 3]]);
        assert_eq!(two.target.as_deref(), Some("cuda"));
        for path in [
            "all_tasks.pkl",
            "((),llvm).task.pkl",
            "((x,[(a)]),llvm).task.pkl",
            "(x,[1]).relay.pkl",
            ".task.pkl",
            "((resnet_50,[(1,3,224,224)]),llvm).json",
            "(,[]).relay.pkl",
        ] {
            assert_eq!(Network::of(path), None, "{path}");
        }
    }
}
