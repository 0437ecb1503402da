import { invalidAnswer } from '../cli-error.ts';
import { type Client, createClient, readJson } from '../client.ts';
import type { Command } from '../command.ts';
import { isObject } from '../refusal.ts';
import { clientOptions, URL_OPTION } from '../client-options.ts';
import { type Cell, createTablePrinter } from '../table-printer.ts';

const PAGE = 500;
const MAX_PAGE_BYTES = 256 * 1024 * 1024;
const COLUMNS = ['handle', 'rows', 'bytes', 'columns', 'created', 'expires', 'version'].map((name) => ({
  name,
  isNumeric: ['rows', 'bytes', 'columns'].includes(name),
}));

/** `svc list`: the frames there are. */
export const list: Command = {
  kind: 'command',
  name: 'list',
  summary: 'List the frames, all or those with a prefix.',
  usage: ['[prefix]'],
  options: { url: URL_OPTION },
  notes: [],
  async run(args, context) {
    const [prefix] = args.positionals;
    const printer = createTablePrinter(COLUMNS, context.stdout);
    let frames = 0;
    for await (const rows of readPages(createClient(clientOptions(args, context)), prefix)) {
      await printer.add(rows);
      frames += rows.length;
    }
    await printer.end();
    await context.stdout.write(frames === 1 ? '1 frame\n' : `${frames} frames\n`);
  },
};

async function* readPages(client: Client, prefix: string | undefined): AsyncGenerator<readonly (readonly Cell[])[]> {
  let after: string | undefined;
  for (;;) {
    const params = {
      limit: String(PAGE),
      ...(prefix !== undefined && { prefix }),
      ...(after !== undefined && { after }),
    };
    const answer = await client.send({ method: 'GET', path: 'frames', params });
    const body = await readJson(answer, MAX_PAGE_BYTES);
    if (!isObject(body) || !Array.isArray(body['frames'])) throw invalidAnswer('it is not a list of frames');
    const rows = body['frames'].map(rowOf);
    yield rows;
    const last = rows.at(-1)?.[0];
    // A server that does not page would be asked for ever.
    if (rows.length !== PAGE || typeof last !== 'string' || last === after) return;
    after = last;
  }
}

function rowOf(frame: unknown): readonly Cell[] {
  if (!isObject(frame) || typeof frame['handle'] !== 'string' || !Array.isArray(frame['columns'])) {
    throw invalidAnswer('it lists something that is not a frame');
  }
  const { handle, rows, bytes, columns, created, expires, version } = frame;
  return [handle, rows, bytes, columns.length, created, expires ?? 'never', version].map((value) =>
    typeof value === 'string' || typeof value === 'number' ? String(value) : null,
  );
}
