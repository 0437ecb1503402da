import type { DuckDBConnection } from '@duckdb/node-api';
import { sqlName, sqlText } from '../../wire/sql-names.ts';
import { faultOf } from '../../wire/sql-fault.ts';
import { UnreadableFrameError } from './sql-refusal.ts';
import type { SqlView } from '../../wire/sql-requests.ts';

/** The views through which SQL sees frames. */
export interface FrameViews {
  /**
   * Makes frames visible to SQL under their names. From the first call on, only files in `directories` can be read; paths
   * in views are relative to the first of them.
   */
  show(directories: readonly string[], views: readonly SqlView[]): Promise<void>;
  /** Hides all other frames: the catalogue queries DuckDB's views by names that a frame may have, too. */
  hideOthers(views: readonly SqlView[]): Promise<void>;
}

/** How many views are kept between statements. */
const MAX_VIEWS = 256;

/** Creates views of no frames, without file access limits yet. */
export function createFrameViews(connection: DuckDBConnection): FrameViews {
  const known = new Map<string, string>();
  let locked: string | undefined;

  async function lock(directories: readonly string[]): Promise<void> {
    const list = directories.map(sqlText).join(', ');
    if (locked === list) return;
    if (locked !== undefined) throw new Error('A locked child cannot change its directories.');
    locked = list;
    await connection.run(`SET allowed_directories = [${list}]`);
    await connection.run('SET enable_external_access = false');
    await connection.run('SET lock_configuration = true');
  }

  async function create({ name, version, sql }: SqlView): Promise<void> {
    const view = `${version} ${sql}`;
    if (known.get(name) === view) return;
    known.delete(name);
    await connection.run(`CREATE OR REPLACE VIEW ${sqlName(name)} AS ${sql}`).catch((error: unknown) => {
      const { kind, message } = faultOf(error, 0);
      throw new UnreadableFrameError({ code: 'unreadable_frame', frame: name, kind, message });
    });
    known.set(name, view);
  }

  async function drop(name: string): Promise<void> {
    known.delete(name);
    await connection.run(`DROP VIEW IF EXISTS ${sqlName(name)}`);
  }

  return {
    async hideOthers(views) {
      const wanted = new Set(views.map(({ name }) => name));
      for (const name of [...known.keys()].filter((one) => !wanted.has(one))) await drop(name);
    },
    async show(directories, views) {
      await lock(directories);
      const [home] = directories;
      // A tenant without frames has no directory yet.
      if (home !== undefined && views.length > 0) process.chdir(home);
      if (known.size + views.length > MAX_VIEWS) {
        for (const name of known.keys()) await drop(name);
      }
      for (const view of views) await create(view);
    },
  };
}
