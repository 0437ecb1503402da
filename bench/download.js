// Reads a response as cheaply as possible: the server needs the CPU.
import { Agent, get } from 'node:http';
import { connect } from 'node:net';

/** Formats a raw HTTP request: a path, and optionally a method, headers and a body. */
export function requestText(hostname, { method = 'GET', path, headers = {}, body = '' }, connection = 'keep-alive') {
  const lines = Object.entries({ Host: hostname, Connection: connection, ...headers });
  if (body !== '') lines.push(['Content-Length', Buffer.byteLength(body)]);
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

/**
 * Reads a complete response on a new connection, and calls `watch` every 20 ms meanwhile. Returns its bytes, including the
 * head, the duration, and the time to the first byte. Any status but 200 is an error.
 */
export function download(url, { request, watch = () => {} } = {}) {
  return new Promise((resolve, reject) => {
    const { hostname, port, pathname, search } = new URL(url);
    const startMs = performance.now();
    const timer = setInterval(watch, 20);
    let bytes = 0;
    let firstMs;
    let head = '';
    let tail = '';
    const callback = (length, buffer) => {
      if (bytes === 0) {
        firstMs = performance.now() - startMs;
        head = buffer.latin1Slice(0, Math.min(length, 12));
      }
      bytes += length;
      tail = `${tail}${buffer.latin1Slice(Math.max(0, length - 16), length)}`.slice(-16);
      // If the server keeps the connection open anyway, an empty chunk ends the response.
      if (/\r\n0+\r\n\r\n$/.test(tail)) socket.destroy();
      return true;
    };
    const socket = connect({ host: hostname, port, onread: { buffer: Buffer.alloc(1024 * 1024), callback } });
    socket.write(requestText(hostname, request ?? { path: `${pathname}${search}` }, 'close'));
    socket.on('error', reject);
    socket.on('close', () => {
      clearInterval(timer);
      if (head === 'HTTP/1.1 200') resolve({ bytes, firstMs, ms: performance.now() - startMs });
      else reject(new Error(`${url} answered ${head}`));
    });
  });
}

/** Sends requests one after the other over a persistent connection. */
export function createClient() {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    read: (url) =>
      new Promise((resolve, reject) => {
        const request = get(url, { agent }, (response) => {
          let bytes = 0;
          response.on('data', (chunk) => (bytes += chunk.length));
          response.on('end', () => {
            if (response.statusCode === 200) resolve({ bytes });
            else reject(new Error(`${url} answered ${response.statusCode}`));
          });
          response.on('error', reject);
        });
        request.on('error', reject);
      }),
    close: () => agent.destroy(),
  };
}
