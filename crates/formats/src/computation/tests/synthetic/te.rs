//! Programs as arrays of `te` tensors.

use super::Program;
use super::nodes::Writer;

impl Writer {
    /// Node index of the array of inputs and result.
    pub(super) fn te(&mut self, program: &Program) -> usize {
        let dtype = program.dtype;
        for shape in &program.inputs {
            let shape = self.indices(shape);
            let operation = self.node(
                "PlaceholderOp",
                &format!("shape={shape} dtype:{dtype} name:p tag:"),
            );
            let tensor = format!("op={operation} shape={shape} dtype:{dtype} value_index=0");
            let tensor = self.node("Tensor", &tensor);
            self.tensors.push(tensor);
        }
        for stage in &program.stages {
            self.axes.clear();
            let axis = self.iteration_axes(&stage.shape, 0);
            let (axis, mut reduced_axes) = (self.array(&axis), Vec::new());
            if let Some((_, extents, _)) = &stage.reduction {
                reduced_axes = self.iteration_axes(extents, 2);
            }
            let reduced_axes = self.array(&reduced_axes);
            let mut body = self.expression(&stage.body, dtype);
            if let Some((operator, _, initial)) = &stage.reduction {
                let (x, y) = (self.variable(dtype), self.variable(dtype));
                let result = self.tir(operator, &format!("a={x} b={y} dtype:{dtype}"));
                let initial = self.float(dtype, *initial);
                let [x, y, result, initial, body_] =
                    [x, y, result, initial, body].map(|one| self.array(&[one]));
                let reducer = format!("lhs={x} rhs={y} result={result} identity_element={initial}");
                let (reducer, condition) =
                    (self.tir("CommReducer", &reducer), self.integer("bool", 1));
                let none = self.array(&[]);
                body = self.tir(
                    "Reduce",
                    &format!(
                        "axis={reduced_axes} combiner={reducer} condition={condition} dtype:{dtype} init={none} \
                         source={body_} value_index=0"
                    ),
                );
            }
            let body = self.array(&[body]);
            let operation =
                format!("axis={axis} reduce_axis={reduced_axes} body={body} name:c tag: attrs=0");
            let operation = self.node("ComputeOp", &operation);
            let tensor = format!("op={operation} shape={axis} dtype:{dtype} value_index=0");
            let tensor = self.node("Tensor", &tensor);
            self.tensors.push(tensor);
        }
        let tensors = self.tensors.clone();
        let (last, inputs) = (tensors.last().copied(), &tensors[..program.inputs.len()]);
        let outputs: Vec<usize> = inputs.iter().copied().chain(last).collect();
        self.array(&outputs)
    }
}
