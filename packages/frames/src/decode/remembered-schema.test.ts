import { Field, Float64, Int32, Schema, Utf8 } from 'apache-arrow';
import { expect, test } from 'vitest';
import { encodeSchema } from './arrow/write-schema.ts';
import { rememberedSchema } from './decoders.ts';

const schemaOf = (...names: readonly string[]): Schema =>
  new Schema(names.map((name) => new Field(name, new Int32(), true)));

test('a schema message that comes again has the same schema object, also if the sender reuses its memory', () => {
  const message = encodeSchema(schemaOf('a', 'b'));
  const first = rememberedSchema(message);
  expect(rememberedSchema(message.slice())).toBe(first);
  const reused = message.slice();
  expect(rememberedSchema(reused)).toBe(first);
  reused.set(encodeSchema(schemaOf('c', 'd')));
  expect(rememberedSchema(reused).fields.map(({ name }) => name)).toEqual(['c', 'd']);
});

test.each([
  ['another name', schemaOf('a', 'x')],
  ['another type', new Schema([new Field('a', new Int32(), true), new Field('b', new Float64(), true)])],
  ['no nulls', new Schema([new Field('a', new Int32(), true), new Field('b', new Int32(), false)])],
  ['other metadata', new Schema(schemaOf('a', 'b').fields, new Map([['k', 'v']]))],
  ['one column more', new Schema([...schemaOf('a', 'b').fields, new Field('c', new Utf8(), true)])],
])('a schema message with %s has its own schema', (_, other) => {
  const known = rememberedSchema(encodeSchema(schemaOf('a', 'b')));
  const schema = rememberedSchema(encodeSchema(other));
  expect(schema).not.toBe(known);
  expect(String(schema)).toBe(String(other));
  expect(schema.metadata).toEqual(other.metadata);
});
