import type { Upload, UploadMode } from '../api/upload.ts';
import { HANDLE } from './parse-tab.ts';

/** The options of an upload, as the form has them; an empty text means the server's default. */
export interface UploadOptions {
  readonly handle: string;
  readonly mode: UploadMode;
  /** The format; empty: the server recognizes it. */
  readonly format: string;
  readonly ttl: string;
  readonly delimiter: string;
  readonly header: '' | 'true' | 'false';
  readonly nullText: string;
  readonly encoding: string;
  readonly skip: string;
  readonly dateFormat: string;
  readonly timestampFormat: string;
  /** Names and types of columns: `id:LONG,name:STRING`. */
  readonly columns: string;
}

/** The formats by the ends of file names. */
const FORMATS: Readonly<Record<string, string>> = {
  csv: 'csv',
  tsv: 'csv',
  txt: 'csv',
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  parquet: 'parquet',
  arrow: 'arrow',
  arrows: 'arrow',
  feather: 'arrow',
};

const COMPRESSIONS: Readonly<Record<string, 'gzip' | 'zstd'>> = { gz: 'gzip', gzip: 'gzip', zst: 'zstd', zstd: 'zstd' };

/** The formats whose values are text, so that names and types of columns can be given. */
export const isTextFormat = (format: string): boolean => ['', 'csv', 'json', 'ndjson'].includes(format);

/** Returns how a file is compressed, by its name. */
export function compressionOf(fileName: string): 'gzip' | 'zstd' | undefined {
  return COMPRESSIONS[endOf(fileName)];
}

/** Returns the options for a file, by its name: the end gives the format, the rest the handle. */
export function optionsFor(fileName: string): UploadOptions {
  const plain = compressionOf(fileName) ? fileName.slice(0, fileName.lastIndexOf('.')) : fileName;
  const end = endOf(plain);
  const stem = FORMATS[end] ? plain.slice(0, -end.length - 1) : plain;
  const handle = stem
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 128);
  return {
    handle: handle || 'data',
    mode: 'create',
    format: FORMATS[end] ?? '',
    ttl: '',
    delimiter: end === 'tsv' ? '\t' : '',
    header: '',
    nullText: '',
    encoding: '',
    skip: '',
    dateFormat: '',
    timestampFormat: '',
    columns: '',
  };
}

function endOf(fileName: string): string {
  return /\.([^.]+)$/.exec(fileName)?.[1]?.toLowerCase() ?? '';
}

/** Returns what is wrong with options, in a sentence; undefined if nothing is. */
export function faultOf(options: UploadOptions, file: { readonly size: number }, maxBytes: number): string | undefined {
  const { handle, ttl, skip } = options;
  if (!HANDLE.test(handle))
    return 'A name has letters, digits and . _ -, begins with a letter or digit, and has at most 128.';
  if (ttl !== '' && !/^[1-9]\d{0,9}$/.test(ttl)) return 'The time to live is a number of seconds from 1.';
  if (skip !== '' && !/^\d{1,9}$/.test(skip)) return 'The lines to skip are a number from 0.';
  if (file.size > maxBytes) return `The file is larger than the ${maxBytes} bytes that the server takes.`;
  return undefined;
}

/** Returns the upload of a file with options. Options that its format does not have are left out. */
export function uploadOf(file: File, options: UploadOptions): Upload {
  const { handle, mode, format, ttl, columns } = options;
  const csv = {
    delimiter: options.delimiter,
    header: options.header,
    null: options.nullText,
    encoding: options.encoding,
    skip: options.skip,
    dateformat: options.dateFormat,
    timestampformat: options.timestampFormat,
  };
  const all = {
    fmt: format,
    // An append does not change when the frame expires.
    ttl: mode === 'append' ? '' : ttl,
    columns: isTextFormat(format) ? columns.trim() : '',
    ...(format === 'csv' && csv),
  };
  const params = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
  return { handle, file, mode, params, encoding: compressionOf(file.name) };
}
