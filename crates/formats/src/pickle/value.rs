//! Content of a pickle: values that reference each other by their indices in one list.

/// Maximum number of values. The 27 tasks of a TenSet network have 899 values, so all 2,308 tasks have about 80,000.
pub const MAX_VALUES: usize = 1 << 22;

/// Index of a value in its [`Pickle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(u32);

/// Inert Python value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// Integer of 64 bits.
    Int(i64),
    /// Larger integer as bytes: two's complement, little-endian.
    Wide(Box<[u8]>),
    /// Larger integer as decimal digits, with an optional sign.
    Digits(Box<str>),
    /// Floating-point number.
    Float(f64),
    /// Text; also Python 2 bytes that are text.
    Text(Box<str>),
    /// Bytes.
    Bytes(Box<[u8]>),
    /// Mutable bytes.
    ByteArray(Box<[u8]>),
    /// A list.
    List(Vec<Id>),
    /// A tuple.
    Tuple(Box<[Id]>),
    /// Dictionary entries in order. For duplicate keys the last value counts.
    Dict(Vec<(Id, Id)>),
    /// Set, in insertion order.
    Set(Vec<Id>),
    /// Frozen set.
    FrozenSet(Box<[Id]>),
    /// Name of a class or function, which is never resolved.
    Global {
        /// Text with the name of the module.
        module: Id,
        /// Text with the name inside of the module.
        name: Id,
    },
    /// Object that Python would create by a call.
    Object(Box<Object>),
}

/// Recorded call and the later changes of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Callee: a global, or the result of another recorded call.
    pub class: Id,
    /// Tuple of positional arguments.
    pub arguments: Id,
    /// Dictionary of keyword arguments.
    pub named: Option<Id>,
    /// Argument of `__setstate__`, or the attributes.
    pub state: Option<Id>,
    /// Items that would be appended or added.
    pub items: Vec<Id>,
    /// Entries that would be set by key.
    pub entries: Vec<(Id, Id)>,
}

/// Parsed pickle.
#[derive(Clone, Debug)]
pub struct Pickle {
    values: Vec<Value>,
    root: Id,
    /// Size in bytes, including the final operation.
    length: usize,
}

impl Pickle {
    /// Creates a pickle without values.
    pub(super) fn empty() -> Self {
        Self {
            values: Vec::new(),
            root: Id(0),
            length: 0,
        }
    }

    /// Adds a value; `None` if there are too many.
    pub(super) fn add(&mut self, value: Value) -> Option<Id> {
        let id = u32::try_from(self.values.len()).ok()?;
        if self.values.len() >= MAX_VALUES {
            return None;
        }
        self.values.push(value);
        Some(Id(id))
    }

    /// Sets the root value and the size.
    pub(super) fn with_root(mut self, root: Id, length: usize) -> Self {
        self.root = root;
        self.length = length;
        self
    }

    /// Returns a value for modification.
    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Value> {
        self.values.get_mut(id.0 as usize)
    }

    /// Index of the root value.
    pub fn root(&self) -> Id {
        self.root
    }

    /// Size in bytes. Bytes after it in a file are not part of the pickle.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Number of values.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Returns the value at an index. An index of another pickle may be out of range and yields [`Value::None`].
    pub fn get(&self, id: Id) -> &Value {
        self.values.get(id.0 as usize).unwrap_or(&Value::None)
    }

    /// Returns the text at an index, if it is text.
    pub fn text(&self, id: Id) -> Option<&str> {
        match self.get(id) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the integer at an index, if it is an integer of 64 bits.
    pub fn int(&self, id: Id) -> Option<i64> {
        match self.get(id) {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the elements of a list or tuple.
    pub fn sequence(&self, id: Id) -> Option<&[Id]> {
        match self.get(id) {
            Value::List(elements) => Some(elements),
            Value::Tuple(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns the elements of a tuple.
    pub fn tuple(&self, id: Id) -> Option<&[Id]> {
        match self.get(id) {
            Value::Tuple(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns the object at an index, if it is one.
    pub fn object(&self, id: Id) -> Option<&Object> {
        match self.get(id) {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns module and name of a global.
    pub fn global(&self, id: Id) -> Option<(&str, &str)> {
        match self.get(id) {
            Value::Global { module, name } => Some((self.text(*module)?, self.text(*name)?)),
            _ => None,
        }
    }

    /// Number of entries of a dictionary; 0 for other values.
    pub fn entry_count(&self, dict: Id) -> usize {
        match self.get(dict) {
            Value::Dict(entries) => entries.len(),
            _ => 0,
        }
    }

    /// Returns the value of a text key in a dictionary.
    pub fn entry(&self, dict: Id, key: &str) -> Option<Id> {
        let Value::Dict(entries) = self.get(dict) else {
            return None;
        };
        let mut reversed = entries.iter().rev();
        let last = reversed.find(|(name, _)| self.text(*name) == Some(key));
        last.map(|(_, value)| *value)
    }
}
