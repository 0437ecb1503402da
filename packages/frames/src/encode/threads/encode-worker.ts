import { parentPort } from 'node:worker_threads';
import { useKernel } from '../kernel/kernel.ts';
import { OUT_START, type ThreadReply, type ThreadRequest } from './encode-threads.ts';

// The worker program: it writes rows that were loaded elsewhere, and transfers the memory back with the output.

function write({ memory, memoryBytes, out, place, first, last, rowBytes }: ThreadRequest): ThreadReply {
  try {
    const kernel = useKernel();
    kernel.clear();
    kernel.put(new Uint8Array(memory, 0, memoryBytes));
    const room = out.byteLength - OUT_START;
    const target = kernel.allocate(room);
    const { row, bytes } = kernel.write(place, first, last, { out: target, bytes: room, cellBytes: rowBytes, ends: 0 });
    new Uint8Array(out).set(kernel.bytes.subarray(target, target + bytes), OUT_START);
    return { memory, out, row, bytes };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error('The kernel failed.', { cause: thrown });
    return { memory, out, row: first, bytes: 0, error };
  }
}

parentPort?.on('message', (request: ThreadRequest) => {
  const reply = write(request);
  parentPort?.postMessage(reply, [reply.memory, reply.out]);
});
parentPort?.postMessage('ready', []);
