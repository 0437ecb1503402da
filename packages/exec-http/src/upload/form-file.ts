import type { Readable } from 'node:stream';
import { ServiceError, toServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { withResolvers } from '@svc/frames/async';
import busboy, { type Busboy, type FieldInfo, type FileInfo } from 'busboy';
import { type BodyChunks, readText } from '../request/request-body.ts';

/** The file in a form. */
export interface FormFile {
  /** The name of the file; empty if it has none. */
  readonly name: string;
  /** The media type of the file, in lower case. */
  readonly type: string;
  /** The bytes of the file. They end only when the form does: a form with more than one part fails. */
  readonly body: BodyChunks;
}

/** A part with text before the file of a form. */
export interface TextPart {
  readonly name: string;
  readonly onText: (text: string) => void;
}

const HINT =
  'Send one file and nothing else, for example with curl -F file=@trades.csv; parameters belong in the URL, as in ?ttl=60.';

/** Far more than the headers of a file need. */
const LIMITS = { parts: 2, fieldSize: 1024, headerPairs: 16 };
/** The most bytes of a part with text. */
const MAX_TEXT_BYTES = 256 * 1024;
const WITH_TEXT = { ...LIMITS, parts: 3, fieldSize: MAX_TEXT_BYTES };

/** Content transfer encodings without an effect on the bytes. */
const PLAIN: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary']);

/** Opens the only file in a body of the type `multipart/form-data`, while it arrives. It may have the text before it. */
export function openFormFile(contentType: string, body: BodyChunks, text?: TextPart): Promise<FormFile> {
  const form = createForm(contentType, text === undefined ? LIMITS : WITH_TEXT);
  const opened = withResolvers<FormFile>();
  const ended = withResolvers<void>();
  // Avoid an unhandled rejection; readers of the file await it themselves.
  ended.promise.catch(() => {});
  let file: Readable | undefined;
  /** Ends when the text before the file is read. */
  let reading = Promise.resolve();
  let failure: Error | undefined;

  function fail(error: Error): void {
    failure ??= error;
    opened.reject(error);
    ended.reject(error);
    file?.destroy(error);
  }
  form.on('file', (field, stream, { filename, encoding = '', mimeType }: Partial<FileInfo>) => {
    // Avoid an uncaught exception; readers of the file see the error.
    stream.on('error', () => {});
    if (text !== undefined && field === text.name && file === undefined) {
      reading = readText(stream, MAX_TEXT_BYTES, HINT).then(text.onText);
      reading.catch(fail);
      return;
    }
    if (file !== undefined) {
      stream.resume();
      fail(invalidForm('The form has more than one file.'));
      return;
    }
    file = stream;
    const type = mimeType?.toLowerCase() ?? '';
    const found = { name: filename ?? '', type, body: fileChunks(stream) };
    if (PLAIN.has(encoding))
      void reading.then(
        () => opened.resolve(found),
        () => undefined,
      );
    else fail(invalidForm(`The file has the Content-Transfer-Encoding ${quoted(encoding)}.`));
  });
  form.on('field', (name: string | undefined, value: string, { valueTruncated = false }: Partial<FieldInfo>) => {
    if (text === undefined || name !== text.name || file !== undefined) {
      fail(invalidForm(`The form has a field ${quoted(name ?? '')} that is not a file.`));
    } else if (valueTruncated) {
      fail(invalidForm(`The field ${quoted(text.name)} has more than ${MAX_TEXT_BYTES} bytes.`));
    } else {
      text.onText(value);
    }
  });
  // Reached when a second part begins.
  form.on('partsLimit', () => fail(invalidForm('The form has more than one part.')));
  form.on('error', (error) => fail(brokenForm(error)));
  form.on('close', () => {
    if (file === undefined) fail(invalidForm('The form has no file.'));
    ended.resolve();
  });

  async function* fileChunks(stream: Readable): BodyChunks {
    try {
      for await (const chunk of stream as AsyncIterable<Uint8Array>) yield chunk;
      await ended.promise;
    } catch (error) {
      throw failure ?? brokenForm(error);
    } finally {
      ended.resolve();
      stream.destroy();
    }
  }
  feed(form, body, ended.promise).catch((error: unknown) =>
    fail(error instanceof Error ? error : toServiceError(error)),
  );
  return opened.promise;
}

function createForm(contentType: string, limits: typeof LIMITS): Busboy {
  try {
    return busboy({ headers: { 'content-type': contentType }, limits });
  } catch (error) {
    throw new ServiceError('invalid_argument', `Content-Type ${quoted(contentType)} has no boundary.`, {
      hint: 'Let the client set Content-Type: it has to name the boundary of the form.',
      cause: error,
    });
  }
}

/** Writes a body to the parser, one chunk at a time, until the form ends or fails. */
async function feed(form: Busboy, body: BodyChunks, ended: Promise<void>): Promise<void> {
  let isEnded = false;
  const stop = (): void => {
    isEnded = true;
  };
  const stopped = ended.then(stop, stop);
  for (;;) {
    const { done, value } = await body.next();
    if (done === true || isEnded) break;
    const written = new Promise<void>((resolve) => {
      form.write(value, () => resolve());
    });
    await Promise.race([written, stopped]);
  }
  if (!isEnded) form.end();
}

function brokenForm(error: unknown): ServiceError {
  return invalidForm(`The form cannot be read${error instanceof Error ? `: ${error.message}` : ''}.`);
}

function invalidForm(message: string): ServiceError {
  return new ServiceError('invalid_data', message, { hint: HINT });
}
