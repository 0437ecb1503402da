import { type Client, readResponse, type Request } from '../client/client.ts';
import type { Context } from '../args/command.ts';
import { startProgress } from '../output/progress.ts';
import { NEW_FRAME } from '../client/server-responses.ts';
import { openSource } from '../args/source.ts';

const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** The result of an upload. */
export interface SentFile {
  readonly rows: number;
  readonly version: string;
  /** Whether the frame is new. */
  readonly isNew: boolean;
}

/** Sends a file, or standard input for `-`, as the body of a request that creates or changes a frame. */
export async function sendFile(
  client: Client,
  request: Pick<Request, 'method' | 'path' | 'params' | 'headers'>,
  file: string,
  { stdin, stderr, signal }: Context,
): Promise<SentFile> {
  const source = await openSource(file, stdin);
  const progress = startProgress({ output: stderr, totalBytes: source.bytes, signal });
  try {
    const response = await client.send({
      ...request,
      headers: {
        ...request.headers,
        ...(source.bytes !== undefined && { 'content-length': String(source.bytes) }),
      },
      body: progress.track(source.chunks),
      isAction: true,
      expects: { statuses: [200, 201] },
    });
    const { rows, version } = await readResponse(response, NEW_FRAME, MAX_RESPONSE_BYTES);
    return { rows, version, isNew: response.status === 201 };
  } finally {
    progress.end();
    await source.close();
  }
}
