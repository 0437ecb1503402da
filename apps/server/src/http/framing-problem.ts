import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';

/**
 * Finds ambiguous framing or routing that Node's parser accepts. A proxy in front may interpret it differently and treat a
 * part of the body as another request (request smuggling).
 */
export function framingProblem({ headers, httpVersion, rawHeaders }: IncomingMessage): ServiceError | undefined {
  const hosts = rawHeaders.filter((text, i) => i % 2 === 0 && text.length === 4 && text.toLowerCase() === 'host');
  if (hosts.length > 1) {
    return new ServiceError('invalid_argument', `The request has ${hosts.length} Host headers.`, {
      hint: 'Send one Host header.',
    });
  }
  const coding = headers['transfer-encoding'];
  if (coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersion === '1.1')) return undefined;
  const message = `Transfer-Encoding: ${quoted(coding)} is not supported with HTTP/${httpVersion}.`;
  return new ServiceError('invalid_argument', message, {
    hint: 'Send Content-Length, or Transfer-Encoding: chunked with HTTP/1.1.',
  });
}
