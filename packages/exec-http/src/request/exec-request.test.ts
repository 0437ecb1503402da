import { describe, expect, test } from 'vitest';
import { type ExecRules, parseChkRequest, parseExecRequest, parseExpRequest } from './exec-request.ts';
import { parseQueryString } from './query-string.ts';

const rules: ExecRules = { hasTsdb: true, engines: ['local'] };
const parse = (query: string, changes: Partial<ExecRules> = {}): unknown =>
  parseExecRequest(parseQueryString(`/exec?${query}`), { ...rules, ...changes });

describe('handle mode', () => {
  const defaults = {
    kind: 'handle',
    handle: 't',
    format: 'json',
    columns: undefined,
    quoteLargeNum: false,
    countsAll: false,
    hasMetadata: true,
    timings: false,
  };

  test.each<[query: string, expected: object]>([
    ['handle=t&fmt=json', { rows: { offset: 0, limit: 1000 } }],
    ['fmt=json&handle=t', { rows: { offset: 0, limit: 1000 } }],
    ['handle=t&fmt=json&limit=0', { rows: { offset: 0, limit: 0 } }],
    ['handle=t&fmt=json&limit=007', { rows: { offset: 0, limit: 7 } }],
    ['handle=t&fmt=json&limit=9007199254740991', { rows: { offset: 0, limit: 2 ** 53 - 1 } }],
    ['handle=t&fmt=json&limit=1,1', { rows: { offset: 0, limit: 1 } }],
    ['handle=t&fmt=json&limit=0,5', { rows: { offset: 0, limit: 5 } }],
    ['handle=t&fmt=json&limit=11,20', { rows: { offset: 10, limit: 10 } }],
    ['handle=t&fmt=json&limit=11,', { rows: { offset: 10 } }],
    ['handle=t&fmt=json&limit=1%2C2', { rows: { offset: 0, limit: 2 } }],
    ['handle=t&fmt=json&cols=b,a', { columns: ['b', 'a'] }],
    ['handle=t&fmt=json&cols="a,b",c', { columns: ['a,b', 'c'] }],
    ['handle=t&fmt=json&cols="say ""hi""",""', { columns: ['say "hi"', ''] }],
    ['handle=t&fmt=json&cols=caf%C3%A9', { columns: ['café'] }],
    ['handle=t&fmt=json&quoteLargeNum=true&timings=true', { quoteLargeNum: true, timings: true }],
    ['handle=t&fmt=json&quoteLargeNum=false', { quoteLargeNum: false }],
    ['handle=t&fmt=json&count=true&nm=true', { countsAll: true, hasMetadata: false }],
    ['handle=t&fmt=json&count=false&nm=false', {}],
    ['handle=t&fmt=json&src=con', { quoteLargeNum: true }],
    ['handle=t&fmt=json&src=other', {}],
    ['handle=t&fmt=json&what=ever&what=ever', {}],
    ['handle=&fmt=json', { handle: '' }],
    ['handle=a+b%2Bc&fmt=json', { handle: 'a b+c' }],
  ])('%s', (query, expected) => {
    expect(parse(query)).toEqual({ ...defaults, rows: { offset: 0, limit: 1000 }, ...expected });
  });

  test.each([
    'abc',
    '-1',
    '1.5',
    '',
    '+2',
    '1e3',
    '2,1',
    '0,0',
    '0,',
    ',5',
    ',',
    '1,2,3',
    '1, 2',
    '0x10',
    '１',
    String(2n ** 70n),
    `1,${2n ** 70n}`,
    '9007199254740992',
  ])('limit=%s is refused and quoted', (limit) => {
    expect(() => parse(`handle=t&fmt=json&limit=${encodeURIComponent(limit)}`)).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message: expect.stringContaining(`limit=${JSON.stringify(limit)}`),
      }),
    );
  });

  test.each(['a,', '"a",'])('cols has at most 10,000 names: %s', (name) => {
    expect(() => parse(`handle=t&fmt=json&cols=${name.repeat(100_000)}a`)).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message: expect.stringContaining('more than 10000 columns'),
      }),
    );
  });

  test.each([`"${'a'.repeat(8193)}"`, 'a'.repeat(524_289)])('cols with a name that is too long is refused', (cols) => {
    expect(() => parse(`handle=t&fmt=json&cols=${cols}`)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message: expect.stringMatching(/^cols has .* characters/) }),
    );
  });

  test.each(['', ',', 'a,', ',a', 'a,,b', '"a', 'a"b', '"a"b', 'a,b,a'])('cols=%s is refused', (cols) => {
    expect(() => parse(`handle=t&fmt=json&cols=${encodeURIComponent(cols)}`)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining('cols=') }),
    );
  });

  test('max_rows caps the default and refuses requests for more', () => {
    expect(parse('handle=t&fmt=json', { maxRows: 10 })).toMatchObject({ rows: { limit: 10 } });
    expect(parse('handle=t&fmt=json&limit=10', { maxRows: 10 })).toMatchObject({ rows: { limit: 10 } });
    expect(parse('handle=t&fmt=json&limit=5,14', { maxRows: 10 })).toMatchObject({ rows: { offset: 4, limit: 10 } });
    for (const limit of ['11', '5,15']) {
      expect(() => parse(`handle=t&fmt=json&limit=${limit}`, { maxRows: 10 })).toThrow(/asks for 11 rows/);
    }
  });
});

