//! Programs as TIR modules.

use super::nodes::Writer;
use super::{Program, Stage, Tool};

impl Writer {
    /// Node index of the module.
    pub(super) fn module(&mut self, program: &Program) -> usize {
        let shapes = program.stages.iter().map(|stage| &stage.shape);
        for shape in program.inputs.iter().chain(shapes) {
            let (shape, offset, none) = (self.indices(shape), self.index(0), self.array(&[]));
            let buffer = format!("shape={shape} strides={none} elem_offset={offset}");
            let buffer = if self.is_later() {
                let dtype = self.node("ir.PrimType", &format!("dtype:{}", program.dtype));
                let ty = self.node(
                    "tirx.BufferType",
                    &format!("{buffer} dtype={dtype} layout=0"),
                );
                self.node("ir.Var", &format!("ty={ty}"))
            } else {
                let data = self.variable("handle");
                let dtype = program.dtype;
                self.node(
                    "tir.Buffer",
                    &format!("{buffer} dtype:{dtype} data={data} axis_separators={none}"),
                )
            };
            self.tensors.push(buffer);
        }
        let stage_tensors: Vec<usize> = (program.inputs.len()..self.tensors.len()).collect();
        let nests = stage_tensors.iter().zip(&program.stages);
        let nests: Vec<usize> = nests
            .map(|(&tensor, stage)| self.nest(tensor, stage, program.dtype))
            .collect();
        let nests = self.array(&nests);
        let body = self.tir("SeqStmt", &format!("seq={nests}"));
        let mut parameters = self.tensors.clone();
        let out = parameters.pop().unwrap();
        let allocated = parameters.split_off(program.inputs.len());
        parameters.push(out);
        let allocated = self.array(&allocated);
        let body = self.block(&[], &[], allocated, body, None);
        self.function(&parameters, body)
    }

    fn function(&mut self, parameters: &[usize], body: usize) -> usize {
        let (mut variables, mut map) = (parameters.to_vec(), String::new());
        if !self.is_later() {
            variables = parameters.iter().map(|_| self.variable("handle")).collect();
            let pairs: Vec<usize> = variables
                .iter()
                .zip(parameters)
                .flat_map(|(&a, &b)| [a, b])
                .collect();
            let pairs = self.add(format!("{{\"type_key\": \"Map\", \"data\": {pairs:?}}}"));
            map = format!(" buffer_map={pairs}");
        }
        let variables = self.array(&variables);
        let function = self.tir("PrimFunc", &format!("params={variables} body={body}{map}"));
        let (kind, name, module) = match self.tool {
            Tool::Later => ("type", "ffi.Map", "ir.IRModule"),
            _ => ("type_key", "Map", "IRModule"),
        };
        let global_variable = self.node("GlobalVar", "name_hint=0");
        let functions = self.add(format!(
            "{{\"{kind}\": \"{name}\", \"data\": [{global_variable}, {function}]}}"
        ));
        self.node(module, &format!("functions={functions}"))
    }

    fn nest(&mut self, tensor: usize, stage: &Stage, dtype: &str) -> usize {
        self.axes.clear();
        let mut axes = self.iteration_axes(&stage.shape, 0);
        let spatial = self.axes.clone();
        let mut extents = stage.shape.clone();
        if let Some((_, reduced_extents, _)) = &stage.reduction {
            axes.extend(self.iteration_axes(reduced_extents, 2));
            extents.extend(reduced_extents);
        }
        let mut body = self.expression(&stage.body, dtype);
        let mut init = None;
        if let Some((operator, _, initial)) = &stage.reduction {
            let (element, type_attribute) = (self.load(tensor, &spatial, dtype), self.dtype(dtype));
            body = self.tir(operator, &format!("a={element} b={body} {type_attribute}"));
            let initial = self.float(dtype, *initial);
            init = Some(self.store(tensor, &spatial, initial));
        }
        let body = self.store(tensor, &spatial, body);
        let loops: Vec<usize> = extents
            .iter()
            .map(|_| self.variable(self.axis_dtype()))
            .collect();
        let none = self.array(&[]);
        let mut statement = self.block(&axes, &loops, none, body, init);
        for (&variable, &extent) in loops.iter().zip(&extents).rev() {
            let (minimum, extent) = (self.index(0), self.index(extent));
            let attributes = format!(
                "loop_var={variable} min={minimum} extent={extent} kind=0 body={statement}"
            );
            statement = self.tir("For", &format!("{attributes} thread_binding=0"));
        }
        statement
    }

    fn store(&mut self, tensor: usize, indices: &[usize], value: usize) -> usize {
        let (indices, buffer) = (self.array(indices), self.tensors[tensor]);
        self.tir(
            "BufferStore",
            &format!("buffer={buffer} indices={indices} value={value}"),
        )
    }

    /// Adds a block and its realization.
    fn block(
        &mut self,
        axes: &[usize],
        values: &[usize],
        allocated: usize,
        body: usize,
        init: Option<usize>,
    ) -> usize {
        let (axes, values, none) = (self.array(axes), self.array(values), self.array(&[]));
        let (block, realize) = match self.tool {
            Tool::Later => ("SBlock", "SBlockRealize"),
            _ => ("Block", "BlockRealize"),
        };
        let init = init.unwrap_or(0);
        let block = self.tir(
            block,
            &format!("iter_vars={axes} alloc_buffers={allocated} match_buffers={none} body={body} init={init}"),
        );
        let predicate = self.integer("bool", 1);
        self.tir(
            realize,
            &format!("iter_values={values} block={block} predicate={predicate}"),
        )
    }
}
