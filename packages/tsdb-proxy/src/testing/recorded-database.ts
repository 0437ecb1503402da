import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { responseOf, loadRecording, type RecordedCase, SECURED_USER } from './recording.ts';

/** A stand-in that replays the responses of a real database. */
export interface RecordedDatabase {
  readonly url: string;
  /** The request targets that arrived, in order. */
  readonly targets: readonly string[];
  /** Closes its connections and stops listening. */
  readonly close: () => Promise<void>;
}

/** Starts a stand-in for one of the two recorded databases. */
export async function startRecordedDatabase(profile?: 'secured'): Promise<RecordedDatabase> {
  const cases = loadRecording().filter((one) => one.profile === profile);
  const known = new Map(cases.filter(isAuthorized(profile)).map((one) => [keyOf(one.method, one.path), one]));
  const refused = cases.find(({ answer }) => answer?.status === 401);
  const targets: string[] = [];

  const server = createServer({ maxHeaderSize: 64 * 1024, keepAliveTimeout: 5_000 }, (request, response) => {
    const { method, url = '' } = request;
    targets.push(url);
    reply(isAuthorized(profile)(request) ? known.get(keyOf(method, url)) : refused, request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    targets,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function reply(recorded: RecordedCase | undefined, request: IncomingMessage, response: ServerResponse): void {
  if (recorded === undefined) {
    response.writeHead(501, { 'content-type': 'text/plain' }).end(`Not recorded: ${request.method} ${request.url}`);
    return;
  }
  const answer = responseOf(recorded);
  if (answer === undefined) {
    request.socket.destroy();
    return;
  }
  response.writeHead(answer.status, answer.reason, answer.headers);
  response.write(answer.body);
  response.end();
}

const AUTHORIZATION = `Basic ${btoa(`${SECURED_USER.user}:${SECURED_USER.password}`)}`;

function isAuthorized(
  profile: 'secured' | undefined,
): (one: Pick<RecordedCase, 'headers'> | IncomingMessage) => boolean {
  return ({ headers = {} }) => {
    const authorization: unknown = Reflect.get(headers, 'authorization') ?? Reflect.get(headers, 'Authorization');
    return profile === undefined || authorization === AUTHORIZATION;
  };
}

/** Returns the same key for equivalent targets; the database ignores `fmt` on `/exec`. */
function keyOf(method = 'GET', target: string): string {
  const start = target.indexOf('?');
  const path = start < 0 ? target : target.slice(0, start);
  const params = new URLSearchParams(start < 0 ? '' : target.slice(start));
  if (path === '/exec') params.delete('fmt');
  params.sort();
  return `${method} ${path}?${params.toString()}`;
}
