//! Network in the name of a file.

/// Network, parsed from a file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Kind of the network: `resnet_50`.
    pub name: String,
    /// Shapes of its input or output.
    pub shapes: Vec<Vec<u64>>,
    /// Kind of target of its tasks; `None` if the file contains no tasks.
    pub target: Option<String>,
    /// Name and shapes without spaces and quotes: `resnet_50,[(1,3,224,224)]`.
    pub key: String,
}

/// File name suffixes, with a flag for files of tasks; the others contain a Relay module.
const FILE_SUFFIXES: [(&str, bool); 2] = [(".task.pkl", true), (".relay.pkl", false)];

impl Network {
    /// Parses the last component of a path. Spaces and quotes are ignored: TenSet's `clean_name` removes them and
    /// Python's `str` writes them.
    pub fn from_path(path: &str) -> Option<Self> {
        let file = path.rsplit('/').next()?;
        let (stem, has_target) = FILE_SUFFIXES.iter().find_map(|(ending, has_target)| {
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

/// Parses concatenated tuples of sizes: `(1,3,224,224),(1,)`.
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
    fn file_names_are_parsed() {
        let parse = |path: &str| {
            let network = Network::from_path(path)?;
            Some((network.name, network.shapes, network.target, network.key))
        };
        let resnet = "resnet_50".to_owned();
        let key = "resnet_50,[(1,3,224,224)]".to_owned();
        let shapes = vec![vec![1, 3, 224, 224]];
        let llvm = Some("llvm".to_owned());
        let tasks = Some((resnet.clone(), shapes.clone(), llvm, key.clone()));
        assert_eq!(
            parse("a/b/((resnet_50,[(1,3,224,224)]),llvm).task.pkl"),
            tasks
        );
        assert_eq!(
            parse("(('resnet_50', [(1, 3, 224, 224)]), 'llvm').task.pkl"),
            tasks
        );
        let relay = Some((resnet, shapes, None, key));
        assert_eq!(parse("(resnet_50,[(1,3,224,224)]).relay.pkl"), relay);
        let two = Network::from_path("((x,[(1,),(2,3)]),cuda).task.pkl").unwrap();
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
            assert_eq!(Network::from_path(path), None, "{path}");
        }
    }
}
