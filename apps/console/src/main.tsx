import { toError } from './api/api.ts';
import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './panes/App.tsx';
import { createAppState } from './state/app-state.ts';
import './style/theme.css';
import './style/controls.css';
import './style/shell.css';
import './style/tabs.css';
import './style/banners.css';
import './style/empty.css';
import './style/narrow.css';
import './style/side.css';
import './style/sheets.css';
import './style/upload.css';
import './style/frame.css';
import './style/grid.css';

const dark = matchMedia('(prefers-color-scheme: dark)');
const app = createAppState({
  base: new URL('./', document.baseURI),
  send: (...request) => fetch(...request),
  session: sessionStorage,
  local: localStorage,
  colorScheme: { isDark: () => dark.matches, onChange: (listener) => dark.addEventListener('change', listener) },
});

effect(() => {
  document.documentElement.style.colorScheme = app.themeChoice.value === 'system' ? '' : app.themeChoice.value;
});
// A page in the back-forward cache does not get the events of other pages.
for (const type of ['storage', 'pageshow']) window.addEventListener(type, () => app.history.follow());
window.addEventListener('pagehide', () => app.flush());
document.addEventListener('visibilitychange', () => {
  app.setVisible(document.visibilityState === 'visible');
  app.flush();
});

/** Opens the tab of the address. It does not run: a link may come from anyone. */
async function openLink(): Promise<void> {
  const { hash } = location;
  if (hash === '') return;
  // The tab is kept from here on; a reload must not open it again.
  history.replaceState(null, '', location.pathname + location.search);
  try {
    const { tabFromFragment } = await import('./panes/share-link.ts');
    app.openTab(await tabFromFragment(hash));
  } catch (error) {
    const hint = error instanceof Error && 'hint' in error ? String(error.hint) : 'Try again.';
    app.banner.value = { tone: 'warning', text: toError(error).message, hint };
  }
}

window.addEventListener('hashchange', () => void openLink());
void openLink();
render(<App app={app} />, document.body);
