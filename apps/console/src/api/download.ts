import { type ClientResponse, streamOf } from '@svc/client/internal';
import type { Api, ApiRequest, EngineName, ServerInfo } from './api.ts';

/** What is downloaded: a path of the API, its parameters, and the name of the file. */
export interface Download {
  readonly path: string;
  readonly params?: ApiRequest['params'];
  readonly fileName: string;
}

declare global {
  /** A part of the File System Access API; not every browser has it. */
  interface Window {
    readonly showSaveFilePicker?: (options: { readonly suggestedName: string }) => Promise<{
      createWritable(): Promise<WritableStream<Uint8Array>>;
    }>;
  }
}

/**
 * Downloads a file. Without a token the browser does it alone, as for any link. A link cannot have a token: then the page
 * reads the answer and writes it to the file that the user picks, or keeps it in memory if the browser cannot do that.
 */
export async function download(api: Api, { path, params, fileName }: Download): Promise<void> {
  if (!api.hasToken()) return clickLink(api.url(path, params), fileName);
  const file = await window.showSaveFilePicker?.({ suggestedName: fileName });
  const response = await api.send({ path, params });
  if (file !== undefined) return streamOf(response.body).pipeTo(await file.createWritable());
  saveBlob(await blobOf(response), fileName);
}

/** Reads a response into memory, or where the browser keeps what is large. */
function blobOf({ body }: ClientResponse): Promise<Blob> {
  return new Response(streamOf(body)).blob();
}

/** Saves bytes as a file. */
function saveBlob(blob: Blob, fileName: string): void {
  const address = URL.createObjectURL(blob);
  clickLink(address, fileName);
  // The browser reads the blob after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function clickLink(address: string, fileName: string): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = fileName;
  link.click();
}

/** A format of downloaded answers. */
export interface DownloadFormat {
  readonly format: string;
  readonly extension: string;
}

const EXTENSIONS: Readonly<Record<string, string>> = { arrow: 'arrows' };

/** The formats of the exports of the time-series database, and its JSON table. */
const TSDB_FORMATS = ['csv', 'parquet', 'json'];

/** Returns the formats of an engine's answers. */
export function downloadFormats(info: ServerInfo | undefined, engine: EngineName): readonly DownloadFormat[] {
  const formats = engine === 'tsdb' ? TSDB_FORMATS : (info?.formats.out ?? []);
  return formats.map((format) => ({ format, extension: EXTENSIONS[format] ?? format }));
}

/** Longer SQL does not fit into an address everywhere. */
const MAX_ADDRESS_SQL = 4000;

/** What to download. */
export interface AnswerDownload {
  readonly sql: string;
  readonly engine: EngineName;
  readonly format: DownloadFormat;
  readonly fileName: string;
  /** The server's limit for one answer. */
  readonly maxRows: number | null;
}

/** Returns the path and the parameters of the request for an answer in a format. */
export function downloadTarget({ engine, format, maxRows }: Pick<AnswerDownload, 'engine' | 'format' | 'maxRows'>): {
  readonly path: string;
  readonly params: NonNullable<ApiRequest['params']>;
} {
  const limit = maxRows ?? undefined;
  const path = format.format === 'json' ? 'exec' : 'exp';
  return { path, params: { engine, fmt: format.format, limit } };
}

/** Downloads the whole answer of a statement. The server runs the statement again. */
export async function downloadAnswer(api: Api, request: AnswerDownload): Promise<void> {
  const { sql, format, fileName } = request;
  const { path, params } = downloadTarget(request);
  const file = `${fileName}.${format.extension}`;
  if (sql.length <= MAX_ADDRESS_SQL) return download(api, { path, params: { ...params, query: sql }, fileName: file });
  const headers = { 'content-type': 'application/sql' };
  saveBlob(await blobOf(await api.send({ method: 'POST', path, params, headers, body: sql })), file);
}
