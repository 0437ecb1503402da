import type { Api, ApiRequest } from '../api/api.ts';
import { blobOf, download, saveBlob } from '../api/download.ts';
import type { EngineName, ServerInfo } from '../api/types.ts';

/** A format that an answer can be downloaded in. */
export interface DownloadFormat {
  readonly format: string;
  readonly extension: string;
}

const EXTENSIONS: Readonly<Record<string, string>> = { arrow: 'arrows' };

/** The formats of the exports of the time-series database, and its JSON table. */
const TSDB_FORMATS = ['csv', 'parquet', 'json'];

/** Returns the formats in which the server sends the answers of an engine. */
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
