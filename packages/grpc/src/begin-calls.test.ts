import { EventEmitter } from 'node:events';
import { Server } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { beginCalls } from './begin-calls.ts';

class FakeStream extends EventEmitter {
  closed = false;
  readonly destroyed = false;
}

class FakeSession extends EventEmitter {
  destroyed = false;
  readonly name: string;
  constructor(name: string) {
    super();
    this.name = name;
  }
  /** Sends calls, whose names are those of the session and a number. */
  send(count: number): readonly FakeStream[] {
    return Array.from({ length: count }, (_, i) => {
      const stream = new FakeStream();
      this.emit('stream', stream, `${this.name}${i}`);
      return stream;
    });
  }
}

function start(...names: readonly string[]) {
  const listener = new Server();
  const begun: string[] = [];
  const floods: unknown[] = [];
  listener.on('stream', (_stream: unknown, name: string) => begun.push(name));
  const dropped: unknown[] = [];
  beginCalls(listener, {
    onFlood: (session) => {
      floods.push(session);
      Object.assign(session, { destroyed: true });
    },
    onDropped: (session, count) => dropped.push([session, count]),
  });
  const sessions = names.map((name) => new FakeSession(name));
  for (const session of sessions) listener.emit('session', session);
  return { begun, floods, dropped, sessions };
}

test('16 calls begin in each turn, one of each connection at a time', async () => {
  const { begun, sessions } = start('a', 'b');
  for (const session of sessions) session.send(session.name === 'a' ? 30 : 2);
  expect(begun).toEqual([]);
  await nextTurn();
  expect(begun.slice(0, 5)).toEqual(['a0', 'b0', 'a1', 'b1', 'a2']);
  expect(begun).toHaveLength(16);
  await nextTurn();
  expect(begun).toHaveLength(32);
});

test('a cancelled call does not begin, takes no turn, and is counted', async () => {
  const { begun, dropped, sessions } = start('a');
  const [, ...others] = sessions[0]?.send(100) ?? [];
  for (const stream of others.slice(0, -1)) stream.closed = true;
  await nextTurn();
  expect(begun).toEqual(['a0', 'a99']);
  expect(dropped).toEqual([[sessions[0], 98]]);
});

test.each([
  [128, 0],
  [129, 1],
])('%i calls of a connection at once are %i floods', async (count, expected) => {
  const { begun, floods, sessions } = start('a');
  sessions[0]?.send(count);
  expect(floods).toHaveLength(expected);
  await nextTurn();
  expect(begun).toHaveLength(expected === 0 ? 16 : 0);
});

test('a stream that fails before its call begins throws nothing', () => {
  const { sessions } = start('a');
  const [waiting] = sessions[0]?.send(1) ?? [];
  Object.assign(sessions[0] ?? {}, { destroyed: true });
  const [late] = sessions[0]?.send(1) ?? [];
  for (const stream of [waiting, late]) expect(() => stream?.emit('error', new Error('reset'))).not.toThrow();
});
