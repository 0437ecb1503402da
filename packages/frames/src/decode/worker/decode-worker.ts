import { parentPort, workerData } from 'node:worker_threads';
import type { ByteBudget } from '../../byte-budget.ts';
import type { DecodedFormat } from '../../encoding.ts';
import { decodeArrow } from '../arrow/arrow-decoder.ts';
import { buffersOf } from '../../columns/column-data.ts';
import { type ByteInput, createByteInput, type DecodeSteps } from '../decode-steps.ts';
import { createFileInput } from './file-input.ts';
import { decodeJson, decodeNdjson, type JsonOptions } from '../json/json-decoder.ts';
import { targetFromMessage } from '../json/json-target.ts';
import { transfer } from './transfer.ts';
import { createFrameBudget } from '../limits.ts';
import { asMemoryShare, resizeShare } from './memory-shares.ts';
import { type BodyChunk, type Outcome, outcomeFromError, type WorkerRequest } from './worker-messages.ts';

// The worker program. It decodes one body at a time, and only while a request is pending.

const DECODERS: Record<DecodedFormat, (input: ByteInput, budget: ByteBudget, options: JsonOptions) => DecodeSteps> = {
  arrow: decodeArrow,
  json: decodeJson,
  ndjson: decodeNdjson,
};

interface Decoding {
  readonly steps: DecodeSteps;
  feed(chunk: BodyChunk): void;
  end(): void;
  close(): void;
}

type OpenRequest = Extract<WorkerRequest, { kind: 'open' }>;

const share = asMemoryShare(workerData);
let decoding: Decoding | undefined;

function open({ format, maxBytes, path, target: message }: OpenRequest): Decoding {
  const target = message && targetFromMessage(message);
  const budget = createFrameBudget(maxBytes, share);
  if (path === undefined) {
    const input = createByteInput();
    return {
      steps: DECODERS[format](input, budget, { target }),
      feed: (chunk) => chunk.kind === 'chunk' && input.push(chunk.bytes),
      end: () => input.end(),
      close: () => undefined,
    };
  }
  const input = createFileInput(path);
  return {
    steps: transfer(DECODERS[format](input, budget, { canReread: true, target }), budget),
    feed: (chunk) => chunk.kind === 'grown' && input.grow(chunk.bytes),
    end: () => input.end(),
    close: () => input.close(),
  };
}

function close(): void {
  decoding?.close();
  decoding = undefined;
}

function handle(request: WorkerRequest): Outcome {
  if (request.kind === 'open') decoding = open(request);
  if (decoding === undefined) return { kind: 'done' };
  if (request.kind === 'chunk' || request.kind === 'grown') decoding.feed(request);
  if (request.kind === 'end') decoding.end();
  const { value, done } = decoding.steps.next();
  if (done !== true) return value;
  close();
  resizeShare(share, 0);
  return { kind: 'done' };
}

function handleSafely(request: WorkerRequest): Outcome {
  try {
    return handle(request);
  } catch (error) {
    // The bytes stay counted: the memory is not free before it is collected.
    close();
    return outcomeFromError(error);
  }
}

parentPort?.on('message', (request: WorkerRequest) => {
  if (request.kind === 'close') {
    close();
    return;
  }
  const outcome = handleSafely(request);
  // Batches are transferred. Dictionaries are copied, as the decoder still needs them.
  parentPort?.postMessage(outcome, outcome.kind === 'batch' ? [...buffersOf(outcome.columns)] : []);
});
parentPort?.postMessage('ready', []);
