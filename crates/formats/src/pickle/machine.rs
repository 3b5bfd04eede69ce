//! Virtual machine that executes a pickle and only records its operations.

use std::collections::HashMap;

use ahash::RandomState;

use super::error::Error;
use super::input::PickleInput;
use super::scalars::read_scalar;
use super::value::{Id, MAX_VALUES, Object, Pickle, Value};

/// Newest supported protocol.
const MAX_PROTOCOL: u8 = 5;

/// Reads one pickle from the front of `bytes`; [`Pickle::length`] is its size.
///
/// # Errors
/// Returns an error for invalid pickles, and for those that need external data: persistent ids, registered extensions,
/// buffers.
pub fn read(bytes: &[u8]) -> Result<Pickle, Error> {
    let mut machine = PickleMachine {
        input: PickleInput::new(bytes),
        values: Pickle::empty(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::default(),
    };
    loop {
        let operation = machine.input.next_operation()?;
        if operation == b'.' {
            let root = machine.pop()?;
            let length = machine.input.position();
            return Ok(machine.values.with_root(root, length));
        }
        machine.execute(operation)?;
    }
}

/// State of the machine.
struct PickleMachine<'a> {
    input: PickleInput<'a>,
    values: Pickle,
    stack: Vec<Id>,
    /// Height of the stack at each mark.
    marks: Vec<usize>,
    memo: HashMap<u64, Id, RandomState>,
}

