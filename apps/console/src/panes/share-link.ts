import { parseTab, type Tab } from '../state/tabs.ts';
import type { AppState } from '../state/app-state.ts';
import { copyText } from '../widgets/ErrorBox.tsx';

/** The start of the fragment of a shared tab; the number is the version of what follows. */
const PREFIX = '#1.';

/** The start of a fragment with the name of a frame, for links written by hand. */
const FRAME_PREFIX = '#/frames/';

/** The most characters of a fragment, and of the JSON in it: a link cannot fill the memory of who opens it. */
const MAX_FRAGMENT_LENGTH = 1_000_000;
const MAX_JSON_BYTES = 4_000_000;

/** Returns the fragment of a tab. Browsers do not send fragments: no log has it. */
export async function linkFragment(tab: Tab): Promise<string> {
  const json = new TextEncoder().encode(JSON.stringify(tab));
  const packed = await bytesOf(new Blob([json]).stream().pipeThrough(new CompressionStream('deflate-raw')), Infinity);
  let text = '';
  for (const byte of packed) text += String.fromCharCode(byte);
  return PREFIX + btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Why a link opens nothing, and what to do. */
class LinkError extends Error {
  readonly hint: string;

  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'LinkError';
    this.hint = hint;
  }
}

/** Returns the tab of a fragment. Throws a `LinkError` if it has none. */
export async function tabFromFragment(fragment: string): Promise<Tab> {
  const isOurs = fragment.startsWith(PREFIX) || fragment.startsWith(FRAME_PREFIX);
  if (!isOurs && /^#\d+\./.test(fragment)) {
    throw new LinkError('This link is of another version of the console.', 'Ask for a link from this version.');
  }
  if (!isOurs) throw new LinkError('This is not a link to a tab.', `A link starts with ${PREFIX} or ${FRAME_PREFIX}.`);
  try {
    return await parseFragment(fragment);
  } catch (cause) {
    throw new LinkError('This link is damaged.', 'Copy the whole of it and try again.', cause);
  }
}

async function parseFragment(fragment: string): Promise<Tab> {
  if (fragment.startsWith(FRAME_PREFIX)) {
    return required(
      parseTab({ kind: 'frame', id: 'link', handle: decodeURIComponent(fragment.slice(FRAME_PREFIX.length)) }),
    );
  }
  if (fragment.length > MAX_FRAGMENT_LENGTH) throw new RangeError('The link is too long.');
  const text = atob(fragment.slice(PREFIX.length).replaceAll('-', '+').replaceAll('_', '/'));
  const packed = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return required(parseTab(JSON.parse(new TextDecoder().decode(await bytesOf(stream, MAX_JSON_BYTES)))));
}

function required(tab: Tab | undefined): Tab {
  if (tab === undefined) throw new TypeError('The link has no tab.');
  return tab;
}

async function bytesOf(stream: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      await reader.cancel();
      throw new RangeError('The link is too long.');
    }
    chunks.push(new Uint8Array(value));
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** Copies the address of the current tab. It opens the tab on another machine, and runs nothing. */
export async function makeLink(app: AppState): Promise<void> {
  const tab = app.currentTab.peek();
  if (tab === undefined) return;
  const target = new URL(location.href);
  target.hash = await linkFragment(tab);
  await copyText(target.href).then(
    () => app.notify('The link is copied.'),
    () => app.notify('The browser refused to copy the link.'),
  );
}
