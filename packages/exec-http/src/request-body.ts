import { startingWith } from '@svc/frames';
import { discardRest } from './discard-rest.ts';

/** The body of a request, read as it comes. */
export interface RequestBody {
  readonly chunks: AsyncGenerator<Uint8Array, void>;
  /** Reads what is left of a body that was refused, up to a limit. */
  discard(): Promise<void>;
}

/** The body of a request; empty where there is none. */
export function openBody({ body: stream }: Request): RequestBody {
  return bodyOf(stream, startingWith([], chunksOf(stream)));
}

/** Blanks before the first character that are passed over to find it. */
const MAX_BLANK_BYTES = 64 * 1024;

/** Whether a body begins with a character, blanks apart; and the body, of which nothing is missing. */
export async function beginsWith(
  { body: stream }: Request,
  character: string,
): Promise<{ readonly isSo: boolean; readonly body: RequestBody }> {
  const rest = chunksOf(stream);
  const head: Uint8Array[] = [];
  let first: string | undefined;
  for (let bytes = 0; first === undefined && bytes < MAX_BLANK_BYTES;) {
    const { done, value } = await rest.next();
    if (done === true) break;
    head.push(value);
    bytes += value.byteLength;
    first = Buffer.from(value).toString('latin1').trimStart()[0];
  }
  return { isSo: first === character, body: bodyOf(stream, startingWith(head, rest)) };
}

/** What is not read is left in the stream. */
function chunksOf(stream: ReadableStream<Uint8Array> | null): AsyncIterator<Uint8Array, void> {
  return stream?.values({ preventCancel: true }) ?? emptyBody();
}

function bodyOf(stream: ReadableStream<Uint8Array> | null, chunks: AsyncGenerator<Uint8Array, void>): RequestBody {
  return {
    chunks,
    discard: async () => {
      if (stream) await discardRest(stream, chunks);
    },
  };
}

async function* emptyBody(): AsyncGenerator<Uint8Array, void> {}
