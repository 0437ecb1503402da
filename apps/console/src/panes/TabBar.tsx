import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import { visibleLines } from '../rows/row-source.ts';
import { canQuery } from '../state/server-state.ts';
import type { Tab } from '../state/tabs.ts';
import { Icon, IconButton } from '../widgets/Icon.tsx';

/** The open tabs. It is a list of buttons and not a `tablist`, because each has a second button to close it. */
export function TabBar({ app }: { readonly app: AppState }): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  const currentId = app.currentTab.value?.id;
  useEffect(() => {
    list.current?.querySelector('.current')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [currentId]);
  return (
    <nav class="tab-bar" aria-label="Tabs">
      <ul ref={list}>
        {app.tabs.value.map((tab) => (
          <TabItem key={tab.id} app={app} tab={tab} isCurrent={tab.id === currentId} />
        ))}
      </ul>
      {canQuery(app.info.value) && (
        <IconButton icon="plus" label="New query" title="New query (Alt T)" onClick={() => app.openQuery('')} />
      )}
      {currentId !== undefined && (
        <IconButton
          icon="link"
          look="link"
          label="Copy a link to this tab"
          title="Copy a link to this tab (Alt L)"
          onClick={() => copyLink(app)}
        />
      )}
    </nav>
  );
}

function TabItem(props: { readonly app: AppState; readonly tab: Tab; readonly isCurrent: boolean }): JSX.Element {
  const { app, tab, isCurrent } = props;
  const title = tab.kind === 'frame' ? tab.handle : tab.title;
  const isBusy = app.busyTabs.value.has(tab.id);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Delete') app.closeTab(tab.id);
  };
  return (
    <li class={isCurrent ? 'tab current' : 'tab'}>
      <button
        type="button"
        class="title"
        aria-current={isCurrent ? 'page' : undefined}
        title={tab.kind === 'query' ? visibleLines(tab.sql.slice(0, 500)) || 'Empty query' : `Frame ${tab.handle}`}
        onClick={() => app.selectTab(tab.id)}
        onAuxClick={(event) => event.button === 1 && app.closeTab(tab.id)}
        onKeyDown={onKeyDown}
      >
        {isBusy ? (
          <span class="spinner" role="img" aria-label="Running" />
        ) : (
          <Icon name={tab.kind === 'frame' ? 'table' : 'code'} />
        )}
        <span class="text">{title}</span>
      </button>
      <button
        type="button"
        class="quiet close"
        aria-label={`Close ${title}`}
        title={isCurrent ? 'Close (Alt W)' : 'Close'}
        tabIndex={isCurrent ? 0 : -1}
        onClick={() => app.closeTab(tab.id)}
      >
        <Icon name="close" />
      </button>
    </li>
  );
}

/** Copies a link to the current tab. The first rows do not wait for its code. */
export function copyLink(app: AppState): void {
  import('./share-link.ts')
    .then(({ makeLink }) => makeLink(app))
    .catch(() => app.notify('The link could not be made.'));
}
