//! Abilities of the server and its SQL types, for drivers.

use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::{
    SqlInfoData, SqlInfoDataBuilder, XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder,
};
use arrow_flight::sql::{
    Nullable, Searchable, SqlInfo, SqlNullOrdering, SqlOuterJoinsSupportLevel,
    SqlSupportedCaseSensitivity, SqlSupportedTransaction, SupportedSqlGrammar, XdbcDataType,
};
use tonic::Status;

/// Version of Arrow's format.
const ARROW_VERSION: &str = "1.5";

/// Types by SQL name, with the number of digits or bits of numbers.
const TYPES: [(&str, XdbcDataType, Option<i32>); 14] = [
    ("BOOLEAN", XdbcDataType::XdbcBit, None),
    ("TINYINT", XdbcDataType::XdbcTinyint, Some(8)),
    ("SMALLINT", XdbcDataType::XdbcSmallint, Some(16)),
    ("INTEGER", XdbcDataType::XdbcInteger, Some(32)),
    ("BIGINT", XdbcDataType::XdbcBigint, Some(64)),
    ("REAL", XdbcDataType::XdbcReal, Some(24)),
    ("DOUBLE", XdbcDataType::XdbcDouble, Some(53)),
    ("DECIMAL", XdbcDataType::XdbcDecimal, Some(38)),
    ("VARCHAR", XdbcDataType::XdbcVarchar, None),
    ("BYTEA", XdbcDataType::XdbcVarbinary, None),
    ("DATE", XdbcDataType::XdbcDate, None),
    ("TIME", XdbcDataType::XdbcTime, None),
    ("TIMESTAMP", XdbcDataType::XdbcTimestamp, None),
    ("INTERVAL", XdbcDataType::XdbcInterval, None),
];

/// Descriptions that do not depend on the store.
pub(crate) struct ServerInfo {
    pub(crate) abilities: SqlInfoData,
    pub(crate) types: XdbcTypeInfoData,
}

impl ServerInfo {
    pub(crate) fn new() -> Result<Self, FlightError> {
        let mut types = XdbcTypeInfoDataBuilder::new();
        for (name, data_type, size) in TYPES {
            types.append(type_info(name, data_type, size));
        }
        Ok(Self {
            abilities: abilities()?,
            types: types.build()?,
        })
    }
}

fn abilities() -> Result<SqlInfoData, FlightError> {
    let mut info = SqlInfoDataBuilder::new();
    info.append(SqlInfo::FlightSqlServerName, "tsql");
    info.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    info.append(SqlInfo::FlightSqlServerArrowVersion, ARROW_VERSION);
    info.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    info.append(SqlInfo::SqlCatalogTerm, "catalog");
    info.append(SqlInfo::SqlSchemaTerm, "schema");
    info.append(SqlInfo::SqlProcedureTerm, "procedure");
    info.append(SqlInfo::SqlSearchStringEscape, "\\");
    for (name, has) in [
        (SqlInfo::FlightSqlServerReadOnly, true),
        (SqlInfo::FlightSqlServerSql, true),
        (SqlInfo::FlightSqlServerSubstrait, false),
        (SqlInfo::FlightSqlServerCancel, false),
        (SqlInfo::FlightSqlServerBulkIngestion, false),
        (SqlInfo::SqlDdlCatalog, false),
        (SqlInfo::SqlDdlSchema, false),
        (SqlInfo::SqlDdlTable, false),
        (SqlInfo::SqlAllTablesAreSelectable, true),
        (SqlInfo::SqlCatalogAtStart, true),
        (SqlInfo::SqlSupportsColumnAliasing, true),
        (SqlInfo::SqlSupportsTableCorrelationNames, true),
        (SqlInfo::SqlSupportsExpressionsInOrderBy, true),
        (SqlInfo::SqlSupportsOrderByUnrelated, true),
        (SqlInfo::SqlSupportsLikeEscapeClause, true),
        (SqlInfo::SqlCorrelatedSubqueriesSupported, true),
        (SqlInfo::SqlTransactionsSupported, false),
        (SqlInfo::SqlStoredProceduresSupported, false),
        (SqlInfo::SqlBatchUpdatesSupported, false),
        (SqlInfo::SqlSavepointsSupported, false),
        (SqlInfo::SqlNamedParametersSupported, false),
    ] {
        info.append(name, has);
    }
    let none = SqlSupportedTransaction::None as i32;
    info.append(SqlInfo::FlightSqlServerTransaction, none);
    // Zero: no limit.
    info.append(SqlInfo::FlightSqlServerStatementTimeout, 0_i32);
    let lower = SqlSupportedCaseSensitivity::SqlCaseSensitivityLowercase as i64;
    info.append(SqlInfo::SqlIdentifierCase, lower);
    let as_is = SqlSupportedCaseSensitivity::SqlCaseSensitivityCaseInsensitive as i64;
    info.append(SqlInfo::SqlQuotedIdentifierCase, as_is);
    info.append(
        SqlInfo::SqlNullOrdering,
        SqlNullOrdering::SqlNullsSortedHigh as i64,
    );
    let full = SqlOuterJoinsSupportLevel::SqlFullOuterJoins as i32;
    info.append(SqlInfo::SqlOuterJoinsSupportLevel, 1_i32 << full);
    let core = 1_i32 << (SupportedSqlGrammar::SqlCoreGrammar as i32);
    info.append(SqlInfo::SqlSupportedGrammar, core);
    info.build()
}

fn type_info(name: &str, data_type: XdbcDataType, size: Option<i32>) -> XdbcTypeInfo {
    let is_text = matches!(data_type, XdbcDataType::XdbcVarchar);
    let is_decimal = matches!(data_type, XdbcDataType::XdbcDecimal);
    XdbcTypeInfo {
        type_name: name.to_owned(),
        data_type,
        column_size: size,
        literal_prefix: is_text.then(|| "'".to_owned()),
        literal_suffix: is_text.then(|| "'".to_owned()),
        nullable: Nullable::NullabilityNullable,
        case_sensitive: is_text,
        searchable: Searchable::Full,
        unsigned_attribute: size.map(|_| false),
        auto_increment: Some(false),
        local_type_name: Some(name.to_owned()),
        sql_data_type: data_type,
        num_prec_radix: size.map(|_| if is_decimal { 10 } else { 2 }),
        ..XdbcTypeInfo::default()
    }
}

pub(crate) fn flight_status(error: FlightError) -> Status {
    Status::from(error)
}
