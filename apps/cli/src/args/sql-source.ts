import { TextDecoder } from 'node:util';
import { CliError } from '../errors/cli-error.ts';
import type { Context } from './command.ts';
import { DASH, openSource } from './source.ts';

const MAX_SQL_BYTES = 1024 * 1024;

/** Reads SQL from a file, or from standard input for `-`. */
export async function readSql(file: string, { stdin }: Context): Promise<string> {
  const name = file === DASH ? 'on standard input' : `in ${JSON.stringify(file)}`;
  const source = await openSource(file, stdin);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let sql = '';
  let bytes = 0;
  try {
    for await (const chunk of source.chunks) {
      bytes += chunk.length;
      if (bytes > MAX_SQL_BYTES) {
        throw new CliError('usage', `The SQL ${name} is longer than 1 MiB.`, {
          hint: 'Split it into shorter queries.',
        });
      }
      sql += decode(decoder, name, chunk);
    }
  } finally {
    await source.close();
  }
  return sql + decode(decoder, name);
}

function decode(decoder: TextDecoder, name: string, chunk?: Uint8Array): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw new CliError('usage', `The SQL ${name} is not UTF-8.`, { hint: 'Save it as UTF-8.' });
  }
}
