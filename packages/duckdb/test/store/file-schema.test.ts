import { tmpdir } from 'node:os';
import { DuckDBInstance } from '@duckdb/node-api';
import { childrenOf, keyAndValueOf, typeOf } from '@svc/frames/columns';
import { streamOfSample } from '@svc/frames/testing';
import { DataType, type Field, Precision, TimeUnit } from 'apache-arrow';
import { afterAll, expect, test } from 'vitest';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import { STORABLE_FRAMES } from '../../src/testing/files-fixture.ts';
import { createStoreFixture, refOf } from '../../src/testing/store-fixture.ts';
import { sqlName } from '../../src/wire/sql-names.ts';

const files = createFrameFiles({ tempDirectory: tmpdir() });
const fixture = await createStoreFixture(files);
const store = await fixture.open();
const duckdb = await DuckDBInstance.create(':memory:');
const connection = await duckdb.connect();

afterAll(async () => {
  connection.closeSync();
  duckdb.closeSync();
  await fixture.remove();
  await files.close();
});

const INTEGERS = ['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT'];

/** The type that DuckDB's DESCRIBE shows for a column. */
function duckName(field: Field): string {
  const type = typeOf(field);
  const [child] = childrenOf(field);
  if (DataType.isBool(type)) return 'BOOLEAN';
  if (DataType.isInt(type)) return `${type.isSigned ? '' : 'U'}${INTEGERS[Math.log2(type.bitWidth) - 3] ?? ''}`;
  if (DataType.isFloat(type)) return type.precision === Precision.DOUBLE ? 'DOUBLE' : 'FLOAT';
  if (DataType.isUtf8(type)) return 'VARCHAR';
  if (DataType.isBinary(type)) return 'BLOB';
  if (DataType.isFixedSizeBinary(type)) return 'UUID';
  if (DataType.isDecimal(type)) return `DECIMAL(${type.precision},${type.scale})`;
  if (DataType.isDate(type)) return 'DATE';
  if (DataType.isTime(type)) return 'TIME';
  if (DataType.isTimestamp(type)) {
    if (type.unit === TimeUnit.NANOSECOND) return 'TIMESTAMP_NS';
    return type.timezone ? 'TIMESTAMP WITH TIME ZONE' : 'TIMESTAMP';
  }
  if (DataType.isMap(type)) return `MAP(${keyAndValueOf(field).map(duckName).join(', ')})`;
  if (DataType.isList(type)) return `${child === undefined ? '' : duckName(child)}[]`;
  if (DataType.isStruct(type)) {
    return `STRUCT(${childrenOf(field)
      .map((one) => `${sqlName(one.name)} ${duckName(one)}`)
      .join(', ')})`;
  }
  throw new Error(`${field.name} has a type that files do not have.`);
}

test.each(STORABLE_FRAMES)('$name: the columns of the file are those that DuckDB finds in it', async (sample) => {
  await store.put(refOf('sample'), streamOfSample(sample));
  const pin = await store.pin({ tenant: 'default', name: 'SAMPLE' });
  try {
    const [path = ''] = pin?.paths ?? [];
    const described = await connection.runAndReadAll(`DESCRIBE FROM read_parquet('${path}')`);
    const found = described.getRows().map(([name, type]) => [name, String(type).replaceAll('"', '')]);
    const fields: readonly Field[] = pin?.fileSchema().fields ?? [];
    expect(fields.map((field) => [field.name, duckName(field).replaceAll('"', '')])).toEqual(found);
    expect(pin?.rows).toBe(sample.rows.length);
  } finally {
    pin?.release();
  }
});
