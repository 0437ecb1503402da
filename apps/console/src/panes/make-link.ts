import type { AppState } from '../state/app-state.ts';
import { linkFragment } from '../state/share-link.ts';
import { copyText } from './copy-text.ts';

/** Copies the address that opens the current tab on another machine. It does not run anything there. */
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
