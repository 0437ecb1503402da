import { stat } from 'node:fs/promises';

const CHECK_EVERY_MS = 50;

/** Calls `onExceeded` once if files that are being written exceed `maxBytes` in total. Returns a function that stops. */
export function watchSize(paths: readonly string[], maxBytes: number, onExceeded: () => void): () => void {
  const stop = followSize(paths, (bytes) => {
    if (bytes <= maxBytes) return;
    stop();
    onExceeded();
  });
  return stop;
}

/** Calls `onSize` repeatedly with the size of files that are being written. Returns a function that stops. */
export function followSize(paths: readonly string[], onSize: (bytes: number) => void): () => void {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  async function check(): Promise<void> {
    const sizes = await Promise.all(paths.map(sizeOf));
    if (isStopped) return;
    schedule();
    onSize(sizes.reduce((sum, size) => sum + size, 0));
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

/** A missing file has size 0; its writer reports any other problem. */
async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
