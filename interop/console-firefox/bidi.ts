import { WebSocket } from 'undici';
import { literal, number, object, parse, string, unknown, variant } from 'valibot';

/** What the browser sends: the result of a command, its error, or an event. */
const MESSAGE = variant('type', [
  object({ type: literal('success'), id: number(), result: unknown() }),
  object({ type: literal('error'), id: number(), error: string(), message: string() }),
  object({ type: literal('event'), method: string(), params: unknown() }),
]);

/** A connection that speaks WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/). */
export interface Bidi {
  /** Sends a command; resolves with its result. */
  send(method: string, params: object): Promise<unknown>;
  /** Calls back for each event, and returns the function that ends this. */
  listen(listener: (method: string, params: unknown) => void): () => void;
}

export async function connectBidi(url: string): Promise<Bidi> {
  const socket = new WebSocket(url);
  const pending = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  const listeners = new Set<(method: string, params: unknown) => void>();
  socket.addEventListener('message', ({ data }) => {
    const message = parse(MESSAGE, JSON.parse(String(data)));
    if (message.type === 'event') {
      for (const listener of listeners) listener(message.method, message.params);
      return;
    }
    const command = pending.get(message.id);
    pending.delete(message.id);
    if (message.type === 'success') command?.resolve(message.result);
    else command?.reject(new Error(`${message.error}: ${message.message}`));
  });
  socket.addEventListener('close', () => {
    for (const command of pending.values()) command.reject(new Error('Firefox closed the connection.'));
    pending.clear();
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  let lastId = 0;
  return {
    send(method, params) {
      lastId += 1;
      const id = lastId;
      return new Promise((resolve, reject) => {
        pending.set(id, { resolve, reject });
        socket.send(JSON.stringify({ id, method, params }));
      });
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