describe('query mode', () => {
  test('forwards query and fmt first, then the parameters of the database, in the order and form of the client', () => {
    expect(parse('src=con&limit=abc&handled=1&query=select%201&fmt=json&engine=tsdb&cols=a,,&nm=true')).toEqual({
      kind: 'forward',
      params: [
        ['query', 'select 1'],
        ['fmt', 'json'],
        ['src', 'con'],
        ['limit', 'abc'],
        ['cols', 'a,,'],
        ['nm', 'true'],
      ],
    });
  });

  test('an empty query counts as given', () => {
    expect(parse('query=&fmt=json')).toMatchObject({ kind: 'forward' });
  });
});

describe('SQL over frames', () => {
  const defaults = {
    kind: 'sql',
    engine: 'local',
    sql: 'select 1',
    params: [],
    format: 'json',
    rows: { offset: 0 },
    columns: undefined,
    quoteLargeNum: false,
    countsAll: false,
    hasMetadata: true,
    timings: false,
  };

  test.each<[query: string, expected: object]>([
    ['', {}],
    ['&limit=5', { rows: { offset: 0, limit: 5 } }],
    ['&limit=11,20&cols=b,a', { rows: { offset: 10, limit: 10 }, columns: ['b', 'a'] }],
    ['&quoteLargeNum=true&timings=true', { quoteLargeNum: true, timings: true }],
    [
      '&count=true&src=con&timings=true&version=2&limit=0,1000&explain=true',
      { rows: { offset: 0, limit: 1000 }, countsAll: true, quoteLargeNum: true, timings: true },
    ],
    ['&param=1&param="a%20b"&param=null', { params: [1, 'a b', null] }],
    [
      '&param=9007199254740993&param=-1.5e3&param=true',
      { params: [9_007_199_254_740_993n, { type: 'DOUBLE', text: '-1500' }, true] },
    ],
  ])('query=select 1&engine=local&fmt=json%s', (query, expected) => {
    expect(parse(`query=select%201&engine=local&fmt=json${query}`)).toEqual({ ...defaults, ...expected });
  });

  test.each(['', 'x', '[1]', '{}', '01', '1 2', "'a'", 'NaN', '1e400', '-1e400'])(
    'param=%s is refused and quoted',
    (text) => {
      expect(() => parse(`query=x&engine=local&fmt=json&param=${encodeURIComponent(text)}`)).toThrow(
        expect.objectContaining({
          code: 'invalid_argument',
          message: expect.stringContaining(`param=${JSON.stringify(text)}`),
        }),
      );
    },
  );

  test('/exp reads the same parameters, and csv is its default', () => {
    expect(
      parseExpRequest(parseQueryString('/exp?query=x&engine=local&param=7&limit=3'), { ...rules, hasTsdb: false }),
    ).toMatchObject({ kind: 'sql', sql: 'x', params: [7], format: 'csv', rows: { offset: 0, limit: 3 } });
  });
});

