// Writes the generated parts of the documentation from their tables; with --check only verifies them.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { formatSettingsReference } from '../packages/config/dist/index.js';
import { ERROR_CODES } from '../packages/errors/dist/index.js';
import { ENDPOINTS } from '../packages/exec-http/dist/index.js';
import { COLUMN_TYPES, ENCODINGS } from '../packages/frames/dist/index.js';
import { SERVER_ENDPOINTS } from '../apps/server/dist/http/server-endpoints.js';
import { METRICS } from '../apps/server/dist/metrics/metric-table.js';
import { root } from './pack.js';

const NOTE = '<!-- Written by `npm run docs` from a table in the code: change that. -->\n\n';

function table(head, rows) {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return lines.join('\n');
}

function code(text) {
  return `\`${text}\``;
}

function errorsReference() {
  const rows = Object.entries(ERROR_CODES).map(([name, { http, grpc, meaning, hint }]) => [
    code(name),
    http,
    grpc,
    meaning,
    hint,
  ]);
  return `# Errors

Every error has a code from this closed set, and the code alone decides both statuses. Over HTTP the body is flat JSON:

\`\`\`json
{"error": "There is no frame \\"trades\\".", "code": "handle_not_found", "hint": "GET /frames lists all handles.", "requestId": "r-1"}
\`\`\`

\`error\` says in one sentence what happened, \`hint\` says what to do, and \`requestId\` identifies the request in the log
and in the header \`x-request-id\`. Over gRPC, the sentence is the status message; code, hint and request id are in the
trailing metadata \`svc-error-code\`, \`svc-error-hint\` and \`x-request-id\`.

The hints below are the defaults; many errors have a more specific one. A failure after the first byte of a response closes
the connection (HTTP) or ends the call with its status (gRPC): a truncated response never looks complete. Errors of the
time-series database pass through unchanged, in the database's format.

${table(['Code', 'HTTP', 'gRPC', 'When', 'Hint'], rows)}
`;
}

function typesTable() {
  const rows = Object.entries(COLUMN_TYPES).map(([name, { arrow, json }]) => [code(name), arrow, json]);
  return table(['`type`', 'Arrow', 'JSON value'], rows);
}

function uploadFormatsTable() {
  const rows = Object.entries(ENCODINGS)
    .filter(([, row]) => row.in)
    .map(([name, { in: upload }]) => [code(name), upload.types.map(code).join(', '), upload.description]);
  return table(['`fmt`', '`Content-Type`', 'What it is'], rows);
}

function exportFormatsTable() {
  const rows = Object.entries(ENCODINGS)
    .filter(([name, row]) => name !== 'json' && row.out)
    .map(([name, { out }]) => [code(name), code(out.contentType), code(`.${out.extension}`), out.description]);
  return table(['`fmt`', '`content-type`', 'File', 'What it is'], rows);
}

/** Returns every use of every method of the server, with a link to its section. */
function requestsTable() {
  const rows = Object.entries(SERVER_ENDPOINTS).flatMap(([path, { methods }]) =>
    Object.entries(methods).flatMap(([method, { uses }]) =>
      uses.map(({ request = path, gives, section }) => {
        const name = code(`${method} ${request}`);
        return [section === undefined ? name : `[${name}](#${section})`, gives];
      }),
    ),
  );
  return table(['request', 'response'], rows);
}

const { params: readParams } = ENDPOINTS['/exec'].methods.GET;
const { params: uploadParams, headers: uploadHeaders } = ENDPOINTS['/frames/{handle}'].methods.PUT;
const { params: listParams } = ENDPOINTS['/frames'].methods.GET;
const { params: importParams } = ENDPOINTS['/imp'].methods.POST;
const READ_PARAMS = ['handle', 'fmt', 'limit', 'cols', 'quoteLargeNum', 'count', 'nm', 'timings'];
const CSV_OPTIONS = ['null', 'encoding', 'skip', 'dateformat', 'timestampformat'];

function parametersTable(rows, names) {
  const cells = names.map((name) => {
    const { rule, formats } = rows[name];
    return [
      code(name),
      formats === undefined ? rule : `For ${formats.map((it) => it.toUpperCase()).join(', ')}. ${rule}`,
    ];
  });
  return table(['parameter', 'rule'], cells);
}

/** Returns the parameters of an upload, except for those of CSV alone, and its headers. */
function uploadTable() {
  const names = Object.keys(uploadParams).filter((name) => !CSV_OPTIONS.includes(name));
  const headers = Object.entries(uploadHeaders).map(([name, { rule }]) => [code(name), rule]);
  const more = [CSV_OPTIONS.map(code).join(', '), 'For CSV: see [CSV options](#csv-options).'];
  return [parametersTable(uploadParams, names), ...[more, ...headers].map((cells) => `| ${cells.join(' | ')} |`)].join(
    '\n',
  );
}

function metricsTable() {
  const rows = Object.entries(METRICS).map(([name, { type, labels = [], help }]) => [
    code(name),
    type,
    labels.map(code).join(', '),
    help,
  ]);
  return table(['metric', 'type', 'labels', 'meaning'], rows);
}

/** Returns what works with which client, from the records of the interop suites. */
function clientsTable() {
  const folder = join(root, 'interop/clients');
  const rows = readdirSync(folder)
    .toSorted()
    .flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));
  const list = (texts) => texts.join('; ').replaceAll('|', '\\|');
  return table(
    ['client', 'version', 'works', 'does not work'],
    rows.map(({ client, version, through, works, lacks }) => [
      client,
      through === '' ? version : `${version}, with ${through}`,
      list(works),
      list(lacks),
    ]),
  );
}

/** Returns the page with the text between the markers of each table replaced. */
function withTables(page, tables) {
  let text = readFileSync(join(root, page), 'utf8');
  for (const [name, rows] of Object.entries(tables)) {
    const [begin, end] = [`<!-- table: ${name}, written by \`npm run docs\` -->`, `<!-- end of table: ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`${page} has no place for the table "${name}": ${begin} … ${end}`);
    text = `${text.slice(0, from)}${begin}\n\n${rows}\n\n${text.slice(to)}`;
  }
  return text;
}

const pages = {
  'docs/clients.md': withTables('docs/clients.md', { clients: clientsTable() }),
  'docs/configuration.md': NOTE + formatSettingsReference({ name: 'service' }),
  'docs/errors.md': NOTE + errorsReference(),
  'docs/http-api.md': withTables('docs/http-api.md', {
    requests: requestsTable(),
    'parameters of a read': parametersTable(readParams, READ_PARAMS),
    'parameters of SQL': parametersTable(readParams, ['query', 'engine', 'param']),
    'parameters of an upload': uploadTable(),
    'parameters of CSV': parametersTable(uploadParams, CSV_OPTIONS),
    'parameters of an import': parametersTable(importParams, Object.keys(importParams)),
    'parameters of a list': parametersTable(listParams, Object.keys(listParams)),
    types: typesTable(),
    'upload formats': uploadFormatsTable(),
    'export formats': exportFormatsTable(),
  }),
  'docs/operating.md': withTables('docs/operating.md', { metrics: metricsTable() }),
};

for (const [page, text] of Object.entries(pages)) {
  const path = join(root, page);
  const formatted = await format(text, { ...(await resolveConfig(path)), filepath: path });
  if (existsSync(path) && readFileSync(path, 'utf8') === formatted) continue;
  if (process.argv.includes('--check')) {
    console.error(`${page} is out of date: run npm run docs.`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, formatted);
  }
}
