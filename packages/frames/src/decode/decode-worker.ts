import { parentPort } from 'node:worker_threads';
import { decodeArrow } from './arrow-decoder.ts';
import { buffersOf } from './column-data.ts';
import { type ByteInput, createByteInput, type DecodeSteps } from './decode-steps.ts';
import { decodeJson } from './json-decoder.ts';
import { createBudget } from './limits.ts';
import { replyFromError, type WorkerReply, type WorkerRequest } from './worker-messages.ts';

// The whole worker: it decodes one body at a time, and only while it is asked for a step.

interface Decoding {
  readonly input: ByteInput;
  readonly steps: DecodeSteps;
}

let decoding: Decoding | undefined;

function answer(request: WorkerRequest): WorkerReply {
  if (request.kind === 'open') {
    const input = createByteInput();
    const decode = request.format === 'arrow' ? decodeArrow : decodeJson;
    decoding = { input, steps: decode(input, createBudget(request.maxBytes)) };
  }
  if (decoding === undefined) return { kind: 'done' };
  if (request.kind === 'chunk') decoding.input.push(request.bytes);
  if (request.kind === 'end') decoding.input.end();
  const { value, done } = decoding.steps.next();
  if (done !== true) return value;
  decoding = undefined;
  return { kind: 'done' };
}

function answerSafely(request: WorkerRequest): WorkerReply {
  try {
    return answer(request);
  } catch (error) {
    decoding = undefined;
    return replyFromError(error);
  }
}

parentPort?.on('message', (request: WorkerRequest) => {
  if (request.kind === 'close') {
    decoding = undefined;
    return;
  }
  const reply = answerSafely(request);
  // Batches are moved, not copied. Dictionaries are copied: the decoder still needs them for what follows.
  parentPort?.postMessage(reply, reply.kind === 'batch' ? [...buffersOf(reply.columns)] : []);
});
parentPort?.postMessage('ready', []);
