import { type ClientResponse, streamOf } from '@svc/client/internal';
import type { Api, ApiRequest } from './api.ts';

/** What is downloaded: a path of the API, its parameters, and the name of the file. */
export interface Download {
  readonly path: string;
  readonly params?: ApiRequest['params'];
  readonly fileName: string;
}

declare global {
  /** The part of the File System Access API that is used; not every browser has it. */
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
export function blobOf({ body }: ClientResponse): Promise<Blob> {
  return new Response(streamOf(body)).blob();
}

/** Saves bytes that are in memory as a file. */
export function saveBlob(blob: Blob, fileName: string): void {
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