describe('the first error is reported', () => {
  test.each<[query: string, changes: Partial<ExecRules>, code: string, message: RegExp]>([
    ['', {}, 'invalid_argument', /Neither/],
    ['fmt=json', {}, 'invalid_argument', /Neither/],
    ['handle=t&query=x&fmt=json', {}, 'invalid_argument', /Both/],
    ['handle=t&query=x', { hasTsdb: false }, 'invalid_argument', /Both/],
    ['query=x', { hasTsdb: false }, 'tsdb_not_configured', /No time-series database/],
    ['query=x', {}, 'invalid_argument', /fmt is missing/],
    ['query=x&fmt=csv', {}, 'invalid_argument', /fmt="csv"/],
    ['handle=t', {}, 'invalid_argument', /fmt is missing/],
    ['handle=t&limit=abc', {}, 'invalid_argument', /fmt is missing/],
    ['handle=t&fmt=', {}, 'invalid_argument', /fmt=""/],
    ['handle=t&fmt=JSON', {}, 'invalid_argument', /fmt="JSON"/],
    ['handle=t&fmt=json&limit=abc&cols=', {}, 'invalid_argument', /limit/],
    ['query=x&engine=nope', { hasTsdb: false }, 'invalid_argument', /engine "nope"/],
    ['handle=x&fmt=json&engine=nope', {}, 'invalid_argument', /engine "nope"/],
    ['query=x&engine=scheduler', {}, 'scheduler_not_configured', /No scheduler/],
    ['query=x&engine=local', { engines: [] }, 'invalid_argument', /no engine to run SQL/],
    ['query=x&engine=local', {}, 'invalid_argument', /fmt is missing/],
    ['query=x&engine=local&fmt=json&limit=abc&cols=', {}, 'invalid_argument', /limit/],
    ['query=x&engine=local&fmt=json&limit=11', { maxRows: 10 }, 'invalid_argument', /asks for 11 rows/],
    ['query=x&engine=local&fmt=json', { maxRows: 10 }, 'invalid_argument', /at most 10 rows/],
    ['query=x&engine=local&fmt=json&param=1&param=x', {}, 'invalid_argument', /param="x"/],
    ['handle=t&handle=t&fmt=json', {}, 'invalid_argument', /handle is given more than once/],
    ['handle=t&fmt=json&fmt=json', {}, 'invalid_argument', /fmt is given more than once/],
    ['query=t&fmt=json&nm=a&nm=b', {}, 'invalid_argument', /nm is given more than once/],
    ['handle=t&fmt=json&quoteLargeNum=1', {}, 'invalid_argument', /quoteLargeNum="1"/],
    ['handle=t&fmt=json&count=1', {}, 'invalid_argument', /count="1"/],
    ['handle=t&fmt=json&nm=yes', {}, 'invalid_argument', /nm="yes"/],
  ])('%s', (query, changes, code, message) => {
    expect(() => parse(query, changes)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });

  test.each<[given: string, ExecRules['defaultEngine'], kind: string]>([
    ['', undefined, 'forward'],
    ['', 'tsdb', 'forward'],
    ['', 'local', 'sql'],
    ['&engine=tsdb', 'local', 'forward'],
    ['&engine=local', 'tsdb', 'sql'],
  ])('SQL%s with the default engine %s is for: %s', (given, defaultEngine, kind) => {
    expect(parse(`query=x&fmt=json${given}`, { defaultEngine })).toMatchObject({ kind });
    expect(parseExpRequest(parseQueryString(`/exp?query=x${given}`), { ...rules, defaultEngine })).toMatchObject({
      kind,
    });
  });

  test('a default engine that is not configured is the error', () => {
    expect(() => parse('query=x&fmt=json', { defaultEngine: 'scheduler' })).toThrow(
      expect.objectContaining({ code: 'scheduler_not_configured' }),
    );
  });

  test.each<[engines: ExecRules['engines'], hint: RegExp]>([
    [[], /SERVICE_TSDB_HTTP_URL((?!engine).)*$/],
    [['local'], /SERVICE_TSDB_HTTP_URL.*engine=local/],
  ])('the hint of 412 names the setting, and the other engine if there is one: %j', (engines, hint) => {
    expect(() => parse('query=x&fmt=json', { hasTsdb: false, engines })).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(hint) }),
    );
  });
});