impl PickleMachine<'_> {
    /// Executes one operation.
    fn execute(&mut self, operation: u8) -> Result<(), Error> {
        if let Some(value) = read_scalar(operation, &mut self.input)? {
            return self.push(value);
        }
        match operation {
            // PROTO, FRAME
            0x80 => self.protocol(),
            0x95 => {
                let length = self.input.read_length8()?;
                self.input.check_length(length).map(drop)
            }
            // MARK, POP, POP_MARK, DUP
            b'(' | b'0' | b'1' | b'2' => self.stack_operation(operation),
            // PUT, BINPUT, LONG_BINPUT, MEMOIZE, GET, BINGET, LONG_BINGET
            b'p' | b'q' | b'r' | 0x94 | b'g' | b'h' | b'j' => self.memo_operation(operation),
            // TUPLE, TUPLE1 to TUPLE3, LIST, DICT, FROZENSET
            b't' | 0x85..=0x87 | b'l' | b'd' | 0x91 => self.build_collection(operation),
            // APPEND, APPENDS, ADDITEMS
            b'a' => {
                let item = self.pop()?;
                self.extend(vec![item], operation)
            }
            b'e' | 0x90 => {
                let items = self.pop_to_mark()?;
                self.extend(items, operation)
            }
            // SETITEM, SETITEMS
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.set(vec![(key, value)])
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                let entries = self.pairs(&items)?;
                self.set(entries)
            }
            // GLOBAL, STACK_GLOBAL, REDUCE, NEWOBJ, NEWOBJ_EX, INST, OBJ, BUILD
            b'c' | 0x93 | b'R' | 0x81 | 0x92 | b'i' | b'o' | b'b' => self.make_object(operation),
            b'P' | b'Q' => self.fail("a persistent id of an object that is not in the pickle"),
            0x82..=0x84 => {
                self.fail("a registered extension with a name that is not in the pickle")
            }
            0x97 | 0x98 => self.fail("a buffer that is not in the pickle"),
            _ => self.fail(format!("unknown pickle operation {operation:#04x}")),
        }
    }

    fn fail(&self, reason: impl Into<String>) -> Result<(), Error> {
        Err(self.input.error(reason))
    }

    fn protocol(&mut self) -> Result<(), Error> {
        match self.input.read_byte()? {
            0..=MAX_PROTOCOL => Ok(()),
            other => self.fail(format!("protocol {other}, expected at most {MAX_PROTOCOL}")),
        }
    }

    /// Adds a value.
    fn add(&mut self, value: Value) -> Result<Id, Error> {
        let id = self.values.add(value);
        id.ok_or_else(|| self.input.error(format!("more than {MAX_VALUES} values")))
    }

    fn push(&mut self, value: Value) -> Result<(), Error> {
        let id = self.add(value)?;
        self.stack.push(id);
        Ok(())
    }

    /// Height of the stack at the last mark. Values below the mark are not popped.
    fn mark_height(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn top(&self) -> Result<Id, Error> {
        let values = self.stack.get(self.mark_height()..).unwrap_or_default();
        let top = values.last().copied();
        top.ok_or_else(|| self.input.error("the stack has no value"))
    }

    fn pop(&mut self) -> Result<Id, Error> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Id>, Error> {
        let Some(mark) = self.marks.pop() else {
            return Err(self.input.error("the stack has no mark"));
        };
        // The stack is never lower than its marks. The drained values get an allocation of their exact size.
        let mark = mark.min(self.stack.len());
        Ok(self.stack.drain(mark..).collect())
    }

    fn stack_operation(&mut self, operation: u8) -> Result<(), Error> {
        match operation {
            b'(' => self.marks.push(self.stack.len()),
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
            }
            b'0' if self.marks.last() == Some(&self.stack.len()) => drop(self.marks.pop()),
            b'0' => drop(self.pop()?),
            _ => drop(self.pop_to_mark()?),
        }
        Ok(())
    }

    fn memo_operation(&mut self, operation: u8) -> Result<(), Error> {
        let index = match operation {
            b'p' | b'g' => {
                let line = self.input.read_ascii_line()?.trim();
                let index = line.parse();
                index.map_err(|_| self.input.error(format!("{line:?} is not a memo index")))?
            }
            b'q' | b'h' => self.input.read_length1()?,
            b'r' | b'j' => self.input.read_length4()?,
            _ => self.memo.len() as u64,
        };
        if matches!(operation, b'g' | b'h' | b'j') {
            let Some(&value) = self.memo.get(&index) else {
                return self.fail(format!("the memo has no entry {index}"));
            };
            self.stack.push(value);
        } else {
            let top = self.top()?;
            self.memo.insert(index, top);
        }
        Ok(())
    }

    /// Builds a collection from values on the stack.
    fn build_collection(&mut self, operation: u8) -> Result<(), Error> {
        let items = match operation {
            0x85..=0x87 => {
                let count = usize::from(operation - 0x84);
                let mut items: Vec<Id> =
                    (0..count).map(|_| self.pop()).collect::<Result<_, _>>()?;
                items.reverse();
                items
            }
            _ => self.pop_to_mark()?,
        };
        let value = match operation {
            b'l' => Value::List(items),
            b'd' => Value::Dict(self.pairs(&items)?),
            0x91 => Value::FrozenSet(items.into()),
            _ => Value::Tuple(items.into()),
        };
        self.push(value)
    }

    fn pairs(&self, items: &[Id]) -> Result<Vec<(Id, Id)>, Error> {
        let (pairs, rest) = items.as_chunks();
        if !rest.is_empty() {
            return Err(self.input.error("a key without a value"));
        }
        Ok(pairs.iter().map(|&[key, value]| (key, value)).collect())
    }

    /// Adds items to the collection on top of the stack.
    fn extend(&mut self, items: Vec<Id>, operation: u8) -> Result<(), Error> {
        let top = self.top()?;
        match self.values.get_mut(top) {
            Some(Value::List(list)) if operation != 0x90 => list.extend(items),
            Some(Value::Set(set)) if operation == 0x90 => set.extend(items),
            Some(Value::Object(object)) => object.items.extend(items),
            _ => return self.fail("items for a value that is not a list, set or object"),
        }
        Ok(())
    }

    /// Adds entries to the dictionary on top of the stack.
    fn set(&mut self, entries: Vec<(Id, Id)>) -> Result<(), Error> {
        let top = self.top()?;
        match self.values.get_mut(top) {
            Some(Value::Dict(dict)) => dict.extend(entries),
            Some(Value::Object(object)) => object.entries.extend(entries),
            _ => return self.fail("entries for a value that is not a dictionary or object"),
        }
        Ok(())
    }

    /// Records a name, a call, or the state of the object of a call.
    fn make_object(&mut self, operation: u8) -> Result<(), Error> {
        match operation {
            b'c' => {
                let global = self.read_text_global()?;
                self.stack.push(global);
                Ok(())
            }
            0x93 => {
                let name = self.pop()?;
                let module = self.pop()?;
                if self.values.text(module).is_none() || self.values.text(name).is_none() {
                    return self.fail("a name that is not text");
                }
                self.push(Value::Global { module, name })
            }
            b'i' => {
                let items = self.pop_to_mark()?;
                let class = self.read_text_global()?;
                let arguments = self.add(Value::Tuple(items.into()))?;
                self.record_call(class, arguments, None)
            }
            b'o' => {
                let items = self.pop_to_mark()?;
                let Some((&class, items)) = items.split_first() else {
                    return self.fail("a call without a function");
                };
                let arguments = self.add(Value::Tuple(items.into()))?;
                self.record_call(class, arguments, None)
            }
            0x92 => {
                let keyword_arguments = self.pop()?;
                let arguments = self.pop()?;
                let class = self.pop()?;
                self.record_call(class, arguments, Some(keyword_arguments))
            }
            b'b' => self.set_state(),
            _ => {
                let arguments = self.pop()?;
                let class = self.pop()?;
                self.record_call(class, arguments, None)
            }
        }
    }

    /// Reads a name from two lines.
    fn read_text_global(&mut self) -> Result<Id, Error> {
        let mut lines = [Value::None, Value::None];
        for line in &mut lines {
            let text = std::str::from_utf8(self.input.read_line()?);
            let text = text.map_err(|_| self.input.error("a name that is not UTF-8"))?;
            *line = Value::Text(text.into());
        }
        let [module, name] = lines;
        let (module, name) = (self.add(module)?, self.add(name)?);
        self.add(Value::Global { module, name })
    }

    /// Records a call without executing it.
    fn record_call(
        &mut self,
        class: Id,
        arguments: Id,
        keyword_arguments: Option<Id>,
    ) -> Result<(), Error> {
        let is_callable = matches!(
            self.values.get(class),
            Value::Global { .. } | Value::Object(_)
        );
        if !is_callable {
            return self.fail("a call of a value that is not a class or function");
        }
        if self.values.tuple(arguments).is_none() {
            return self.fail("arguments that are not a tuple");
        }
        if keyword_arguments.is_some_and(|keyword_arguments| {
            !matches!(self.values.get(keyword_arguments), Value::Dict(_))
        }) {
            return self.fail("keyword arguments that are not a dictionary");
        }
        self.push(Value::Object(Box::new(Object {
            class,
            arguments,
            named: keyword_arguments,
            state: None,
            items: Vec::new(),
            entries: Vec::new(),
        })))
    }

    /// Sets the state of the object on top of the stack.
    fn set_state(&mut self) -> Result<(), Error> {
        let state = self.pop()?;
        let top = self.top()?;
        match self.values.get_mut(top) {
            Some(Value::Object(object)) if object.state.is_none() => {
                object.state = Some(state);
                Ok(())
            }
            Some(Value::Object(_)) => self.fail("a second state for the same object"),
            _ => self.fail("a state for a value that is not an object"),
        }
    }
}
