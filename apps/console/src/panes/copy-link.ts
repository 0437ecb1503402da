import type { AppState } from '../state/app-state.ts';

/** Copies a link to the current tab. The first rows do not wait for its code. */
export function copyLink(app: AppState): void {
  import('./make-link.ts').then(({ makeLink }) => makeLink(app)).catch(() => app.notify('The link could not be made.'));
}
