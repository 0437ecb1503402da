import { ERROR_CODES } from '@svc/errors';
import { describe, expect, test } from 'vitest';
import { inFlags } from '../src/client/request-errors.ts';
import { run } from './run.ts';
import { sendJson, startStandIn } from './stand-in.ts';

describe('a sentence about HTTP, on the command line', () => {
  test.each([
    ['Set X. Or send engine=local to query.', 'Set X. Or use --engine local to query.'],
    [
      ERROR_CODES.scheduler_not_configured.hint,
      'Set scheduler.url, for example sc://spark.example.com:15002. Or use --engine local to run the SQL in this server.',
    ],
    ['Send limit=10 or less with the query.', 'Use --limit 10 or less with the query.'],
    ['Page with limit=1,10 and so on, or raise X.', 'Page with --limit 1,10 and so on, or raise X.'],
    ['Write limit=11, for row 11.', 'Write --limit 11, for row 11.'],
    ['limit="1;2" is not a range of rows.', '--limit "1;2" is not a range of rows.'],
    ['Write it as JSON: param=42 or param="a limit=3".', 'Write it as JSON: --param 42 or --param "a limit=3".'],
    ['Set ?header=, ?delimiter= and ?columns=.', 'Set --header, --delimiter and --columns.'],
    ['Send one of fmt=csv, fmt=ndjson.', 'Use one of --csv, --ndjson.'],
    ['Raise X, or stream the frame with /exp?fmt=arrow.', 'Raise X, or stream the frame with --arrow.'],
    ['There is no frame "limit=3".', 'There is no frame "limit=3".'],
    ['The unlimited=3 is no parameter.', 'The unlimited=3 is no parameter.'],
    [ERROR_CODES.handle_not_found.hint, 'svc list prints all handles.'],
    [ERROR_CODES.unauthenticated.hint, 'Name the file of a token with --token-file, or set SVC_TOKEN.'],
    [ERROR_CODES.route_not_found.hint, expect.stringContaining('--url')],
    [ERROR_CODES.method_not_allowed.hint, expect.stringContaining('--url')],
    [ERROR_CODES.too_many_requests.hint, 'Try again in a moment, or raise sql.max_queued.'],
  ])('%s', (sentence, expected) => {
    expect(inFlags(sentence, 'read')).toEqual(expected);
  });

  test.each([
    ['Send one of these as Content-Type: a/b, c/d; or add ?fmt=json or ?fmt=csv.', 'Use --fmt json or --fmt csv.'],
    ['Send encoding= with one of: utf-8, utf-16.', 'Use --encoding with one of: utf-8, utf-16.'],
    ['If it is UTF-16, send ?encoding=utf-16.', 'If it is UTF-16, use --encoding utf-16.'],
    [
      ERROR_CODES.invalid_data.hint,
      'Check that the body is complete and that its format is that of --fmt or of its extension.',
    ],
    [
      'Send the rows in several files: POST /frames/{handle} appends. Or X.',
      'Put the rows in several files: --append adds to a frame. Or X.',
    ],
  ])('of an upload: %s', (sentence, expected) => {
    expect(inFlags(sentence, 'write')).toBe(expected);
  });

  test('SQL in an error stays as it is', async () => {
    const body = { error: 'No limit=3.', code: 'invalid_sql', hint: 'Write limit=4.' };
    const { url } = await startStandIn((_, response) => sendJson(response, body, 400));
    expect((await run(['query', 'x', '--url', url])).stderr).toBe('error: No limit=3.\nhint: Write limit=4.\n');
  });
});

describe('an unknown handle', () => {
  const info = { rows: 1, bytes: 1, columns: [], created: 'c', version: 'v', expires: null, tier: 'disk' };

  function startFrames(handles: readonly string[]): ReturnType<typeof startStandIn> {
    return startStandIn((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
      const prefix = searchParams.get('prefix') ?? '';
      const found = handles.filter((handle) => handle.startsWith(prefix)).slice(0, 500);
      if (pathname === '/frames') return sendJson(response, { frames: found.map((handle) => ({ handle, ...info })) });
      return sendJson(response, { error: 'There is no such frame.', code: 'handle_not_found', hint: 'h' }, 404);
    });
  }

  const many = Array.from({ length: 600 }, (_, i) => `a${i}`);

  test.each([
    [['get', 'trade'], ['orders', 'trades'], 'Did you mean "trades"? svc list prints all handles.'],
    [['describe', 'Order'], ['orders', 'trades'], 'Did you mean "orders"? svc list prints all handles.'],
    [['drop', 'trdaes'], ['orders', 'trades'], 'Did you mean "trades"? svc list prints all handles.'],
    [['get', 'trades.csv.gz'], ['trades'], 'Did you mean "trades"? svc list prints all handles.'],
    [['get', 'trade'], [...many, 'trades'], 'Did you mean "trades"? svc list prints all handles.'],
    [['get', 'weather'], ['orders', 'trades'], 'svc list prints all handles.'],
    [['get', 'weather'], [], 'svc list prints all handles.'],
  ])('svc %j suggests the nearest', async (argv, handles, hint) => {
    const { url } = await startFrames(handles);
    expect(await run([...argv, '--url', url])).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: There is no such frame.\nhint: ${hint}\n`,
    });
  });
});
