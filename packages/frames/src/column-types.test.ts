import { Field, Int8, List, Schema, Struct, TimestampSecond } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { checkSchema, columnInfo, declaredField } from './column-types.ts';

describe('a declared column', () => {
  test.each([
    'BOOLEAN',
    'BYTE',
    'SHORT',
    'INT',
    'LONG',
    'ULONG',
    'LONG128',
    'FLOAT',
    'DOUBLE',
    'STRING',
    'SYMBOL',
    'DATE',
    'TIMESTAMP',
    'TIMESTAMP_NS',
    'TIME',
    'UUID',
    'DECIMAL(18,4)',
    'DECIMAL(38,38)',
  ])('has the type %s, in any letter case', (type) => {
    expect(columnInfo(declaredField('a', type))).toEqual({ name: 'a', type, nullable: true });
    expect(columnInfo(declaredField('a', type.toLowerCase()))).toMatchObject({ type });
  });

  test.each(['FOO', '', 'STRUCT', 'DECIMAL', 'DECIMAL(39,2)', 'DECIMAL(0,0)', 'DECIMAL(2,3)', 'toString'])(
    'cannot have the type %j',
    (type) => {
      expect(() => declaredField('a', type)).toThrow(`Column "a" cannot be declared as ${JSON.stringify(type)}.`);
    },
  );
});

describe('the names and metadata of all columns together have at most 1 MiB', () => {
  const MAX_BYTES = 1 << 20;
  const fieldOf = (name: string, metadata?: [string, string][]) => new Field(name, new Int8(), true, new Map(metadata));
  const nameOf = (i: number) => String(i).padStart(1024, '_');
  /** 1023 names of 1024 bytes: 1024 are left. */
  const MOST = Array.from({ length: 1023 }, (_, i) => fieldOf(nameOf(i)));

  test.each<readonly [string, (bytes: number) => Schema]>([
    ['a name', (bytes) => new Schema([...MOST, fieldOf('a'), fieldOf('b'.repeat(bytes - 1))])],
    ['a name in UTF-8', (bytes) => new Schema([...MOST, fieldOf('ü'.repeat(512)), fieldOf('b'.repeat(bytes - 1024))])],
    [
      'nested names',
      (bytes) => {
        const item = new Field('item', new Struct([fieldOf('b'.repeat(bytes - 5))]), true);
        return new Schema([...MOST, new Field('a', new List(item), true)]);
      },
    ],
    ['metadata of a column', (bytes) => new Schema([...MOST, fieldOf('a', [['key', 'b'.repeat(bytes - 4)]])])],
    ['metadata of the frame', (bytes) => new Schema(MOST, new Map([['key', 'b'.repeat(bytes - 3)]]))],
    [
      'the name of a zone',
      (bytes) => new Schema([...MOST, new Field('a', new TimestampSecond('b'.repeat(bytes - 1)), true)]),
    ],
  ])('with %s', (_, schemaOf) => {
    checkSchema(schemaOf(1024));
    expect(() => checkSchema(schemaOf(1025))).toThrow(
      expect.objectContaining({
        code: 'invalid_data',
        message: `The names and metadata of the columns take ${MAX_BYTES + 1} bytes; at most ${MAX_BYTES} are allowed.`,
        hint: expect.stringContaining('Shorten the names'),
      }),
    );
  });
});
