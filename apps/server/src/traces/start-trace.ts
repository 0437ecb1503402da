import { continueTrace, startSpan, type StartTrace } from '@svc/frames';

/**
 * Returns a function that decides which requests are traced: those that the client has sampled, and a fraction of those
 * without a trace. A request that is not sampled costs one header lookup and one random number; it has no context of its own.
 */
export function createStartTrace(sample: number, random: () => number = Math.random): StartTrace {
  return (headers) => {
    const client = continueTrace(headers);
    if (client?.isSampled === false) return client;
    if (client === undefined && random() >= sample) return undefined;
    return { ...startSpan(client), isRecorded: true };
  };
}
