import { createStreamedResponse, type TsdbResponse } from '@svc/tsdb-proxy';

/** Called while a response is read. */
export interface ResponseReader {
  /** Some bytes were read. */
  onBytes(count: number): void;
  /** The body was read to its end, at once if it has arrived whole, or failed. Undefined: it is complete. */
  onEnd(error?: unknown): void;
  /** The reader has closed the body before its end. */
  onClose(): void;
}

/** Observes how a response is read. */
export function endWithResponse(response: TsdbResponse, reader: ResponseReader): TsdbResponse {
  const { status, headers, bytes } = response;
  const source = response.chunks ?? (bytes === undefined ? response.body?.values() : undefined);
  if (source === undefined) {
    reader.onBytes(bytes?.byteLength ?? 0);
    reader.onEnd();
    return response;
  }
  const chunks: AsyncIterator<Uint8Array, void> = {
    async next() {
      try {
        const next = await source.next();
        if (next.done === true) reader.onEnd();
        else reader.onBytes(next.value.byteLength);
        return next;
      } catch (error) {
        reader.onEnd(error);
        throw error;
      }
    },
    async return() {
      reader.onClose();
      return (await source.return?.()) ?? { done: true, value: undefined };
    },
  };
  return createStreamedResponse({ status, headers }, chunks);
}
