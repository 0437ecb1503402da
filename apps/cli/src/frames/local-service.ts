import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PERMISSIONS } from '@svc/auth';
import {
  createDurableStore,
  createFrameFiles,
  createParquetEncoder,
  createSqlEngine,
  DirectoryInUseError,
  type StoreProblem,
} from '@svc/duckdb';
import { planPrivateDirectory } from '@svc/duckdb/internal';
import { createExecApp } from '@svc/exec-http';
import { createDecoders } from '@svc/frames';
import { createService } from '@svc/service';
import { CliError, reasonOf } from '../errors.ts';
import { directoryError, type FrameDirectory } from './find-directory.ts';

/** The HTTP API over a directory, in this process. */
export interface LocalService {
  /** Answers as a server with this directory would. */
  readonly fetch: typeof fetch;
  /** Problems with individual frames, a sentence each. */
  readonly problems: readonly string[];
  close(): Promise<void>;
}

/** Options for opening a directory. */
export interface LocalServiceOptions {
  /** The directory as the user wrote it. */
  readonly name: string;
  /** Only reads, even while another process holds the directory; otherwise locks it. */
  readonly isReadOnly: boolean;
  /** Starts a process for SQL. */
  readonly hasSql: boolean;
  /** The tenant whose frames are used. Default: the only one of a directory without tenants. */
  readonly tenant?: string | undefined;
}

/** A user at a terminal can cancel a query by hand. */
const MAX_SQL_MS = 24 * 60 * 60 * 1000;

/** Opens a directory as a server would. Undefined: a temporary one, removed with the service. */
export async function openLocalService(
  directory: FrameDirectory | undefined,
  { name, isReadOnly, hasSql, tenant }: LocalServiceOptions,
): Promise<LocalService> {
  const ending = planPrivateDirectory(tmpdir(), 'svc-local-');
  await ending.make();
  const temporary = ending.path;
  const { parquetPath, duckdbPath } = directory ?? { parquetPath: join(temporary, 'frames') };
  const files = createFrameFiles({ tempDirectory: temporary });
  const decoders = createDecoders();
  const problems = new Set<string>();
  try {
    const store = await createDurableStore({
      directory: parquetPath,
      ...(duckdbPath !== undefined && { duckdbPath }),
      files,
      decoders,
      isReadOnly,
      // One command reads each frame once.
      cacheBytes: 0,
      tempDirectory: temporary,
      onProblem: (problem) => problems.add(problemText(problem)),
    }).catch((error: unknown) => {
      throw error instanceof DirectoryInUseError ? inUse(name, error) : directoryError(name, error);
    });
    const service = createService({
      store,
      // A server would only log the cause; here the files belong to the user.
      observe: (event) => {
        const isFault = event.kind === 'request_answered' && event.error?.code === 'internal';
        if (isFault) problems.add(`The cause is: ${reasonOf(event.error?.cause)}`);
      },
      ...(hasSql && {
        engines: {
          local: createSqlEngine({ store, tempDirectory: temporary, timeoutMs: MAX_SQL_MS, maxConcurrent: 1 }),
        },
      }),
      encodeParquet: createParquetEncoder(files, { directory: temporary }),
    });
    const caller = tenant === undefined ? undefined : { id: 'svc', tenant, permissions: new Set(PERMISSIONS) };
    const app = createExecApp({ service, compression: false, ...(caller && { authenticate: () => caller }) });
    return {
      async fetch(input, init) {
        const request = new Request(input, init);
        const response = await app.fetch(request);
        request.signal.throwIfAborted();
        return response;
      },
      get problems() {
        return [...problems];
      },
      async close() {
        await service.close();
        await decoders.close();
        await ending.remove();
      },
    };
  } catch (error) {
    await Promise.all([files.close(), decoders.close()]);
    await ending.remove();
    throw error;
  }
}

function inUse(name: string, { holder }: DirectoryInUseError): CliError {
  const { pid, host, since } = holder;
  return new CliError(
    'refused',
    `Process ${pid} on ${host} has held the directory ${JSON.stringify(name)} since ${since}.`,
    { hint: 'If it is a server, send the change to it: leave out the directory, and name its address with --url.' },
  );
}

const PROBLEMS: Readonly<Record<StoreProblem['kind'], (handle: string) => string>> = {
  damaged_frame: (handle) => `The file of the frame ${handle} is damaged.`,
  unreadable_frame: (handle) => `The frame ${handle} cannot be read and is skipped.`,
  not_a_table: (handle) => `The JSON file of ${handle} is not an array of objects, and is ignored.`,
  unreadable_expiry: (handle) => `The expiry of the frame ${handle} cannot be read.`,
  unreadable_database: () => 'The database of the directory cannot be read.',
  not_removed: (handle) => `The file of the dropped frame ${handle} cannot be removed.`,
  no_checkpoint: (handle) => `The log of the frame ${handle} grows: no checkpoint for other programs can be written.`,
  not_released: () => 'The directory is no longer writable; its lock stays until the directory is opened again.',
};

function problemText({ kind, handle }: StoreProblem): string {
  return PROBLEMS[kind](JSON.stringify(handle));
}
