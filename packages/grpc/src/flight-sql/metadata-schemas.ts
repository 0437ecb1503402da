import { Binary, Bool, type DataType, Field, Int32, List, Schema, Uint8, Utf8 } from 'apache-arrow';

const utf8 = new Utf8();
const int32 = new Int32();
const bool = new Bool();
const optional = (name: string, type: DataType = utf8): Field => new Field(name, type, true);
const required = (name: string, type: DataType = utf8): Field => new Field(name, type, false);

/** The schema of CommandGetCatalogs. Clients compare these schemas exactly. */
export const CATALOGS_SCHEMA: Schema = new Schema([required('catalog_name')]);

/** The schema of CommandGetDbSchemas. */
export const DB_SCHEMAS_SCHEMA: Schema = new Schema([optional('catalog_name'), required('db_schema_name')]);

/** The schema of CommandGetTableTypes. */
export const TABLE_TYPES_SCHEMA: Schema = new Schema([required('table_type')]);

const TABLE_FIELDS = [
  optional('catalog_name'),
  optional('db_schema_name'),
  required('table_name'),
  required('table_type'),
];

/** The schema of CommandGetTables. */
export const TABLES_SCHEMA: Schema = new Schema(TABLE_FIELDS);

/** The schema of CommandGetTables with the schemas of the tables. */
export const TABLES_WITH_SCHEMAS_SCHEMA: Schema = new Schema([...TABLE_FIELDS, required('table_schema', new Binary())]);

/** The schema of CommandGetPrimaryKeys. */
export const PRIMARY_KEYS_SCHEMA: Schema = new Schema([
  optional('catalog_name'),
  optional('db_schema_name'),
  required('table_name'),
  required('column_name'),
  required('key_sequence', int32),
  optional('key_name'),
]);

/** The schema of CommandGetExportedKeys, CommandGetImportedKeys and CommandGetCrossReference. */
export const FOREIGN_KEYS_SCHEMA: Schema = new Schema([
  optional('pk_catalog_name'),
  optional('pk_db_schema_name'),
  required('pk_table_name'),
  required('pk_column_name'),
  optional('fk_catalog_name'),
  optional('fk_db_schema_name'),
  required('fk_table_name'),
  required('fk_column_name'),
  required('key_sequence', int32),
  optional('fk_key_name'),
  optional('pk_key_name'),
  required('update_rule', new Uint8()),
  required('delete_rule', new Uint8()),
]);

/** The schema of CommandGetXdbcTypeInfo. */
export const XDBC_TYPES_SCHEMA: Schema = new Schema([
  required('type_name'),
  required('data_type', int32),
  optional('column_size', int32),
  optional('literal_prefix'),
  optional('literal_suffix'),
  optional('create_params', new List(required('item'))),
  required('nullable', int32),
  required('case_sensitive', bool),
  required('searchable', int32),
  optional('unsigned_attribute', bool),
  required('fixed_prec_scale', bool),
  optional('auto_increment', bool),
  optional('local_type_name'),
  optional('minimum_scale', int32),
  optional('maximum_scale', int32),
  required('sql_data_type', int32),
  optional('datetime_subcode', int32),
  optional('num_prec_radix', int32),
  optional('interval_precision', int32),
]);
