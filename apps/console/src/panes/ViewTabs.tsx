import type { JSX } from 'preact';
import type { View } from '../state/tabs.ts';
import type { AppState } from '../state/app-state.ts';
import type { Tab } from '../state/tabs.ts';
import { useCommands } from './use-commands.ts';

/** A view that can be chosen. */
export interface ViewChoice {
  readonly view: View;
  readonly title: string;
}

/** The id of the element that shows the view of a tab: it has the role `tabpanel` and is labelled by `viewTabId`. */
export const viewPanelId = (tab: Tab): string => `panel-${tab.id}`;
export const viewTabId = (tab: Tab, view: View): string => `view-${tab.id}-${view}`;

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
