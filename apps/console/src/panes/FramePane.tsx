import type { ComponentChildren, JSX } from 'preact';
import type { FrameInfo } from '../api/types.ts';
import type { AppState } from '../state/app-state.ts';
import { countOf, formatBytes } from '../state/format.ts';
import type { FrameTab } from '../state/tabs.ts';
import { Icon } from './Icon.tsx';
import { lazy } from './lazy.tsx';
import { viewPanelId, ViewTabs, viewTabId, type ViewChoice } from './ViewTabs.tsx';

const InfoPane = lazy<{ app: AppState; frame: FrameInfo }>(async () => (await import('./InfoPane.tsx')).InfoPane);

const VIEWS: readonly ViewChoice[] = [{ view: 'info', title: 'Info' }];

/** The tab of a frame. */
export function FramePane({ app, tab }: { readonly app: AppState; readonly tab: FrameTab }): JSX.Element {
  const frame = app.frames.value.find(({ handle }) => handle === tab.handle);
  if (frame === undefined) return <MissingFrame app={app} tab={tab} />;
  return (
    <section class="frame-pane" aria-label={`Frame ${tab.handle}`}>
      <div class="view-bar">
        <ViewTabs app={app} tab={tab} views={VIEWS} />
        <span class="facts">
          {countOf(frame.rows, 'row')} × {countOf(frame.columns.length, 'column')} · {formatBytes(frame.bytes)}
        </span>
      </div>
      <ViewPanel tab={tab}>
        <InfoPane app={app} frame={frame} />
      </ViewPanel>
    </section>
  );
}

function ViewPanel({ tab, children }: { readonly tab: FrameTab; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div
      class="view-panel"
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

/** A frame that was dropped or has expired, or one of a link that this server does not have. */
function MissingFrame({ app, tab }: { readonly app: AppState; readonly tab: FrameTab }): JSX.Element {
  if (!app.hasFrames.value) return <div class="empty" aria-busy="true" />;
  return (
    <div class="empty">
      <h2>
        <Icon name="warning" /> There is no frame {tab.handle}.
      </h2>
      <p>It was dropped, it has expired, or this server never had it. If it comes back, it is shown here.</p>
      <button type="button" onClick={() => app.closeTab(tab.id)}>
        Close the tab
      </button>
    </div>
  );
}
