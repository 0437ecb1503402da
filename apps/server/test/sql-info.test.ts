// The Flight SQL metadata about the server and its SQL, verified against the server.
import { flightSql } from '@svc/proto';
import { createChannel } from 'nice-grpc';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandOf, createFlightClient, get, rowsOf } from '../../../packages/grpc/test/flight-client.ts';
import { type ServerProcess, startProcess } from './server-process.ts';

interface Texts {
  toArray(): string[];
}
interface Conversions {
  toJSON(): Readonly<Record<string, Iterable<number>>>;
}
type XdbcRow = Readonly<Record<'type_name' | 'literal_prefix' | 'literal_suffix', string | null>> & {
  readonly data_type: number;
};

const ends: (() => Promise<void>)[] = [];
let server: ServerProcess;
let facts: ReadonlyMap<number, unknown>;
let types: readonly XdbcRow[];

beforeAll(async () => {
  server = await startProcess({ onEnd: (end) => ends.push(end) });
  await server.put('coins', [
    { id: 1, name: 'BTC' },
    { id: 2, name: null },
  ]);
  const channel = createChannel(server.grpcAddress);
  const client = createFlightClient(channel);
  const info = await get(client, commandOf('CommandGetSqlInfo'));
  facts = new Map(info.toArray().map(({ info_name, value }) => [Number(info_name), value as unknown]));
  types = rowsOf(await get(client, commandOf('CommandGetXdbcTypeInfo', NO_TYPE))) as XdbcRow[];
  channel.close();
});
afterAll(() => Promise.all(ends.map((end) => end())));

const NO_TYPE = flightSql.CommandGetXdbcTypeInfo.encode({ dataType: undefined }).finish();

/** The rows of a result, or its error code. */
async function ask(sql: string): Promise<unknown> {
  const response = await server.fetch(`/exec?${new URLSearchParams({ query: sql, engine: 'local', fmt: 'json' })}`);
  const { dataset, code } = (await response.json()) as { readonly dataset?: unknown; readonly code?: string };
  return dataset ?? code;
}

test('the vendor is named with its engine and the version of that', async () => {
  const [[version]] = (await ask('select version()')) as [[string]];
  const engine = `DuckDB ${version.slice(1)}`;
  expect([facts.get(0), facts.get(1)]).toEqual([
    'Data-frame server (DuckDB)',
    expect.stringMatching(new RegExp(`^\\d+\\.\\d+\\.\\d+ \\(${engine}\\)$`)),
  ]);
});

describe('a fact about the syntax is so', () => {
  test.each([
    [503, 1, 'select ID from COINS order by 1', [[1], [2]]],
    [504, '"', 'select "id" from "coins" order by "id"', [[1], [2]]],
    [505, 1, 'select "ID" from "Coins" order by 1', [[1], [2]]],
    [507, 3, 'select name from coins order by name', [['BTC'], [null]]],
    [507, 3, 'select name from coins order by name desc', [['BTC'], [null]]],
    [514, '$', 'select a$b from (select 1 as a$b)', [[1]]],
    [515, true, 'select id as other from coins order by other', [[1], [2]]],
    [516, true, "select 'x' || null", [[null]]],
    [518, true, 'select c.id from coins as c order by c.id', [[1], [2]]],
    [520, true, 'select id from coins order by -id', [[2], [1]]],
    [521, true, 'select name from coins order by id desc', [[null], ['BTC']]],
    [522, 3, 'select count(*) from coins group by id', [[1], [1]]],
    [
      522,
      3,
      'select id, count(*) from coins group by id, name order by id',
      [
        [1, 1],
        [2, 1],
      ],
    ],
    [523, true, "select 'a%' like 'a!%' escape '!', 'ab' like 'a!%' escape '!'", [[true, false]]],
    [528, 2, 'select count(*) from coins a full outer join coins b on a.id = b.id + 1', [[3]]],
    [532, true, 'select count(*) from memory.main.coins', [[2]]],
    [536, false, 'select id from coins for update', 'invalid_sql'],
    [537, false, '{call now()}', 'invalid_sql'],
    [538, 15, 'select id from coins where id = (select max(id) from coins)', [[2]]],
    [538, 15, 'select count(*) from coins where exists (select 1 from coins)', [[2]]],
    [538, 15, 'select id from coins where id in (select 2)', [[2]]],
    [538, 15, 'select id from coins where id >= all (select id from coins)', [[2]]],
    [539, true, 'select id from coins a where exists (select 1 from coins b where b.id > a.id)', [[1]]],
    [540, 3, 'select 1 union select 1', [[1]]],
    [540, 3, 'select 1 union all select 1', [[1], [1]]],
    [563, false, 'begin transaction', 'permission_denied'],
    [573, false, 'savepoint s', 'invalid_sql'],
    [500, false, "attach 'x.db'", 'permission_denied'],
    [501, false, 'create schema s', 'permission_denied'],
  ] as const)('%i is %o: %s', async (number, value, sql, answer) => {
    expect(facts.get(number)).toBe(value);
    expect(await ask(sql)).toEqual(answer);
  });
});

describe('a limit of names is as reported', () => {
  const put = async (handle: string, column: string): Promise<number> =>
    (await server.put(handle, [{ [column]: 1 }])).status;

  test('for tables', async () => {
    const longest = Number(facts.get(559));
    expect([await put('t'.repeat(longest), 'c'), await put('u'.repeat(longest + 1), 'c')]).toEqual([201, 400]);
  });

  test('for columns', async () => {
    const longest = Number(facts.get(543));
    expect([await put('names', 'c'.repeat(longest)), await put('names', 'c'.repeat(longest + 1))]).toEqual([201, 400]);
  });
});

