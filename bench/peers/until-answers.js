import { setTimeout as delay } from 'node:timers/promises';

const TIMEOUT_MS = 120_000;

/** Waits until a process answers a request with 200; one that does not is ended. */
export async function untilAnswers(url, child, pauseMs = 10, request) {
  const end = performance.now() + TIMEOUT_MS;
  while (performance.now() < end) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}.`);
    const isThere = await fetch(url, request).then(
      async (response) => {
        await response.arrayBuffer();
        return response.ok;
      },
      () => false,
    );
    if (isThere) return;
    await delay(pauseMs);
  }
  child.kill('SIGKILL');
  throw new Error(`${url} did not answer within ${TIMEOUT_MS} ms.`);
}
