import { parentPort, workerData } from 'node:worker_threads';
import type { ByteBudget } from '../byte-budget.ts';
import type { DecodedFormat } from '../encoding.ts';
import { decodeArrow } from './arrow-decoder.ts';
import { buffersOf } from './column-data.ts';
import { type ByteInput, createByteInput, type DecodeSteps } from './decode-steps.ts';
import { decodeJson, decodeNdjson } from './json-decoder.ts';
import { handOn } from './hand-on.ts';
import { createFrameBudget } from './limits.ts';
import { type MemoryShare, resizeShare } from './memory-shares.ts';
import { type Outcome, outcomeFromError, type WorkerRequest } from './worker-messages.ts';

// The whole worker: it decodes one body at a time, and only while it is asked for a step.

const DECODERS: Record<DecodedFormat, (input: ByteInput, budget: ByteBudget, canReread: boolean) => DecodeSteps> = {
  arrow: decodeArrow,
  json: decodeJson,
  ndjson: decodeNdjson,
};

interface Decoding {
  readonly input: ByteInput;
  readonly steps: DecodeSteps;
}

const share: MemoryShare = workerData;
let decoding: Decoding | undefined;

function answer(request: WorkerRequest): Outcome {
  if (request.kind === 'open') {
    const input = createByteInput();
    const budget = createFrameBudget(request.maxBytes, share);
    const steps = DECODERS[request.format](input, budget, request.canReread);
    decoding = { input, steps: request.canReread ? handOn(steps, budget) : steps };
  }
  if (decoding === undefined) return { kind: 'done' };
  if (request.kind === 'chunk') decoding.input.push(request.bytes);
  if (request.kind === 'end') decoding.input.end();
  const { value, done } = decoding.steps.next();
  if (done !== true) return value;
  decoding = undefined;
  resizeShare(share, 0);
  return { kind: 'done' };
}

function answerSafely(request: WorkerRequest): Outcome {
  try {
    return answer(request);
  } catch (error) {
    // What it took stays counted: the memory is not free before it is collected.
    decoding = undefined;
    return outcomeFromError(error);
  }
}

parentPort?.on('message', (request: WorkerRequest) => {
  if (request.kind === 'close') {
    decoding = undefined;
    return;
  }
  const outcome = answerSafely(request);
  // Batches are moved, not copied. Dictionaries are copied: the decoder still needs them for what follows.
  parentPort?.postMessage(outcome, outcome.kind === 'batch' ? [...buffersOf(outcome.columns)] : []);
});
parentPort?.postMessage('ready', []);