test('http.default_fmt stands in for a missing fmt in both modes', () => {
  expect(parse('handle=t', { defaultFmt: 'json' })).toMatchObject({ kind: 'handle' });
  expect(parse('query=x', { defaultFmt: 'json' })).toMatchObject({
    params: [
      ['query', 'x'],
      ['fmt', 'json'],
    ],
  });
  expect(() => parse('handle=t&fmt=csv', { defaultFmt: 'json' })).toThrow(/fmt="csv"/);
});

describe('/exp', () => {
  const parseExp = (query: string, changes: Partial<ExecRules> = {}): unknown =>
    parseExpRequest(parseQueryString(`/exp?${query}`), { ...rules, ...changes });

  test.each<[query: string, expected: object]>([
    ['handle=t', { format: 'csv', rows: { offset: 0 } }],
    ['handle=t&fmt=csv', { format: 'csv' }],
    ['handle=t&fmt=ndjson&quoteLargeNum=true', { format: 'ndjson', quoteLargeNum: true }],
    ['handle=t&fmt=arrow&limit=5', { format: 'arrow', rows: { offset: 0, limit: 5 } }],
    ['handle=t&limit=11,20&cols=b,a', { rows: { offset: 10, limit: 10 }, columns: ['b', 'a'] }],
    ['handle=t&timings=whatever', { timings: false }],
  ])('%s', (query, expected) => {
    expect(parseExp(query)).toMatchObject(expected);
  });

  test('a query is forwarded with every parameter except engine, unchanged', () => {
    const params = [
      ['query', 'select 1'],
      ['fmt', 'parquet'],
      ['fmt', 'csv'],
      ['limit', 'abc'],
      ['any', ''],
    ];
    expect(parseExp('query=select%201&fmt=parquet&fmt=csv&engine=tsdb&limit=abc&any=')).toEqual({
      kind: 'forward',
      params,
    });
  });

  test.each<[query: string, changes: Partial<ExecRules>, code: string, message: RegExp]>([
    ['', {}, 'invalid_argument', /Neither/],
    ['handle=t&query=x', {}, 'invalid_argument', /Both/],
    ['query=x&query=y', {}, 'invalid_argument', /query is given more than once/],
    ['query=x&engine=tsdb&engine=tsdb', {}, 'invalid_argument', /engine is given more than once/],
    ['query=x&engine=nope', {}, 'invalid_argument', /engine "nope"/],
    ['query=x', { hasTsdb: false }, 'tsdb_not_configured', /No time-series database/],
    ['handle=t&fmt=json', {}, 'invalid_argument', /fmt="json"/],
    ['handle=t&fmt=', {}, 'invalid_argument', /fmt=""/],
    ['handle=t&fmt=xlsx&limit=abc', {}, 'invalid_argument', /fmt="xlsx"/],
    ['handle=t&limit=abc', {}, 'invalid_argument', /limit="abc"/],
    ['handle=t&limit=11', { maxRows: 10 }, 'invalid_argument', /asks for 11 rows/],
    ['handle=t&cols=a&cols=b', {}, 'invalid_argument', /cols is given more than once/],
  ])('%s is refused', (query, changes, code, message) => {
    expect(() => parseExp(query, changes)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    );
  });

  test('Parquet is a format if the server can write it, and the hints say so', () => {
    expect(parseExp('handle=t&fmt=parquet', { hasParquet: true })).toMatchObject({ format: 'parquet' });
    expect(() => parseExp('handle=t&fmt=xlsx', { hasParquet: true })).toThrow(
      expect.objectContaining({ hint: 'Send one of fmt=csv, fmt=ndjson, fmt=arrow, fmt=parquet.' }),
    );
    expect(() => parseExp('handle=t&fmt=parquet')).toThrow(
      expect.objectContaining({
        message: 'fmt="parquet" is not a format of /exp.',
        hint: 'Send one of fmt=csv, fmt=ndjson, fmt=arrow.',
      }),
    );
    expect(() => parse('handle=t&fmt=parquet', { hasParquet: true })).toThrow(
      expect.objectContaining({ hint: 'Send fmt=json; csv, ndjson, arrow, parquet come from /exp.' }),
    );
  });

  test('the hint for a missing fmt names the setting', () => {
    expect(() => parse('handle=t')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('http.default_fmt') }),
    );
  });

  test('the hint for fmt=json names /exec, and that of /exec names /exp', () => {
    expect(() => parseExp('handle=t&fmt=json')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('/exec') }),
    );
    expect(() => parse('handle=t&fmt=csv')).toThrow(expect.objectContaining({ hint: expect.stringContaining('/exp') }));
  });
});

