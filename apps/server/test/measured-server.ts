import { existsSync } from 'node:fs';
import { type ServerOptions, type ServerProcess, startProcess } from './server-process.ts';

/** The CPU time of the main thread comes from Linux. */
export const CAN_MEASURE = existsSync('/proc/self/schedstat');

/** No request may keep the event loop for longer in one piece. */
export const MAX_BLOCK_MS = 20;

/** A server that knows how long its event loop was kept by one piece of work. */
export interface MeasuredServer extends ServerProcess {
  /**
   * Runs a request, and returns the CPU time, in milliseconds, of the longest piece of work meanwhile, on a core that is
   * not slowed down. If that is too long, it tries again, and returns the least: a garbage collection or a compilation can
   * fall into one try; a block of the request itself is in all of them.
   */
  longestBlock<T>(run: (prepared: T) => Promise<unknown>, prepare?: () => Promise<T> | T): Promise<number>;
}

const TRIES = 6;
/** The time of the fixed piece of work on an undisturbed core of 2.5 GHz. A faster core counts as this one. */
const REFERENCE_MS = 34;

/** Starts a server whose event loop is measured. */
export async function startMeasured(options: ServerOptions = {}): Promise<MeasuredServer> {
  const preloaded = new URL('measure-blocks.mjs', import.meta.url).href;
  const server = await startProcess({ ...options, env: { ...options.env, NODE_OPTIONS: `--import ${preloaded}` } });
  let reports = 0;
  const reported = async (): Promise<{ readonly ms: number; readonly slowness: number }> => {
    reports += 1;
    server.child.kill('SIGUSR2');
    await server.logged(() => server.log.filter(isReport).length >= reports);
    const { ms, referenceMs } = server.log.filter(isReport)[reports - 1] ?? {};
    return { ms: Number(ms), slowness: Math.max(1, Number(referenceMs) / REFERENCE_MS) };
  };
  // The start itself is not measured.
  await reported();
  return {
    ...server,
    async longestBlock(run, prepare) {
      let leastMs = Infinity;
      for (let i = 0; i < TRIES && leastMs > MAX_BLOCK_MS; i += 1) {
        const prepared = (await prepare?.()) as Parameters<typeof run>[0];
        const before = await reported();
        await run(prepared);
        const after = await reported();
        leastMs = Math.min(leastMs, after.ms / Math.min(before.slowness, after.slowness));
      }
      return leastMs;
    },
  };
}

const isReport = ({ message }: { readonly message: string }): boolean => message === 'longest block';
