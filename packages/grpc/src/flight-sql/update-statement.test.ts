import { describe, expect, test } from 'vitest';
import { parseUpdate } from './update-statement.ts';

const create = { kind: 'create', isReplacing: false, isOptional: false };

describe('a statement', () => {
  test.each([
    ['CREATE TABLE t AS SELECT 1', { ...create, handle: 't' }],
    ['create or replace table T as from x', { ...create, handle: 'T', isReplacing: true }],
    ['CREATE TABLE IF NOT EXISTS t AS SELECT 1', { ...create, handle: 't', isOptional: true }],
    ['CREATE TABLE "my-frame.v1" AS SELECT 1', { ...create, handle: 'my-frame.v1' }],
    ['CREATE TABLE "a""b" AS SELECT 1', { ...create, handle: 'a"b' }],
    ['CREATE TABLE main.t AS SELECT 1', { ...create, handle: 't' }],
    ['CREATE TABLE memory . "main" . t AS SELECT 1', { ...create, handle: 't' }],
    ['/* a */ -- b\n CREATE/**/TABLE t AS(SELECT 1)', { ...create, handle: 't' }],
    ['DROP TABLE t', { kind: 'drop', handle: 't', isOptional: false }],
    ['drop table if exists "t" ; -- gone', { kind: 'drop', handle: 't', isOptional: true }],
  ])('%s changes frames', (sql, update) => {
    expect(parseUpdate(sql)).toMatchObject(update);
  });

  test.each([
    'SELECT 1',
    'WITH created AS (SELECT 1) FROM created',
    '',
    'created',
    'dropping',
    '-- CREATE TABLE',
    '"CREATE"',
    'CREATE VIEW v AS SELECT 1',
    'CREATE OR REPLACE TEMP TABLE t AS SELECT 1',
    'DROP VIEW v',
  ])('%s does not', (sql) => {
    expect(parseUpdate(sql)).toBeUndefined();
  });

  test('keeps the positions of its query', () => {
    const sql = 'CREATE TABLE t\nAS SELECT oops';
    const update = parseUpdate(sql);
    expect(update?.kind === 'create' && update.select).toBe('              \n   SELECT oops');
  });

  test.each([
    ['CREATE TABLE t (a INT)', 'the name of the table is not followed by AS'],
    ['CREATE TABLE AS SELECT 1', 'the name of the table is not followed by AS'],
    ['CREATE TABLE', 'the name of the table is missing'],
    ['CREATE TABLE "" AS SELECT 1', 'the name of the table is missing'],
    ['DROP TABLE a, b', 'something follows the name of the table'],
    ['DROP TABLE t; DROP TABLE u', 'something follows the name of the table'],
    ['DROP TABLE a.b.c.d', 'the name of the table has more than three parts'],
  ])('%s is invalid_sql', (sql, message) => {
    expect(() => parseUpdate(sql)).toThrow(message);
  });

  test('reports error positions in code points', () => {
    expect(() => parseUpdate('/* 🦆 */ DROP TABLE é, b')).toThrow(expect.objectContaining({ position: 20 }));
    const update = parseUpdate('CREATE TABLE "🦆" AS oops');
    expect(update?.kind === 'create' && update.select.indexOf('oops')).toBe(20);
  });

  test.each(['DROP TABLE other.t', 'DROP TABLE disk.main.t'])('%s is in another schema', (sql) => {
    expect(() => parseUpdate(sql)).toThrow('There is no schema');
  });
});
