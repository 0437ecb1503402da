import { http, SQL, type Way } from './way.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const ROWS = { body: '[{"id":1}]', headers: JSON_TYPE };
const TEXT = { method: 'POST', body: SQL, headers: { 'content-type': 'text/plain' } };
const HEAD = { method: 'HEAD' };
const keep = (engine: string) => ({
  method: 'POST',
  headers: JSON_TYPE,
  body: JSON.stringify({ sql: SQL, engine, handle: 'kept' }),
});
const append = (engine: string) => ({
  method: 'POST',
  headers: JSON_TYPE,
  body: JSON.stringify({ sql: 'select 1', engine }),
});
const form = (fields: Readonly<Record<string, string>>) => ({ method: 'POST', body: new URLSearchParams(fields) });

const NOT_FOUND = { elsewhere: 'handle_not_found' };
const NO_TABLE = { elsewhere: 'invalid_sql' };
/** An engine that this server does not have: 412 for those who may use it, and 403 before that for others. */
const SCHEDULER = { target: 'scheduler', allowed: 'scheduler_not_configured' } as const;
const TSDB = { operation: 'forward', allowed: 'tsdb_not_configured' } as const;

/** `/exec` and `/exp`: frames and SQL at each engine, as a query string, a text and a form. */
const READ_WAYS: readonly Way[] = (['/exec', '/exp'] as const).flatMap((path): Way[] => {
  const get = `GET ${path}`;
  const post = `POST ${path}`;
  const fmt = path === '/exec' ? 'json' : 'csv';
  const sql = `${path}?fmt=${fmt}&query=${SQL}`;
  return [
    {
      entries: [get],
      detail: 'a frame',
      operation: 'readFrame',
      ...NOT_FOUND,
      send: http(`${path}?fmt=${fmt}&handle=shown`),
    },
    {
      entries: [`HEAD ${path}`],
      operation: 'readFrame',
      ...NOT_FOUND,
      send: http(`${path}?fmt=${fmt}&handle=shown`, HEAD),
    },
    { entries: [get], detail: 'local', operation: 'query', ...NO_TABLE, send: http(`${sql}&engine=local`) },
    { entries: [get], detail: 'scheduler', operation: 'query', ...SCHEDULER, send: http(`${sql}&engine=scheduler`) },
    { entries: [get], detail: 'tsdb', ...TSDB, send: http(sql) },
    {
      entries: [post],
      detail: 'local',
      operation: 'query',
      ...NO_TABLE,
      send: http(`${path}?fmt=${fmt}&engine=local`, TEXT),
    },
    { entries: [post], detail: 'tsdb', ...TSDB, send: http(`${path}?fmt=${fmt}`, TEXT) },
    {
      entries: [post],
      detail: 'a form, local',
      operation: 'query',
      ...NO_TABLE,
      send: http(path, form({ query: SQL, engine: 'local', fmt })),
    },
    { entries: [post], detail: 'a form, tsdb', ...TSDB, send: http(path, form({ query: SQL, fmt })) },
    {
      entries: [post],
      detail: 'a form, scheduler',
      operation: 'query',
      ...SCHEDULER,
      send: http(path, form({ query: SQL, engine: 'scheduler', fmt })),
    },
  ];
});

const FRAME_WAYS: readonly Way[] = [
  { entries: ['GET /frames'], operation: 'listFrames', send: http('/frames') },
  { entries: ['HEAD /frames'], operation: 'listFrames', send: http('/frames', HEAD) },
  {
    entries: ['POST /frames'],
    detail: 'rows',
    operation: 'putFrame',
    send: http('/frames', { method: 'POST', ...ROWS }),
  },
  {
    entries: ['POST /frames'],
    detail: 'local',
    operation: 'keepQuery',
    ...NO_TABLE,
    send: http('/frames', keep('local')),
  },
  {
    entries: ['POST /frames'],
    detail: 'tsdb',
    operation: 'keepQuery',
    target: 'tsdb',
    allowed: 'tsdb_not_configured',
    send: http('/frames', keep('tsdb')),
  },
  {
    entries: ['POST /frames'],
    detail: 'scheduler',
    operation: 'keepQuery',
    ...SCHEDULER,
    send: http('/frames', keep('scheduler')),
  },
  { entries: ['GET /frames/:handle'], operation: 'describeFrame', ...NOT_FOUND, send: http('/frames/shown') },
  { entries: ['HEAD /frames/:handle'], operation: 'describeFrame', ...NOT_FOUND, send: http('/frames/shown', HEAD) },
  { entries: ['PUT /frames/:handle'], operation: 'putFrame', send: http('/frames/put', { method: 'PUT', ...ROWS }) },
  {
    entries: ['POST /frames/:handle'],
    detail: 'rows',
    operation: 'appendFrame',
    send: http('/frames/put', { method: 'POST', ...ROWS }),
  },
  {
    entries: ['POST /frames/:handle'],
    detail: 'local',
    operation: 'appendQuery',
    allowed: 'handle_not_found',
    send: http('/frames/none', append('local')),
  },
  {
    entries: ['POST /frames/:handle'],
    detail: 'scheduler',
    operation: 'appendQuery',
    target: 'scheduler',
    allowed: 'handle_not_found',
    send: http('/frames/none', append('scheduler')),
  },
  {
    entries: ['PATCH /frames/:handle'],
    operation: 'expireFrame',
    ...NOT_FOUND,
    send: http('/frames/shown', { method: 'PATCH', body: '{"ttl":null}' }),
  },
  {
    entries: ['PATCH /frames/:handle'],
    detail: 'another handle',
    operation: 'renameFrame',
    allowed: 'handle_not_found',
    send: http('/frames/none', { method: 'PATCH', body: '{"handle":"renamed"}' }),
  },
  {
    entries: ['DELETE /frames/:handle'],
    operation: 'dropFrame',
    allowed: 'handle_not_found',
    send: http('/frames/none', { method: 'DELETE' }),
  },
  {
    entries: ['GET /files/:name'],
    detail: 'Parquet',
    operation: 'openFile',
    ...NOT_FOUND,
    send: http('/files/shown.parquet'),
  },
  { entries: ['GET /files/:name'], detail: 'CSV', operation: 'findFile', ...NOT_FOUND, send: http('/files/shown.csv') },
  { entries: ['HEAD /files/:name'], operation: 'openFile', ...NOT_FOUND, send: http('/files/shown.csv', HEAD) },
];

