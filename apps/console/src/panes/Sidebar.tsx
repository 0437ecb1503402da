import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ListedFrame } from '../api/api.ts';
import type { AppState } from '../state/app-state.ts';
import { filterFrames, mayWrite } from '../state/server-state.ts';
import { formatCount } from '../state/format.ts';
import { ErrorBox } from '../widgets/ErrorBox.tsx';
import { FrameItem } from './FrameItem.tsx';
import { Icon } from '../widgets/Icon.tsx';
import { Key } from '../widgets/Key.tsx';
import { lazy } from '../widgets/lazy.tsx';

const TsdbTables = lazy<{ app: AppState; filter: string }>(async () => (await import('./TsdbTables.tsx')).TsdbTables);

/** How many frames the list shows; the filter finds the others. */
const MAX_SHOWN = 500;

/** The catalogue: every frame with its size, time left and columns. On narrow screens it is a drawer. */
export function Sidebar({ app, onClose }: { readonly app: AppState; readonly onClose: () => void }): JSX.Element {
  const filter = useSignal('');
  const all = app.frames.value;
  const found = filterFrames(all, filter.value);
  const openFirst = (event: KeyboardEvent): void => {
    const [first] = found;
    if (event.key === 'Enter' && first) app.openFrame(first.handle);
    if (event.key === 'Escape' && filter.value !== '') {
      filter.value = '';
      event.stopPropagation();
    }
  };
  return (
    <>
      <button type="button" class="drawer-shade" aria-label="Close the list" tabIndex={-1} onClick={onClose} />
      <aside class="side" id="side" aria-label="Frames">
        <div class="filter">
          <Icon name="search" />
          <input
            type="search"
            placeholder="Filter frames"
            aria-label="Filter frames by their names or columns"
            autocomplete="off"
            spellcheck={false}
            value={filter.value}
            onInput={(event) => (filter.value = event.currentTarget.value)}
            onKeyDown={openFirst}
          />
          <Key of="/" />
        </div>
        <div class="lists">
          <FrameList app={app} found={found} isFiltered={filter.value !== ''} />
          {app.info.value?.engines.includes('tsdb') && <TsdbTables app={app} filter={filter.value} />}
        </div>
        {mayWrite(app.info.value) && (
          <button type="button" class="upload-button" onClick={() => (app.sheet.value = 'upload')}>
            <Icon name="upload" />
            <span>Upload, or drop files here</span>
          </button>
        )}
      </aside>
    </>
  );
}

function FrameList(props: {
  readonly app: AppState;
  readonly found: readonly ListedFrame[];
  readonly isFiltered: boolean;
}): JSX.Element {
  const { app, found, isFiltered } = props;
  const count = app.frames.value.length;
  const currentTab = app.currentTab.value;
  const failure = app.framesFailure.value;
  return (
    <section aria-labelledby="frames-title">
      <h2 id="frames-title">
        Frames
        {app.hasFrames.value && (
          <span class="count">
            {isFiltered ? `${formatCount(found.length)} of ${formatCount(count)}` : formatCount(count)}
          </span>
        )}
      </h2>
      {failure && <ErrorBox error={failure} />}
      {!app.hasFrames.value && !failure && app.connection.value === 'loading' && <Skeleton />}
      {app.hasFrames.value && found.length === 0 && (
        <p class="nothing">{isFiltered ? 'No frame has this in its name or columns.' : 'No frames yet.'}</p>
      )}
      <ul>
        {found.slice(0, MAX_SHOWN).map((frame) => (
          <FrameItem
            key={frame.handle}
            app={app}
            frame={frame}
            isCurrent={currentTab?.kind === 'frame' && currentTab.handle === frame.handle}
          />
        ))}
      </ul>
      {found.length > MAX_SHOWN && (
        <p class="nothing">{formatCount(found.length - MAX_SHOWN)} more: filter to find them.</p>
      )}
    </section>
  );
}

/** What the list looks like before it has come. */
function Skeleton(): JSX.Element {
  return (
    <div class="skeleton" role="status" aria-label="Loading the frames">
      <span />
      <span />
      <span />
    </div>
  );
}
