import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { ServiceError } from '@svc/errors';
import type { FramePart } from '../../../files/frame-files.ts';
import type { ListedRows } from '../stored-frame.ts';
import { parseOldName } from './old-names.ts';

const FORMAT = 1;

/** Decodes the manifest of a version in a folder. A damaged one is `invalid_data`. */
export function decodeManifest(text: string, folder: string, handle: string): ListedRows {
  const manifest = parse(text);
  if (manifest['format'] !== FORMAT) throw damaged('has a format that this program does not know');
  const { parts, schema } = manifest;
  if (!Array.isArray(parts) || typeof schema !== 'string' || manifest['crc32'] !== checksumOf(parts, schema)) {
    throw damaged('does not match its checksum');
  }
  return { parts: parts.map((part) => partOf(part, folder, handle)), schema };
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw damaged('is not valid JSON');
}

/** Encoding a decoded value again gives the same text. */
function checksumOf(parts: readonly unknown[], schema: string): string {
  return crc32(JSON.stringify([schema, parts])).toString(16);
}

function partOf(part: unknown, folder: string, handle: string): FramePart {
  if (!isObject(part)) throw damaged('lists something that is not a part');
  const { file, rows, bytes, arrow_bytes: arrowBytes } = part;
  const name = parseOldName(String(file));
  if ((name?.kind !== 'frame' && name?.kind !== 'part') || name.handle !== handle) {
    throw damaged('lists a file of another frame');
  }
  if (!isSize(rows) || !isSize(bytes)) throw damaged('lists a part without a size');
  const size = { rows, fileBytes: bytes, ...(isSize(arrowBytes) && { arrowBytes }) };
  return { path: join(folder, String(file)), size };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function damaged(how: string): ServiceError {
  return new ServiceError('invalid_data', `The list of the parts of the frame ${how}.`);
}