/** A call of every listed function. */
const CALLS: Readonly<Record<number, readonly string[]>> = {
  509: `ABS(1) ACOS(1) ASIN(1) ATAN(1) ATAN2(1,1) CEILING(1.5) COS(1) COT(1) DEGREES(1) EXP(1) FLOOR(1.5) LOG(10)
    LOG10(10) MOD(3,2) PI() POWER(2,3) RADIANS(1) ROUND(1.5) SIGN(1) SIN(1) SQRT(4) TAN(1)`.split(/\s+/),
  510: `ASCII('a') CHAR_LENGTH('a') CHARACTER_LENGTH('a') CONCAT('a','b') LCASE('A') LEFT('ab',1) LENGTH('a') LTRIM('a')
    OCTET_LENGTH('a'::BLOB) POSITION('a'IN'ba') REPEAT('a',2) REPLACE('a','a','b') RIGHT('ab',1) RTRIM('a')
    SUBSTRING('abc',2) UCASE('a')`.split(/\s+/),
  511: [],
  512: `CURRENT_DATE DAYNAME(D) DAYOFMONTH(D) DAYOFWEEK(D) DAYOFYEAR(D) EXTRACT(YEAR/**/FROM/**/D) HOUR(T) MINUTE(T)
    MONTH(D) MONTHNAME(D) NOW() QUARTER(D) SECOND(T) WEEK(D) YEAR(D)`.split(/\s+/),
};

test.each([509, 510, 511, 512])('every function in %i can be called', async (number) => {
  const calls = CALLS[number] ?? [];
  expect(calls.map((call) => call.replace(/\W.*/, ''))).toEqual((facts.get(number) as Texts).toArray());
  const moments = "(SELECT DATE '2024-01-02' AS D, TIMESTAMP '2024-01-02 03:04:05' AS T)";
  for (const call of calls)
    expect([call, await ask(`SELECT ${call} IS NULL FROM ${moments}`)]).toEqual([call, [[false]]]);
});

test('every keyword must be quoted to be a name, which other words need not be', { tags: ['slow'] }, async () => {
  const words = (facts.get(508) as Texts).toArray();
  const column = (name: string, word: string): Promise<unknown> => ask(`SELECT ${name} FROM (SELECT 1 AS "${word}")`);
  for (const word of words) {
    expect([word, await column(word, word), await column(`"${word}"`, word)]).toEqual([word, 'invalid_sql', [[1]]]);
  }
  expect(words).toContain('qualify');
  expect(await column('price', 'price')).toEqual([[1]]);
});

/** The types of CONVERT by their numbers in Flight SQL: what SQL calls them, and a value of each kind as a text. */
const CONVERTED: readonly (readonly [type: string, sample: string])[] = [
  ['BIGINT', '1'],
  ['BLOB', 'a'],
  ['BOOLEAN', '1'],
  ['VARCHAR', 'a'],
  ['DATE', '2024-01-02'],
  ['DECIMAL(18,3)', '1'],
  ['FLOAT', '1'],
  ['INTEGER', '1'],
  ['INTERVAL', '1 day'],
  ['INTERVAL', '1 month'],
  ['BLOB', 'a'],
  ['VARCHAR', 'a'],
  ['NUMERIC(18,3)', '1'],
  ['REAL', '1'],
  ['SMALLINT', '1'],
  ['TIME', '03:04:05'],
  ['TIMESTAMP', '2024-01-02 03:04:05'],
  ['TINYINT', '1'],
  ['BLOB', 'a'],
  ['VARCHAR', 'a'],
];

test('every conversion that is named works', async () => {
  const conversions = Object.entries((facts.get(517) as Conversions).toJSON());
  expect(conversions).toHaveLength(CONVERTED.length);
  for (const [from, targets] of conversions) {
    const [type, own] = CONVERTED[Number(from)] ?? [];
    const casts = [...targets].map((to) => {
      const [target, sample] = CONVERTED[to] ?? [];
      // A string must look like the type it is converted to.
      return `CAST(CAST('${type === 'VARCHAR' ? sample : own}' AS ${type}) AS ${target}) IS NULL`;
    });
    expect(await ask(`SELECT ${casts.join(', ')}`)).toEqual([casts.map(() => false)]);
  }
});

/** A literal of every type, without what it stands between. */
const LITERALS: Readonly<Record<string, string>> = {
  BLOB: 'a',
  VARCHAR: 'a',
  UUID: '01234567-89ab-cdef-0123-456789abcdef',
  DATE: '2024-01-02',
  TIME: '03:04:05',
  TIMESTAMP: '2024-01-02 03:04:05',
  TIMESTAMP_NS: '2024-01-02 03:04:05.123456789',
  'TIMESTAMP WITH TIME ZONE': '2024-01-02 03:04:05+00',
  INTERVAL: '1 day',
};

test('every XDBC type is one of SQL, in the order of numbers and names, and is written as it is said to be', async () => {
  const keys = types.map(({ data_type, type_name }) => [data_type, type_name ?? ''] as const);
  expect(keys).toEqual(keys.toSorted(([a, x], [b, y]) => a - b || (x < y ? -1 : 1)));
  for (const { type_name, literal_prefix, literal_suffix } of types) {
    const name = type_name ?? '';
    const [[type]] = (await ask(`SELECT typeof(NULL::${name})`)) as [[string]];
    expect(type.replace(/\(.*/, '')).toBe(name);
    expect(literal_prefix !== null).toBe(name in LITERALS);
    if (literal_prefix === null) continue;
    expect(await ask(`SELECT typeof(${literal_prefix}${LITERALS[name]}${literal_suffix})`)).toEqual([[name]]);
  }
});
