import { describe, expect, test } from 'vitest';
import { columnInfo, declaredField } from './column-types.ts';

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
