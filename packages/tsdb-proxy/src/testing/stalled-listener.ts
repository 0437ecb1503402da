import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** A port that never accepts a connection. */
export interface StalledListener {
  close(): Promise<void>;
}

/** Listens, reports it, and blocks its thread, so that no connection is accepted. */
const NEVER_ACCEPTS = `
  const { parentPort, workerData } = require('node:worker_threads');
  require('node:net').createServer().listen(workerData, '127.0.0.1', 1, () => {
    parentPort.postMessage('listening');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;

/** Listens on a port without accepting, and fills the backlog, so that the next connection attempt hangs. */
export async function stallListener(port: number): Promise<StalledListener> {
  const worker = new Worker(NEVER_ACCEPTS, { eval: true, workerData: port });
  await once(worker, 'message');
  const waiting: Socket[] = [];
  for (let isFull = false; !isFull;) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    waiting.push(socket);
    isFull = await Promise.race([
      once(socket, 'connect').then(() => false),
      new Promise<boolean>((resolve) => {
        setTimeout(resolve, 200, true);
      }),
    ]);
  }
  return {
    async close() {
      for (const socket of waiting) socket.destroy();
      await worker.terminate();
    },
  };
}