const LINE_WAYS: readonly Way[] = ['/write', '/api/v2/write'].map((path) => ({
  entries: [`POST ${path}`],
  operation: 'writeLines',
  send: http(path, { method: 'POST', body: 'lines x=1' }),
}));

const IMPORT_TYPE = 'multipart/form-data; boundary=x';
const IMPORT = '--x\r\nContent-Disposition: form-data; name="data"; filename="x.csv"\r\n\r\nid\n1\n\r\n--x--\r\n';
const QUESTDB_WAYS: readonly Way[] = [
  {
    entries: ['POST /imp'],
    operation: 'putFrame',
    send: http('/imp?name=put&overwrite=true', {
      method: 'POST',
      headers: { 'content-type': IMPORT_TYPE },
      body: IMPORT,
    }),
  },
  { entries: ['GET /warnings'], send: http('/warnings') },
  { entries: ['HEAD /warnings'], send: http('/warnings', HEAD) },
];

const QUERY = '/queries/none';
const NO_QUERY = { allowed: 'query_not_found' };
const QUERY_WAYS: readonly Way[] = [
  { entries: ['GET /queries'], operation: 'listQueries', send: http('/queries') },
  { entries: ['HEAD /queries'], operation: 'listQueries', send: http('/queries', HEAD) },
  { entries: ['GET /queries/:id'], operation: 'findQuery', ...NO_QUERY, send: http(QUERY) },
  {
    entries: ['HEAD /queries/:id'],
    operation: 'findQuery',
    allowed: 'handle_not_found',
    send: http(QUERY, HEAD),
  },
  {
    entries: ['DELETE /queries/:id'],
    operation: 'cancelQuery',
    ...NO_QUERY,
    send: http(QUERY, { method: 'DELETE' }),
  },
  { entries: ['GET /info'], send: http('/info') },
  { entries: ['HEAD /info'], send: http('/info', HEAD) },
];

const OPEN_WAYS: readonly Way[] = ['/ping', '/ready', '/readyz', '/livez', '/docs', '/'].flatMap((path): Way[] => [
  { entries: [`GET ${path}`], access: 'open', send: http(path) },
  { entries: [`HEAD ${path}`], access: 'open', send: http(path, HEAD) },
]);

const ASSET = '/console/assets/none.js';

/** Every way to use the server over HTTP. */
export const HTTP_WAYS: readonly Way[] = [
  ...READ_WAYS,
  ...FRAME_WAYS,
  ...LINE_WAYS,
  ...QUESTDB_WAYS,
  ...QUERY_WAYS,
  ...OPEN_WAYS,
  { entries: ['GET /chk'], ...TSDB, send: http('/chk?f=json&j=x') },
  { entries: ['HEAD /chk'], operation: 'forward', allowed: 'method_not_allowed', send: http('/chk?f=json&j=x', HEAD) },
  { entries: ['GET /settings'], access: 'optional', send: http('/settings') },
  { entries: ['HEAD /settings'], access: 'optional', send: http('/settings', HEAD) },
  { entries: ['GET /health'], access: 'optional', send: http('/health') },
  { entries: ['HEAD /health'], access: 'optional', send: http('/health', HEAD) },
  { entries: ['GET /docs/:file'], access: 'open', send: http('/docs/docs.js') },
  { entries: ['HEAD /docs/:file'], access: 'open', send: http('/docs/docs.js', HEAD) },
  { entries: ['GET /console/assets/:file'], access: 'open', allowed: 'route_not_found', send: http(ASSET) },
  { entries: ['HEAD /console/assets/:file'], access: 'open', allowed: 'handle_not_found', send: http(ASSET, HEAD) },
  { entries: ['GET /openapi.json'], send: http('/openapi.json') },
  { entries: ['HEAD /openapi.json'], send: http('/openapi.json', HEAD) },
  { entries: ['GET /metrics'], permission: 'admin', send: http('/metrics') },
  { entries: ['HEAD /metrics'], permission: 'admin', send: http('/metrics', HEAD) },
  { entries: ['GET /none'], allowed: 'route_not_found', send: http('/none') },
  { entries: ['DELETE /frames'], allowed: 'method_not_allowed', send: http('/frames', { method: 'DELETE' }) },
  {
    entries: ['OPTIONS /frames'],
    access: 'open',
    allowed: 'method_not_allowed',
    send: http('/frames', { method: 'OPTIONS' }),
  },
];
