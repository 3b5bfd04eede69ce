//! Types of lists that are values of placeholders.
//!
//! | input | rewritten |
//! |---|---|
//! | `unnest($a)` | `unnest(arrow_cast($a, 'List(Int64)'))` |
//!
//! The planner plans a call before values are bound. It has no type for `$a`, which `unnest` and functions of lists need.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::str::FromStr as _;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value, VisitorMut,
};

use super::walk::visit_statement;
use crate::syntax::pieces::{call, null_expr, string_literal};

/// Casts the placeholders whose `values` are lists to their types, if they are arguments of functions.
pub fn cast_list_arguments(statement: &mut Statement, values: &[(String, ScalarValue)]) {
    let types = values.iter().filter_map(|(name, value)| {
        let data_type = value.data_type();
        let text = data_type.to_string();
        let is_known = DataType::from_str(&text).is_ok_and(|read| read == data_type);
        (data_type.is_list() && is_known).then(|| (format!("${name}"), text))
    });
    let mut casts = ListCasts {
        types: types.collect(),
    };
    if !casts.types.is_empty() {
        let ControlFlow::Continue(()) = visit_statement(statement, &mut casts);
    }
}

struct ListCasts {
    /// Type of each list, by its placeholder.
    types: HashMap<String, String>,
}

impl VisitorMut for ListCasts {
    type Break = std::convert::Infallible;

    // After the arguments: the cast has the placeholder as its own argument.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        let FunctionArguments::List(list) = &mut function.args else {
            return ControlFlow::Continue(());
        };
        for argument in &mut list.args {
            if let FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) = argument
                && let Some(list_type) = self.type_of(value)
            {
                let list_type = string_literal(list_type);
                let placeholder = std::mem::replace(value, null_expr());
                *value = call("arrow_cast", vec![placeholder, list_type]);
            }
        }
        ControlFlow::Continue(())
    }
}

impl ListCasts {
    fn type_of(&self, expr: &Expr) -> Option<&str> {
        let Expr::Value(value) = expr else {
            return None;
        };
        match &value.value {
            Value::Placeholder(name) => self.types.get(name).map(String::as_str),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::common::ScalarValue;

    use super::super::parse_statements;
    use super::*;

    #[test]
    fn lists_have_their_types_in_calls() {
        let numbers = [1_i64, 2].map(|number| ScalarValue::Int64(Some(number)));
        let list = ScalarValue::new_list_nullable(&numbers, &DataType::Int64);
        let values = [
            ("a".to_owned(), ScalarValue::List(list)),
            ("b".to_owned(), ScalarValue::Int64(Some(1))),
        ];
        let sql = "SELECT x FROM t WHERE x IN (SELECT unnest($a)) AND y = $a AND z = abs($b)";
        let mut statement = parse_statements(sql).unwrap().pop_front().unwrap();
        cast_list_arguments(&mut statement, &values);
        let wanted = "SELECT x FROM t WHERE x IN (SELECT unnest(arrow_cast($a, 'List(Int64)')) AS \"unnest($a)\") \
                      AND y = $a AND z = abs($b)";
        assert_eq!(statement.to_string(), wanted);
    }
}
