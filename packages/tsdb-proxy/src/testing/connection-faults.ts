import type { Socket } from 'node:net';

/** A fault of a connection while a response is sent. */
export type ConnectionFault = keyof typeof FAULTS;

type Tap = (bytes: Buffer) => void;

const FAULTS = {
  'closes before the head':
    (client: Socket): Tap =>
    () =>
      client.end(),
  'resets before the head':
    (client: Socket): Tap =>
    () =>
      client.resetAndDestroy(),
  'hangs before the head': (): Tap => () => undefined,
  'sends a garbage head':
    (client: Socket): Tap =>
    () =>
      client.write('\u0000\u0001 SSH-2.0 200 OK\r\n\r\n'),
  'drips its head': (client: Socket, dripMs: number): Tap =>
    atHead((head, body) => drip(client, Buffer.concat([Buffer.from(head), body]), dripMs)),
  'resets after the head': (client: Socket): Tap => atHead((head) => client.write(head, () => resetSoon(client))),
  'hangs in the body': (client: Socket): Tap => atHead((head) => client.write(`${head}${HALF_A_CHUNK}`)),
  'cuts a chunk': (client: Socket): Tap => atHead((head) => client.end(`${head}${HALF_A_CHUNK}`)),
  'resets in a chunk': (client: Socket): Tap =>
    atHead((head) => client.write(`${head}${HALF_A_CHUNK}`, () => resetSoon(client))),
  'promises more than it sends': (client: Socket): Tap =>
    atHead((head) => client.end(`${withLength(head, 100)}{"query":`)),
  'sends more than it promised': (client: Socket): Tap =>
    atHead((head) => client.write(`${withLength(head, 2)}{}{"surplus":true}`)),
  'drips its body': (client: Socket, dripMs: number): Tap =>
    atHead((head, body) => client.write(head, () => drip(client, body, dripMs))),
};

/** The names of all connection faults. */
export const CONNECTION_FAULTS: readonly string[] = Object.keys(FAULTS);

const HALF_A_CHUNK = '40\r\n{"query":';
/** How many bytes drip; the rest is sent at once to keep the tests short. */
const DRIPPED_BYTES = 60;

/** Returns a function that relays the bytes of one response to the client, with the fault if there is one. */
export function createFault(fault: ConnectionFault | undefined, client: Socket, dripMs: number): Tap {
  return fault === undefined ? (bytes) => void client.write(bytes) : FAULTS[fault](client, dripMs);
}

/** Acts once, when the whole response has arrived; drops later bytes. */
function atHead(act: (head: string, body: Buffer) => void): Tap {
  let held = Buffer.alloc(0);
  let isDone = false;
  return (bytes) => {
    if (isDone) return;
    held = Buffer.concat([held, bytes]);
    const end = held.indexOf('\r\n\r\n');
    // The last chunk is empty.
    if (end < 0 || !/\r\n0+\r\n\r\n$/.test(held.toString('latin1'))) return;
    isDone = true;
    act(held.subarray(0, end + 4).toString('latin1'), held.subarray(end + 4));
  };
}

/** Replaces chunked encoding by a Content-Length. */
function withLength(head: string, length: number): string {
  return head.replace(/transfer-encoding: chunked/i, `Content-Length: ${length}`);
}

/** Resets after the client has read the bytes: a reset discards whatever is still buffered. */
function resetSoon(client: Socket): void {
  setTimeout(() => client.resetAndDestroy(), 200);
}

function drip(client: Socket, bytes: Buffer, dripMs: number): void {
  let sent = 0;
  const timer = setInterval(() => {
    const isLast = sent + 1 >= Math.min(bytes.length, DRIPPED_BYTES);
    client.write(isLast ? bytes.subarray(sent) : bytes.subarray(sent, sent + 1));
    sent += 1;
    if (isLast) clearInterval(timer);
  }, dripMs);
  client.once('close', () => clearInterval(timer));
}
