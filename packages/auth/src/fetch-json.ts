import { get } from 'node:https';

const TIMEOUT_MS = 5000;
const MAX_BYTES = 2 ** 20;

/** Fetches a short JSON document over https. `ca`: the authorities to trust, in PEM; default: those of Node. */
export async function fetchJson(url: string, ca: string | undefined): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const text = await new Promise<string>((resolve, reject) => {
    const request = get(url, { signal, headers: { accept: 'application/json' }, ...(ca !== undefined && { ca }) });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      if (response.statusCode !== 200) request.destroy(new Error(`The status is ${response.statusCode}.`));
      response.on('data', (chunk: Uint8Array) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > MAX_BYTES) request.destroy(new Error(`The response has more than ${MAX_BYTES} bytes.`));
      });
      response.on('error', reject);
      response.on('end', () => resolve(Buffer.concat(chunks).toString()));
    });
  });
  return JSON.parse(text);
}
