//! What a pickle holds: values that refer to each other by their places in one list.

/// How many values a pickle may have. The 27 tasks of a network of TenSet have 899, so all 2,308 some 80,000.
pub const MAX_VALUES: usize = 1 << 22;

/// The place of a value in its [`Pickle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(u32);

/// A value of Python, inert.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// A whole number that is larger, as bytes: two's complement, the lowest first.
    Wide(Box<[u8]>),
    /// A whole number that is larger, as decimal digits, maybe behind a sign.
    Digits(Box<str>),
    /// A number with a fraction.
    Float(f64),
    /// Text; bytes of Python 2 where they are text.
    Text(Box<str>),
    /// Bytes.
    Bytes(Box<[u8]>),
    /// Bytes that may be changed.
    ByteArray(Box<[u8]>),
    /// A list.
    List(Vec<Id>),
    /// A tuple.
    Tuple(Box<[Id]>),
    /// Keys and values in their order. A key that comes twice counts with its last value.
    Dict(Vec<(Id, Id)>),
    /// A set, in the order it was filled.
    Set(Vec<Id>),
    /// A set that may not be changed.
    FrozenSet(Box<[Id]>),
    /// The name of a class or function, which nobody looks up.
    Global {
        /// The text that names its module.
        module: Id,
        /// The text that names it there.
        name: Id,
    },
    /// What Python would make by a call.
    Object(Box<Object>),
}

/// What a call would make, and what it was told afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// What would be called: a global, or what another call would make.
    pub class: Id,
    /// The tuple of arguments.
    pub arguments: Id,
    /// The dictionary of arguments with names.
    pub named: Option<Id>,
    /// What `__setstate__` would be called with, or its attributes.
    pub state: Option<Id>,
    /// What would be appended or added to it.
    pub items: Vec<Id>,
    /// What would be set in it by keys.
    pub entries: Vec<(Id, Id)>,
}

/// A pickle that was read.
#[derive(Clone, Debug)]
pub struct Pickle {
    values: Vec<Value>,
    root: Id,
    /// How many bytes it took, up to and with the one that ends it.
    length: usize,
}

impl Pickle {
    /// A pickle without a value yet.
    pub(super) fn empty() -> Self {
        Self {
            values: Vec::new(),
            root: Id(0),
            length: 0,
        }
    }

    /// Takes a value up; `None` where there are too many.
    pub(super) fn add(&mut self, value: Value) -> Option<Id> {
        let id = u32::try_from(self.values.len()).ok()?;
        if self.values.len() >= MAX_VALUES {
            return None;
        }
        self.values.push(value);
        Some(Id(id))
    }

    /// Says which value it is, and how long it was.
    pub(super) fn finished(mut self, root: Id, length: usize) -> Self {
        self.root = root;
        self.length = length;
        self
    }

    /// The value, to be changed.
    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Value> {
        self.values.get_mut(id.0 as usize)
    }

    /// The value that it is.
    pub fn root(&self) -> Id {
        self.root
    }

    /// How many bytes it took; what follows them in a file is not of it.
    pub fn length(&self) -> usize {
        self.length
    }

    /// How many values there are.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// The value at a place. A place of another pickle may be none here, and is [`Value::None`] then.
    pub fn get(&self, id: Id) -> &Value {
        self.values.get(id.0 as usize).unwrap_or(&Value::None)
    }

    /// The text at a place, if it is one.
    pub fn text(&self, id: Id) -> Option<&str> {
        match self.get(id) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The whole number at a place, if it is one of 64 bits.
    pub fn int(&self, id: Id) -> Option<i64> {
        match self.get(id) {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The elements of a list or tuple.
    pub fn sequence(&self, id: Id) -> Option<&[Id]> {
        match self.get(id) {
            Value::List(elements) => Some(elements),
            Value::Tuple(elements) => Some(elements),
            _ => None,
        }
    }

    /// The elements of a tuple.
    pub fn tuple(&self, id: Id) -> Option<&[Id]> {
        match self.get(id) {
            Value::Tuple(elements) => Some(elements),
            _ => None,
        }
    }

    /// The object at a place, if it is one.
    pub fn object(&self, id: Id) -> Option<&Object> {
        match self.get(id) {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Module and name of a global.
    pub fn global(&self, id: Id) -> Option<(&str, &str)> {
        match self.get(id) {
            Value::Global { module, name } => Some((self.text(*module)?, self.text(*name)?)),
            _ => None,
        }
    }

    /// How many entries a dictionary has; 0 of what is none.
    pub fn entry_count(&self, dict: Id) -> usize {
        match self.get(dict) {
            Value::Dict(entries) => entries.len(),
            _ => 0,
        }
    }

    /// What a dictionary has under a text.
    pub fn entry(&self, dict: Id, key: &str) -> Option<Id> {
        let Value::Dict(entries) = self.get(dict) else {
            return None;
        };
        let mut backwards = entries.iter().rev();
        let found = backwards.find(|(name, _)| self.text(*name) == Some(key));
        found.map(|(_, value)| *value)
    }
}
