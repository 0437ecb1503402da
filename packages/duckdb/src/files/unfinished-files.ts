import { stat } from 'node:fs/promises';

/** The files of the rows that need other options than the first, which are written in two lanes. */
export function tailsOf(path: string): readonly string[] {
  return ['tail', 'tail-2'].map((suffix) => `${path}.${suffix}`);
}

/** The Parquet file on the way to an Arrow file, if the source has dictionaries. */
export function plainOf(path: string): string {
  return `${path}.plain`;
}

/** An unfinished Parquet file, and the files beside it. */
export function filesOfParquet(path: string): readonly string[] {
  return [path, ...tailsOf(path)];
}

/** An unfinished file of any format, and the files beside it. They are gone when it is complete. */
export function filesOfEncoding(path: string): readonly string[] {
  return [path, plainOf(path)].flatMap(filesOfParquet);
}

const CHECK_EVERY_MS = 50;

/** Calls `onExceeded` once if unfinished files exceed `maxBytes` in total. Returns a function to stop. */
export function watchSize(paths: readonly string[], maxBytes: number, onExceeded: () => void): () => void {
  const stop = followSize(paths, (bytes) => {
    if (bytes <= maxBytes) return;
    stop();
    onExceeded();
  });
  return stop;
}

/** Calls `onSize` repeatedly with the total size of unfinished files. Returns a function to stop. */
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
