import { createStreamedResponse, type TsdbResponse } from '@svc/tsdb-proxy';

/** Calls `onEnd` when the body of a response is read to its end, fails or is cancelled; at once if it has arrived whole. */
export function endWithResponse(response: TsdbResponse, onEnd: () => void): TsdbResponse {
  const { status, headers, bytes } = response;
  const source = response.chunks ?? (bytes === undefined ? response.body?.values() : undefined);
  if (source === undefined) {
    onEnd();
    return response;
  }
  const chunks: AsyncIterator<Uint8Array, void> = {
    async next() {
      try {
        const next = await source.next();
        if (next.done === true) onEnd();
        return next;
      } catch (error) {
        onEnd();
        throw error;
      }
    },
    async return() {
      onEnd();
      return (await source.return?.()) ?? { done: true, value: undefined };
    },
  };
  return createStreamedResponse({ status, headers }, chunks);
}
