import { basename, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { ServiceError } from '@svc/errors';
import type { FramePart, PartSize } from '../../files/frame-files.ts';
import { parseFileName } from './frame-names.ts';

/** The contents of a version that has several parts. */
export interface Manifest {
  readonly parts: readonly SizedPart[];
  /** See `schemaText`. It may differ from those in the files, but only in what does not change how they are read. */
  readonly schema: string;
}

/** A part of a known size. */
export interface SizedPart extends FramePart {
  readonly size: PartSize;
}

/** A later program that changes the format increases this number: earlier ones must not guess. */
const FORMAT = 1;

/** Encodes a manifest. Its files are in the same folder, and listed by their names. */
export function encodeManifest({ parts, schema }: Manifest): string {
  const listed = parts.map(({ path, size }) => ({
    file: basename(path),
    rows: size.rows,
    bytes: size.fileBytes,
    ...(size.arrowBytes !== undefined && { arrow_bytes: size.arrowBytes }),
  }));
  return `${JSON.stringify({ format: FORMAT, crc32: checksumOf(listed, schema), schema, parts: listed })}\n`;
}

/** Decodes the manifest of a version in a folder. A damaged one is `invalid_data`. */
export function decodeManifest(text: string, folder: string, handle: string): Manifest {
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

function partOf(part: unknown, folder: string, handle: string): SizedPart {
  if (!isObject(part)) throw damaged('lists something that is not a part');
  const { file, rows, bytes, arrow_bytes: arrowBytes } = part;
  const name = parseFileName(String(file));
  if ((name.kind !== 'frame' && name.kind !== 'part') || name.handle !== handle) {
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
