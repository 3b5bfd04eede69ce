"""Counts arguments, operations and uses of values in model.py files with CPython's own parser.

Usage: graph_counts.py ROOT: prints JSON with the counts of arguments, operations and uses of values
for the directory of every model.py below ROOT, and the total of each operation. It is independent of
tsql's parser: it walks the syntax tree of `ast`.
"""

import ast
import collections
import json
import pathlib
import sys

OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift", ast.Eq: "eq", ast.NotEq: "ne",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.USub: "neg", ast.Invert: "invert",
    ast.Not: "not_", ast.UAdd: "pos",
}


def unwrapped(value):
    """Returns the call inside of `(lambda x, f: f(x))(CALL, lambda out: ...)`."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Lambda) and len(value.args) == 2:
        return value.args[0]
    return value


def op_name(value, known):
    if isinstance(value, ast.Call):
        func = value.func
        if isinstance(func, ast.Attribute):
            root = func.value
            while isinstance(root, ast.Attribute):
                root = root.value
            constant = isinstance(root, ast.Name) and root.id not in known
            return func.attr if constant else "Tensor." + func.attr
        return ast.unparse(func)
    if isinstance(value, ast.BinOp):
        return OPERATORS[type(value.op)]
    if isinstance(value, ast.UnaryOp):
        return OPERATORS[type(value.op)]
    if isinstance(value, ast.Compare):
        return OPERATORS[type(value.ops[0])]
    if isinstance(value, ast.Subscript):
        return "getitem"
    if isinstance(value, ast.Attribute):
        return "getattr"
    return None


def uses(node, known):
    return sum(isinstance(n, ast.Name) and n.id in known for n in ast.walk(node))


def count(text):
    """Returns arguments, nodes, edges and operation names of the method `forward`."""
    forward = next(
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name == "forward"
    )
    known = {a.arg for a in forward.args.args if a.arg != "self"}
    arguments, edges, ops = len(known), 0, []
    for stmt in forward.body:
        if isinstance(stmt, ast.AugAssign):
            ops.append("i" + OPERATORS[type(stmt.op)])
            edges += uses(stmt.target, known) + uses(stmt.value, known)
        elif isinstance(stmt, ast.Assign):
            value = unwrapped(stmt.value)
            if isinstance(value, ast.Constant) and value.value is None:
                continue
            if isinstance(value, ast.Name) and value.id in known and not isinstance(
                stmt.targets[0], ast.Subscript
            ):
                pass
            elif isinstance(stmt.targets[0], ast.Subscript):
                ops.append("setitem")
                edges += uses(stmt.targets[0], known) + uses(value, known)
            else:
                ops.append(op_name(value, known))
                edges += uses(value, known)
            for target in stmt.targets:
                named = (n for n in ast.walk(target) if isinstance(n, ast.Name))
                known |= {n.id for n in named if isinstance(n.ctx, ast.Store)}
        elif isinstance(stmt, ast.Expr):
            ops.append(op_name(stmt.value, known))
            edges += uses(stmt.value, known)
        elif not isinstance(stmt, (ast.Return, ast.Delete, ast.Pass)):
            return None
    return arguments, len(ops), edges, ops


def main():
    root = pathlib.Path(sys.argv[1])
    samples, names = {}, collections.Counter()
    for path in sorted(root.rglob("model.py")):
        counted = count(path.read_text())
        if counted is None:
            continue
        arguments, nodes, edges, ops = counted
        samples[str(path.parent.relative_to(root))] = [arguments, nodes, edges]
        names.update(op for op in ops if op is not None)
    json.dump({"samples": samples, "ops": names}, sys.stdout)


if __name__ == "__main__":
    main()
