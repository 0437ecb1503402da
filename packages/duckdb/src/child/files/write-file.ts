import type { DuckDBConnection, DuckDBInstance as Instance } from '@duckdb/node-api';
import { availableParallelism } from 'node:os';
import { rm } from 'node:fs/promises';
import { appendRowGroups } from './append-row-groups.ts';
import type { ActiveRequest } from '../active-request.ts';
import { finishFile } from './finish-file.ts';
import { DuckDBTableFunction, PLAIN_TYPES } from '../node-api.ts';
import { Lane, Upload, type WriteRequest } from './upload-rows.ts';
import type { ChildRequest, WrittenNumbers } from '../../wire/file-requests.ts';

type CopyRequest = Extract<ChildRequest, { op: 'copy' }>;
type FileTarget = Pick<CopyRequest, 'path' | 'options'>;

/** Writes files from batches that the parent sends. */
export interface Uploads {
  write(connection: DuckDBConnection, active: ActiveRequest, request: WriteRequest): Promise<WrittenNumbers>;
}

/** Registers the table function that passes the rows of an upload to DuckDB. */
export function createUploads(instance: Instance, connection: DuckDBConnection): Uploads {
  const running = new Map<number, Upload>();
  const lanes = createLanes();
  const source = DuckDBTableFunction.create({
    name: 'svc_source',
    parameterTypes: [PLAIN_TYPES.BIGINT, PLAIN_TYPES.BIGINT],
    bindFunction(info) {
      const upload = running.get(Number(info.getParameter(0)));
      const lane = Number(info.getParameter(1));
      for (const [i, { type }] of upload?.writers.entries() ?? []) info.addResultColumn(`c${i}`, type);
      info.addResultColumn('wait_ms', PLAIN_TYPES.INTEGER);
      if (upload !== undefined) info.setBindData(new Lane(upload, lane));
    },
    initFunction: (info) => info.setMaxThreads(1),
    mainFunction(info, chunk) {
      const { bindData } = info;
      if (!(bindData instanceof Lane)) return;
      try {
        bindData.upload.fill(chunk, bindData);
      } catch (error) {
        bindData.upload.fail(error);
        info.setError('The upload failed.');
      }
    },
  });
  connection.registerTableFunction(source);

  return {
    async write(writing, active, request) {
      const upload = new Upload(active, request);
      running.set(active.id, upload);
      const names = request.columns.map(({ name }, i) => `c${i} AS "${name.replaceAll('"', '""')}"`);
      // The function cannot wait for rows, and returning none would end the scan. Instead it returns a dummy row, and
      // the filter sleeps before it drops that row.
      const sql = (lane: number): string => `SELECT ${names.join(', ')} FROM svc_source(${active.id}, ${lane})
        WHERE CASE WHEN wait_ms > 0 THEN sleep_ms(wait_ms) IS NOT NULL ELSE true END`;
      const copy: Copy = (used, target, lane) => copyRows(target, sql(lane), used);
      try {
        const first = await copy(writing, { path: request.path, options: upload.options }, 0);
        const rows = first + (await writeTail(upload, request, { instance, lanes, copy }));
        return await finish(request, rows, upload.arrowBytes);
      } catch (error) {
        await rm(request.path, { force: true });
        throw upload.failure ?? error;
      } finally {
        running.delete(active.id);
        for (const path of request.segments.tailPaths) await rm(path, { force: true });
      }
    },
  };
}

/** Writes the rows of a lane to a file; returns their number. */
type Copy = (connection: DuckDBConnection, target: FileTarget, lane: number) => Promise<number>;

/** Gives several lanes to one upload at a time: each waits for the others, and holds a thread of the pool. */
interface Lanes {
  /** Runs a task with up to `most` lanes. */
  use<T>(most: number, task: (lanes: number) => Promise<T>): Promise<T>;
}

function createLanes(): Lanes {
  let isTaken = false;
  return {
    async use(most, task) {
      const lanes = isTaken ? 1 : Math.min(most, availableParallelism());
      if (lanes === 1) return task(1);
      isTaken = true;
      try {
        return await task(lanes);
      } finally {
        isTaken = false;
      }
    },
  };
}

/** What the segments after the first are written with. */
interface TailTools {
  readonly instance: Instance;
  readonly lanes: Lanes;
  readonly copy: Copy;
}

/** Writes the rows after the first segment, with a segment for every change of the options. Returns their number. */
async function writeTail(
  upload: Upload,
  { path, segments: { tailPaths } }: WriteRequest,
  { instance, lanes, copy }: TailTools,
): Promise<number> {
  let rows = 0;
  while (upload.isInterrupted) {
    rows += await lanes.use(tailPaths.length, async (count) => {
      const { options, groupRows } = upload;
      const paths = tailPaths.slice(0, count);
      upload.resume(count);
      const added = await copyLanes(upload, paths, (lanePath, lane) =>
        withConnection(instance, (own) => copy(own, { path: lanePath, options }, lane)),
      );
      await appendRowGroups(path, { lanes: paths, groupRows });
      return added;
    });
  }
  return rows;
}

/** Runs the statement of a lane in a connection of its own. */
async function withConnection<T>(instance: Instance, task: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  const connection = await instance.connect();
  try {
    // DuckDB would join short chunks: the end of a row group with the start of the lane's next one.
    await connection.run('SET enable_caching_operators = false');
    return await task(connection);
  } finally {
    connection.disconnectSync();
  }
}

/** Writes the rows of a segment, a file for each lane. Returns their number when all lanes have ended. */
async function copyLanes(
  upload: Upload,
  paths: readonly string[],
  copy: (path: string, lane: number) => Promise<number>,
): Promise<number> {
  const copies = paths.map(async (path, lane) => {
    try {
      return await copy(path, lane);
    } catch (error) {
      // The other lanes would wait for the rows of this one.
      upload.fail(error);
      return 0;
    }
  });
  const rows = await Promise.all(copies);
  if (upload.failure !== undefined) throw upload.failure;
  return rows.reduce((sum, count) => sum + count, 0);
}

/** Writes the rows of a query to a file. Removes the file on failure. */
export async function copyToFile(
  request: CopyRequest,
  sql: string,
  connection: DuckDBConnection,
  measure: (rows: number) => Promise<number>,
): Promise<WrittenNumbers> {
  try {
    const rows = await copyRows(request, sql, connection);
    return await finish(request, rows, await measure(rows));
  } catch (error) {
    await rm(request.path, { force: true });
    throw error;
  }
}

async function copyRows({ path, options }: FileTarget, sql: string, connection: DuckDBConnection): Promise<number> {
  const result = await connection.run(`COPY (${sql}) TO '${path.replaceAll("'", "''")}' (${options})`);
  return result.rowsChanged;
}

async function finish(
  { path, notes }: Pick<CopyRequest, 'path' | 'notes'>,
  rows: number,
  arrowBytes: number,
): Promise<WrittenNumbers> {
  const fileBytes = await finishFile(path, { [notes.rowsKey]: rows, [notes.bytesKey]: arrowBytes });
  return { rows, arrowBytes, fileBytes };
}
