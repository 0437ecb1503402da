import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A process with every reader. */
export interface Readers {
  /** What each reader sees in a folder: its rows, in one order, or an error. */
  read(folder: string): Promise<Record<string, unknown>>;
  /** The error of delta-rs for each thing that would change a table. */
  change(folder: string): Promise<Record<string, string>>;
  end(): void;
}

/** What all readers see if each of them sees these rows. */
export const byAll = (rows: unknown): Record<string, unknown> =>
  Object.fromEntries(['delta-rs', 'polars', 'pandas', 'duckdb'].map((name) => [name, rows]));

/** Starts the readers, which answer a line for each line. */
export function startReaders(): Readers {
  const python = spawn(process.env['SVC_PYTHON'] ?? 'python3', [new URL('read_tables.py', import.meta.url).pathname], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface(python.stdout)[Symbol.asyncIterator]();
  async function ask<T>(line: string): Promise<Record<string, T>> {
    python.stdin.write(`${line}\n`);
    const answer: Record<string, T> = JSON.parse((await lines.next()).value);
    return answer;
  }
  return {
    read: (folder) => ask(`read ${folder}`),
    change: (folder) => ask(`change ${folder}`),
    end: () => python.kill(),
  };
}
