import { stat } from 'node:fs/promises';

const CHECK_EVERY_MS = 50;

/** Calls `onExceeded` once when files that are being written have more than `maxBytes` together. Returns how to stop. */
export function watchSize(paths: readonly string[], maxBytes: number, onExceeded: () => void): () => void {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  async function check(): Promise<void> {
    const sizes = await Promise.all(paths.map(sizeOf));
    if (isStopped) return;
    if (sizes.reduce((sum, size) => sum + size, 0) > maxBytes) onExceeded();
    else schedule();
  }
  function schedule(): void {
    timer = setTimeout(() => void check(), CHECK_EVERY_MS).unref();
  }
  schedule();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** A file that is not there yet has no bytes; what else is wrong with one, its writer finds out. */
async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
