//! PostgreSQL dialect with DuckDB extensions.
//!
//! It differs from PostgreSQL in the names of arguments: there a name may be any expression. The parser would then read
//! each argument of a call twice, first as a name and then as a value, so parsing 30 nested calls would take days. Here
//! the name of an argument is a word.

mod in_list;
mod integer_division;
pub(crate) mod leading;
pub(crate) mod pieces;

use datafusion::sql::sqlparser::ast::{Expr, Statement};
use datafusion::sql::sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

/// The SQL dialect of tsql.
#[derive(Debug)]
pub(crate) struct TsqlDialect;

/// Methods in which [`PostgreSqlDialect`] differs from the default dialect.
macro_rules! as_postgres {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> $result {
            PostgreSqlDialect {}.$name($($argument),*)
        })*
    };
}

/// Extensions of PostgreSQL's syntax.
macro_rules! also {
    ($($name:ident;)*) => {
        $(fn $name(&self) -> bool {
            true
        })*
    };
}

impl Dialect for TsqlDialect {
    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    fn parse_statement(&self, parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
        leading::parse_statement(parser).or_else(|| PostgreSqlDialect {}.parse_statement(parser))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        in_list::parse_in_list(parser, expr)
            .or_else(|| integer_division::parse(parser, expr, precedence))
            .or_else(|| PostgreSqlDialect {}.parse_infix(parser, expr, precedence))
    }

    also! {
        support_map_literal_syntax;
        supports_dictionary_syntax;
        supports_from_first_select;
        supports_lambda_functions;
        supports_named_fn_args_with_assignment_operator;
        supports_order_by_all;
        supports_select_wildcard_except;
        supports_select_wildcard_exclude;
        supports_select_wildcard_rename;
        supports_select_wildcard_replace;
        supports_window_function_null_treatment_arg;
    }

    as_postgres! {
        dialect() -> std::any::TypeId;
        allow_extract_custom() -> bool;
        allow_extract_single_quotes() -> bool;
        get_next_precedence(parser: &Parser<'_>) -> Option<Result<u8, ParserError>>;
        identifier_quote_style(identifier: &str) -> Option<char>;
        is_custom_operator_part(ch: char) -> bool;
        is_delimited_identifier_start(ch: char) -> bool;
        is_identifier_part(ch: char) -> bool;
        is_identifier_start(ch: char) -> bool;
        is_reserved_for_identifier(keyword: Keyword) -> bool;
        parse_prefix(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>>;
        prec_value(precedence: Precedence) -> u8;
        supports_alter_column_type_using() -> bool;
        supports_array_typedef_with_brackets() -> bool;
        supports_bitwise_shift_operators() -> bool;
        supports_comma_separated_trim() -> bool;
        supports_comment_on() -> bool;
        supports_comment_optimizer_hint() -> bool;
        supports_create_index_with_clause() -> bool;
        supports_create_table_like_parenthesized() -> bool;
        supports_empty_projections() -> bool;
        supports_explain_with_utility_options() -> bool;
        supports_factorial_operator() -> bool;
        supports_filter_during_aggregation() -> bool;
        supports_geometric_types() -> bool;
        supports_group_by_expr() -> bool;
        supports_insert_table_alias() -> bool;
        supports_interval_options() -> bool;
        supports_listen_notify() -> bool;
        supports_load_extension() -> bool;
        supports_named_fn_args_with_colon_operator() -> bool;
        supports_nested_comments() -> bool;
        supports_notnull_operator() -> bool;
        supports_numeric_literal_underscores() -> bool;
        supports_select_wildcard_with_alias() -> bool;
        supports_set_names() -> bool;
        supports_string_escape_constant() -> bool;
        supports_unicode_string_literal() -> bool;
        supports_xml_expressions() -> bool;
    }
}
