// A load of requests over persistent connections, as cheap as possible: responses are counted, not parsed.
import { connect } from 'node:net';
import { requestText } from './download.js';
import { percentile } from './measure.js';

/**
 * Sends requests over concurrent `connections` for `seconds`, one at a time on each; returns the responses per second and
 * their latencies. `requestOf(n)` is the n-th request.
 */
export async function load(url, requestOf, { connections, seconds }) {
  const { hostname, port } = new URL(url);
  const times = [];
  const endMs = performance.now() + seconds * 1000;
  let asked = 0;
  let bytes = 0;
  const run = () =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      let startMs;
      const ask = () => {
        startMs = performance.now();
        if (startMs >= endMs) {
          socket.destroy();
          resolve();
          return;
        }
        socket.write(requestText(hostname, requestOf(asked++)));
      };
      const reader = createAnswerCounter(() => {
        times.push(performance.now() - startMs);
        ask();
      });
      socket.on('connect', ask);
      socket.on('data', (chunk) => {
        bytes += chunk.length;
        try {
          reader(chunk);
        } catch (error) {
          socket.destroy();
          reject(error);
        }
      });
      socket.on('error', reject);
      socket.on('close', () => resolve());
    });
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: connections }, run));
  const elapsed = (performance.now() - startedMs) / 1000;
  return {
    perSecond: times.length / elapsed,
    mean: times.reduce((sum, ms) => sum + ms, 0) / times.length,
    p50: percentile(times, 50),
    p99: percentile(times, 99),
    max: percentile(times, 100),
    answers: times.length,
    bytesPerAnswer: Math.round(bytes / times.length),
  };
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** Calls back at the end of each response, with a content length or chunked. */
function createAnswerCounter(onAnswer) {
  let left = -1;
  let isChunked = false;
  let kept = Buffer.alloc(0);
  return (chunk) => {
    if (left > 0) {
      left -= chunk.length;
      if (left < 0) throw new Error('A response was longer than its Content-Length.');
      if (left === 0) {
        left = -1;
        onAnswer();
      }
      return;
    }
    if (isChunked) {
      kept = Buffer.concat([kept.subarray(-LAST_CHUNK.length), chunk]);
      if (kept.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)) {
        isChunked = false;
        kept = Buffer.alloc(0);
        onAnswer();
      }
      return;
    }
    kept = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
    const headEnd = kept.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = kept.toString('latin1', 0, headEnd);
    if (!head.startsWith('HTTP/1.1 200')) throw new Error(`Unexpected response: ${head.slice(0, 200)}`);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    const body = kept.subarray(headEnd + HEAD_END.length);
    kept = Buffer.alloc(0);
    if (length === undefined) {
      isChunked = true;
      if (body.length === 0) return;
      kept = body;
      if (body.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)) {
        isChunked = false;
        kept = Buffer.alloc(0);
        onAnswer();
      }
      return;
    }
    left = Number(length) - body.length;
    if (left <= 0) {
      left = -1;
      onAnswer();
    }
  };
}
