import type { Call } from '@svc/frames';
import { describe, expect, test } from 'vitest';
import { createPreparedStatements, STATEMENT_LIFE_MS } from './prepared-statements.ts';

const call = (tenant = 'a'): Call => ({ tenant, requestId: 'r', signal: new AbortController().signal });
const statement = (sql: string) => ({
  sql,
  engine: 'local' as const,
  update: undefined,
  parameterCount: 0,
  params: [],
});
const GONE = 'The prepared statement does not exist or has expired.';

describe('a prepared statement', () => {
  test('exists until it is closed, with the values bound last', () => {
    const statements = createPreparedStatements();
    const handle = statements.create(call(), statement('SELECT ?'));
    statements.bind(call(), handle, { params: [], rows: [new Uint8Array(1)] });
    statements.bind(call(), handle, { params: [1n] });
    expect(statements.get(call(), handle)).toEqual({ ...statement('SELECT ?'), params: [1n] });
    statements.close(call(), handle);
    statements.close(call(), handle);
    expect(() => statements.get(call(), handle)).toThrow(GONE);
  });

  test('does not exist for another tenant, which cannot close it either', () => {
    const statements = createPreparedStatements();
    const handle = statements.create(call('a'), statement('x'));
    expect(() => statements.get(call('b'), handle)).toThrow(GONE);
    statements.close(call('b'), handle);
    expect(statements.get(call('a'), handle).sql).toBe('x');
  });

  test('is removed if it is not used for an hour', () => {
    let now = 0;
    const statements = createPreparedStatements({ now: () => now });
    const handle = statements.create(call(), statement('x'));
    now = STATEMENT_LIFE_MS - 1;
    expect(statements.get(call(), handle).sql).toBe('x');
    now += STATEMENT_LIFE_MS;
    expect(() => statements.get(call(), handle)).toThrow(GONE);
  });

  test('that was least recently used is evicted for a new one of the same tenant, and not for one of another tenant', () => {
    const statements = createPreparedStatements({ maxCount: 2 });
    const other = statements.create(call('b'), statement('other'));
    const [first, second] = ['1', '2'].map((sql) => statements.create(call(), statement(sql)));
    if (first === undefined || second === undefined) throw new Error('Not made.');
    statements.get(call(), first);
    const third = statements.create(call(), statement('3'));
    expect(() => statements.get(call(), second)).toThrow(GONE);
    expect([first, third].map((handle) => statements.get(call(), handle).sql)).toEqual(['1', '3']);
    expect(statements.get(call('b'), other).sql).toBe('other');
  });

  test('with its values takes a bounded amount of memory', () => {
    const statements = createPreparedStatements({ maxBytes: 10_000 });
    const first = statements.create(call(), statement('x'.repeat(3000)));
    statements.create(call(), statement('y'));
    const params = [new Uint8Array(2000), 'v'.repeat(800)];
    const second = statements.create(call(), statement('z'));
    statements.bind(call(), second, { params });
    expect(() => statements.get(call(), first)).toThrow(GONE);
    statements.bind(call(), statements.create(call(), statement('r')), { params: [], rows: [new Uint8Array(8000)] });
    expect(() => statements.get(call(), second)).toThrow(GONE);
    expect(() => statements.create(call(), statement('x'.repeat(5000)))).toThrow('larger than 10000');
  });
});
