import { parentPort, workerData } from 'node:worker_threads';
import { ServiceError } from '@svc/errors';
import type { ByteBudget } from '../../byte-budget.ts';
import type { DecodedFormat } from '../../encoding.ts';
import { decodeArrow } from '../arrow/arrow-decoder.ts';
import { schemaTextBytes } from '../arrow/read-schema.ts';
import { checkTextBytes } from '../../column-types.ts';
import { buffersOf } from '../../columns/column-data.ts';
import {
  type ByteInput,
  createByteInput,
  createFileInput,
  type DecodeSteps,
  type FramePart,
  transfer,
} from '../decode-steps.ts';
import { decodeJson, decodeNdjson, type JsonOptions } from '../json/json-decoder.ts';
import { targetFromMessage } from '../json/json-column.ts';
import { asMemoryShare, createFrameBudget, resizeShare } from '../limits.ts';
import { type BodyChunk, type Outcome, outcomeFromError, type WorkerRequest } from './worker-messages.ts';

// The worker program. It decodes one body at a time, and only while a request is pending.

type WorkerOptions = JsonOptions & { readonly unions?: boolean };

const DECODERS: Record<DecodedFormat, (input: ByteInput, budget: ByteBudget, options: WorkerOptions) => DecodeSteps> = {
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

function open({ format, maxBytes, path, whole, unions = false, target: message }: OpenRequest): Decoding {
  const target = message && targetFromMessage(message);
  const budget = createFrameBudget(maxBytes, share);
  if (path === undefined) {
    const input = createByteInput();
    if (whole !== undefined) {
      input.push(whole);
      input.end();
    }
    return {
      steps: DECODERS[format](input, budget, { target, unions }),
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
  if (request.kind === 'open' && request.whole !== undefined) return firstParts(decoding.steps);
  const { value, done } = nextStep(decoding.steps);
  if (done !== true) return value;
  finish();
  return { kind: 'done' };
}

/** The longest schema message. The event loop of the server decodes it in one piece. */
const MAX_SCHEMA_BYTES = 4 << 20;

function nextStep(steps: DecodeSteps): ReturnType<DecodeSteps['next']> {
  const step = steps.next();
  if (step.done === true || step.value.kind !== 'schema') return step;
  const { message } = step.value;
  checkTextBytes(schemaTextBytes(message));
  if (message.length <= MAX_SCHEMA_BYTES) return step;
  throw new ServiceError(
    'invalid_data',
    `The schema takes ${message.length} bytes; at most ${MAX_SCHEMA_BYTES} are allowed.`,
    { hint: 'Shorten the names, or leave out metadata.' },
  );
}

/** The most bytes of parts that are decoded before the reader asks for more. */
const MAX_AHEAD_BYTES = 1 << 20;

/** Decodes a whole body, or its first parts if it decompresses to many bytes: a message for each takes longer. */
function firstParts(steps: DecodeSteps): Outcome {
  const parts: FramePart[] = [];
  for (let bytes = 0; bytes < MAX_AHEAD_BYTES;) {
    const { value, done } = nextStep(steps);
    if (done === true) {
      finish();
      return { kind: 'parts', parts, isDone: true };
    }
    if (value.kind === 'more' || value.kind === 'working' || value.kind === 'again') break;
    parts.push(value);
    bytes += value.kind === 'schema' ? value.message.length : value.heldBytes;
  }
  return { kind: 'parts', parts, isDone: false };
}

/** Ends a decode whose frame is passed on. */
function finish(): void {
  close();
  resizeShare(share, 0);
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
  const parts = outcome.kind === 'parts' ? outcome.parts : [outcome];
  // Batches are transferred. Dictionaries are copied, as the decoder still needs them.
  const buffers = parts.flatMap((part) => (part.kind === 'batch' ? [...buffersOf(part.columns)] : []));
  parentPort?.postMessage(outcome, buffers);
});
parentPort?.postMessage('ready', []);
