import { Readable } from 'node:stream';
import { Metadata, type ServiceError as CallError, status as Status } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import { readMessages } from './read-messages.ts';

/** A call that sends one message for each request, as those of grpc-js do. */
class FakeCall extends Readable {
  requests = 0;
  cancelled = 0;
  private readonly messages: unknown[];
  private readonly failure: CallError | undefined;

  constructor(messages: readonly unknown[], failure?: CallError) {
    super({ objectMode: true });
    this.messages = [...messages];
    this.failure = failure;
  }

  override _read(): void {
    this.requests++;
    const message = this.messages.shift();
    setImmediate(() => (message === undefined ? this.finish() : this.push(message)));
  }

  cancel(): void {
    this.cancelled++;
    this.finish();
  }

  getPeer(): string {
    return 'peer';
  }

  getAuthContext(): null {
    return null;
  }

  deserialize(): never {
    throw new Error('Not used.');
  }

  private finish(): void {
    this.push(null);
    if (this.failure !== undefined) this.emit('error', this.failure);
    this.emit('status', { code: this.failure?.code ?? Status.OK });
  }
}

const FAILURE: CallError = Object.assign(new Error('x'), {
  code: Status.INTERNAL,
  details: 'broken',
  metadata: new Metadata(),
});

function readerOf(call: FakeCall) {
  const reader = readMessages<unknown>(call, ({ details }) => new Error(`converted: ${details}`));
  return { reader, iterator: reader[Symbol.asyncIterator]() };
}

describe('readMessages', () => {
  test('requests a message only when it is asked for', async () => {
    const call = new FakeCall(Array.from({ length: 20 }, (_, i) => i));
    const { iterator } = readerOf(call);
    for (let i = 0; i < 20; i++) {
      expect(await iterator.next()).toEqual({ done: false, value: i });
      await new Promise((resolve) => setImmediate(resolve));
      expect(call.requests).toBe(i + 1);
    }
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test('fails with the converted status after the messages before it', async () => {
    const { iterator } = readerOf(new FakeCall(['a'], FAILURE));
    expect(await iterator.next()).toEqual({ done: false, value: 'a' });
    await expect(iterator.next()).rejects.toThrow('converted: broken');
    await expect(iterator.next()).rejects.toThrow('converted: broken');
  });

  test('cancels the call of a reader that stops', async () => {
    const call = new FakeCall(['a', 'b']);
    const { reader } = readerOf(call);
    for await (const message of reader) {
      expect(message).toBe('a');
      break;
    }
    expect(call.cancelled).toBe(1);
  });
});
