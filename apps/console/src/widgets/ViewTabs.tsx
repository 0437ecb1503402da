import { useCommands } from './hooks.ts';
import type { ComponentChildren, JSX } from 'preact';
import type { Tab, View } from '../state/tabs.ts';
import type { AppState } from '../state/app-state.ts';

/** A view of a tab. */
export interface ViewChoice {
  readonly view: View;
  readonly title: string;
}

const viewPanelId = (tab: Tab): string => `panel-${tab.id}`;
const viewTabId = (tab: Tab, view: View): string => `view-${tab.id}-${view}`;

/** The views of a tab; Alt and a digit choose one, the arrows move between them. */
export function ViewTabs(props: {
  readonly app: AppState;
  readonly tab: Tab;
  readonly views: readonly ViewChoice[];
}): JSX.Element {
  const { app, tab, views } = props;
  useCommands(
    app,
    views.map(({ view, title }, index) => ({
      id: `view.${view}`,
      title: `Show ${title.toLowerCase()}`,
      group: 'Go to',
      key: `Alt+${index + 1}`,
      run: () => app.setView(tab.id, view),
    })),
    [tab.id],
  );
  const step = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const at = views.findIndex(({ view }) => view === tab.view);
    const next = views.at((at + by) % views.length);
    if (next === undefined) return;
    event.preventDefault();
    app.setView(tab.id, next.view);
    document.getElementById(viewTabId(tab, next.view))?.focus();
  };
  return (
    <div class="view-tabs" role="tablist" aria-label="View">
      {views.map(({ view, title }) => (
        <button
          key={view}
          type="button"
          role="tab"
          id={viewTabId(tab, view)}
          aria-selected={view === tab.view}
          aria-controls={viewPanelId(tab)}
          tabIndex={view === tab.view ? 0 : -1}
          onClick={() => app.setView(tab.id, view)}
          onKeyDown={step}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

/** The place of the chosen view. */
export function ViewPanel(props: {
  readonly tab: Tab;
  readonly look?: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { tab, look = '', children } = props;
  return (
    <div
      class={`view-panel ${look}`}
      role="tabpanel"
      id={viewPanelId(tab)}
      aria-labelledby={viewTabId(tab, tab.view)}
      data-area="view"
      tabIndex={-1}
    >
      {children}
    </div>
  );
}
