import { expect, test } from 'vitest';
import { createHistory, type History } from './history.ts';
import { createStore, type Store } from './store.ts';

function memoryStore(): Store {
  const values = new Map<string, string>();
  const area = {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  };
  return createStore([area], 'test');
}

const run = (history: History, sql: string, engine: 'local' | 'tsdb' = 'local'): void =>
  history.add({ sql, engine, ranAtMs: 1, outcome: 'done', elapsedMs: 2, rows: 3 });
const texts = ({ entries }: History): string[] => entries.value.map(({ sql }) => sql);

test('the newest comes first, and SQL that is run again moves to the top', () => {
  const history = createHistory(memoryStore());
  for (const sql of ['a', 'b', 'a']) run(history, sql);
  run(history, 'b', 'tsdb');
  expect(history.entries.value.map(({ sql, engine }) => `${sql} ${engine}`)).toEqual(['b tsdb', 'a local', 'b local']);
});

test('a star is kept when the SQL runs again, and over a reload', () => {
  const store = memoryStore();
  const history = createHistory(store);
  run(history, 'a');
  history.star(history.entries.value[0]?.id ?? '', true);
  run(history, 'a');
  expect(createHistory(store).entries.value).toMatchObject([{ sql: 'a', isStarred: true }]);
});

test('the oldest without a star are forgotten', () => {
  const history = createHistory(memoryStore());
  run(history, 'starred');
  history.star(history.entries.value[0]?.id ?? '', true);
  for (let i = 0; i < 201; i++) run(history, `select ${i}`);
  expect([texts(history).length, texts(history).at(-1), texts(history).includes('select 0')]).toEqual([
    201,
    'starred',
    false,
  ]);
});

test('blank and very long SQL is not remembered', () => {
  const history = createHistory(memoryStore());
  for (const sql of ['', ' \n', 'x'.repeat(20_001)]) run(history, sql);
  expect(texts(history)).toEqual([]);
});

test('everything is forgotten, starred or not, and stays so', () => {
  const store = memoryStore();
  const history = createHistory(store);
  run(history, 'a');
  history.star(history.entries.value[0]?.id ?? '', true);
  history.forgetAll();
  expect([texts(history), texts(createHistory(store))]).toEqual([[], []]);
});

test.each([null, 'text', {}, [{ sql: 'a' }, 1, null]])('broken entries are left out: %j', (value) => {
  const store = memoryStore();
  store.write('history', value);
  expect(texts(createHistory(store))).toEqual([]);
});

test.each([
  ['ranAtMs', 1e300],
  ['ranAtMs', -1],
  ['elapsedMs', Number.MAX_VALUE],
  ['elapsedMs', '5'],
  ['outcome', 'other'],
  ['engine', 'other'],
  ['sql', 'x'.repeat(20_001)],
])('an entry with the %s %j is left out', (name, value) => {
  const store = memoryStore();
  const entry = { id: 'a', sql: 'select 1', engine: 'local', ranAtMs: 1, outcome: 'done', elapsedMs: 2, rows: 3 };
  store.write('history', [{ ...entry, [name]: value }, { ...entry, sql: 'select 2', rows: -1.5 }, entry]);
  // The other two share their id; one of them has a count of rows that is none.
  expect(createHistory(store).entries.value).toEqual([
    { id: 'a', sql: 'select 2', engine: 'local', ranAtMs: 1, outcome: 'done', elapsedMs: 2 },
  ]);
});

test('the newest starred entries are kept, however many storage has', () => {
  const store = memoryStore();
  const entry = { engine: 'local', ranAtMs: 1, outcome: 'done', elapsedMs: 2, isStarred: true };
  const many = Array.from({ length: 20_000 }, (_, i) => ({ ...entry, id: String(i), sql: `select ${i}` }));
  store.write('history', many);
  const history = createHistory(store);
  expect([texts(history).length, texts(history)[0]]).toEqual([500, 'select 0']);
  history.add({ sql: 'new', engine: 'local', ranAtMs: 1, outcome: 'done', elapsedMs: 2 });
  history.star(history.entries.value[0]?.id ?? '', true);
  expect([texts(history).length, texts(history)[0], texts(createHistory(store)).length]).toEqual([500, 'new', 500]);
});

test('two pages that follow each other keep the entries of both', () => {
  const store = memoryStore();
  const [first, second] = [createHistory(store), createHistory(store)];
  run(first, 'a');
  second.follow();
  run(second, 'b');
  first.follow();
  expect([texts(first), texts(second)]).toEqual([
    ['b', 'a'],
    ['b', 'a'],
  ]);
});

test('a history that is not kept stays when another page writes', () => {
  const history = createHistory(createStore([], 'test'));
  run(history, 'a');
  history.follow();
  expect(texts(history)).toEqual(['a']);
});

test('two areas: the first that has a value wins, and both are written', () => {
  const values = [new Map<string, string>(), new Map<string, string>()];
  const areas = values.map((map) => ({
    getItem: (key: string) => map.get(key) ?? null,
    setItem: (key: string, value: string) => void map.set(key, value),
    removeItem: (key: string) => void map.delete(key),
  }));
  const store = createStore(areas, 'p');
  values[1]?.set('p:a', '2');
  expect(store.read('a')).toBe(2);
  store.write('a', 3);
  expect(values.map((map) => map.get('p:a'))).toEqual(['3', '3']);
  values[1]?.set('p:a', '4');
  expect(store.read('a')).toBe(3);
});
