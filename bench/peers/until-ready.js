import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const TIMEOUT_MS = 120_000;
/** The poll interval and number of rows for timing a start, the same for all. */
export const POLL_MS = 2;
export const FIRST_ROWS = 1000;

/** Waits until a process answers a request with 200; kills it after a timeout. */
export async function untilReady(url, child, pauseMs = 10, request) {
  const end = performance.now() + TIMEOUT_MS;
  while (performance.now() < end) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}.`);
    // Polling before the port is open would take CPU from the starting process.
    if ((await isListening(url)) && (await isAnswered(url, request))) return;
    await delay(pauseMs);
  }
  child.kill('SIGKILL');
  throw new Error(`${url} did not answer within ${TIMEOUT_MS} ms.`);
}

function isListening(url) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

async function isAnswered(url, request) {
  try {
    const response = await fetch(url, request);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
