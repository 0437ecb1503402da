import { existsSync } from 'node:fs';
import { type ServerOptions, type ServerProcess, startProcess } from './server-process.ts';

/** The CPU time of the main thread comes from Linux. */
export const CAN_MEASURE = existsSync('/proc/self/schedstat');

/** No request may keep the event loop for longer in one piece. */
export const MAX_BLOCK_MS = 20;

/** A server that knows how long its event loop was kept by one piece of work. */
export interface MeasuredServer extends ServerProcess {
  /**
   * Runs a request, and returns the CPU time, in milliseconds, of the longest piece of work meanwhile. If that is too long,
   * it tries again, and returns the least: a garbage collection or a compilation can fall into one try; a block of the
   * request itself is in all of them.
   */
  longestBlock<T>(run: (prepared: T) => Promise<unknown>, prepare?: () => Promise<T> | T): Promise<number>;
}

const TRIES = 6;

/** Starts a server whose event loop is measured. */
export async function startMeasured(options: ServerOptions = {}): Promise<MeasuredServer> {
  const preloaded = new URL('measure-blocks.mjs', import.meta.url).href;
  const server = await startProcess({ ...options, env: { ...options.env, NODE_OPTIONS: `--import ${preloaded}` } });
  let reports = 0;
  const reported = async (): Promise<number> => {
    reports += 1;
    server.child.kill('SIGUSR2');
    await server.logged(() => server.log.filter(isReport).length >= reports);
    return Number(server.log.filter(isReport)[reports - 1]?.['ms']);
  };
  // The start itself is not measured.
  await reported();
  return {
    ...server,
    async longestBlock(run, prepare) {
      let leastMs = Infinity;
      for (let i = 0; i < TRIES && leastMs > MAX_BLOCK_MS; i += 1) {
        const prepared = (await prepare?.()) as Parameters<typeof run>[0];
        await reported();
        await run(prepared);
        leastMs = Math.min(leastMs, await reported());
      }
      return leastMs;
    },
  };
}

const isReport = ({ message }: { readonly message: string }): boolean => message === 'longest block';