describe('/chk', () => {
  const parseChk = (query: string, changes: Partial<ExecRules> = {}): unknown =>
    parseChkRequest(parseQueryString(`/chk?${query}`), { ...rules, ...changes });

  test.each<[query: string, changes: Partial<ExecRules>, expected: object]>([
    ['f=json&j=t', {}, { kind: 'forward' }],
    ['f=json&j=t', { defaultEngine: 'tsdb' }, { kind: 'forward' }],
    ['f=json&j=t', { defaultEngine: 'scheduler', engines: ['scheduler'] }, { kind: 'forward' }],
    ['f=json&j=t', { defaultEngine: 'local' }, { kind: 'exists', handle: 't', isJson: true }],
    ['j=t&version=2', { defaultEngine: 'local', hasTsdb: false }, { kind: 'exists', handle: 't', isJson: false }],
    ['j=t&engine=local', { defaultEngine: 'local' }, { kind: 'exists' }],
    ['j=t&engine=tsdb', { defaultEngine: 'local' }, { kind: 'forward', params: [['j', 't']] }],
  ])('%s with %j', (query, changes, expected) => {
    expect(parseChk(query, changes)).toMatchObject(expected);
  });

  test('about frames needs a name', () => {
    expect(() => parseChk('f=json', { defaultEngine: 'local' })).toThrow('The parameter j is missing.');
  });
});

describe('short statements of QuestDB', () => {
  const sqlOf = (query: string, changes: Partial<ExecRules>) => parse(`query=${query}&fmt=json`, changes);

  test('have their full form if SQL runs over frames by default', () => {
    const full = { sql: 'FROM tables()', shift: 5, shiftedFrom: 0 };
    expect(sqlOf('tables()', { defaultEngine: 'local' })).toMatchObject({ sql: 'tables()', full });
    expect(sqlOf('select 1', { defaultEngine: 'local' })).not.toHaveProperty('full');
  });

  test('are for the database, and left as they are, otherwise', () => {
    expect(sqlOf('tables()', {})).toMatchObject({ kind: 'forward' });
    expect(sqlOf('tables()&engine=local', {})).not.toHaveProperty('full');
    expect(sqlOf('tables()&engine=tsdb', { defaultEngine: 'local' })).toMatchObject({ kind: 'forward' });
  });
});

test('/chk is forwarded with every parameter except engine if there is a database', () => {
  const params = parseQueryString('/chk?f=json&j=trades&engine=tsdb&v=2');
  expect(parseChkRequest(params, rules)).toEqual({
    kind: 'forward',
    params: [
      ['f', 'json'],
      ['j', 'trades'],
      ['v', '2'],
    ],
  });
  expect(() => parseChkRequest(params, { ...rules, hasTsdb: false })).toThrow(/No time-series database/);
  expect(() => parseChkRequest([['engine', 'local']], rules)).toThrow(/engine="local"/);
});
