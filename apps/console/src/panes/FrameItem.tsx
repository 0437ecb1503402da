import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ColumnInfo, ListedFrame } from '../api/api.ts';
import type { AppState } from '../state/app-state.ts';
import { formatBytes, formatCount, timeLeft } from '../state/format.ts';
import { quoteName } from '../state/quote-name.ts';
import { visibleText } from '../rows/row-source.ts';
import { Icon, IconButton } from '../widgets/Icon.tsx';
import { useNow } from '../widgets/hooks.ts';
import { hasLocalSql } from '../state/server-state.ts';

/** How many columns of a frame the list shows. */
const MAX_COLUMNS = 200;

/** A frame in the list: its name opens it, the arrow shows its columns. */
export function FrameItem(props: {
  readonly app: AppState;
  readonly frame: ListedFrame;
  readonly isCurrent: boolean;
}): JSX.Element {
  const { app, frame, isCurrent } = props;
  const isOpen = useSignal(false);
  const columnsId = `columns-${frame.handle}`;
  return (
    <li class={isCurrent ? 'frame current' : 'frame'}>
      <button
        type="button"
        class="quiet expand"
        aria-expanded={isOpen.value}
        aria-controls={columnsId}
        aria-label={`Columns of ${frame.handle}`}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <Icon name="chevron" />
      </button>
      <button
        type="button"
        class="open"
        aria-current={isCurrent ? 'true' : undefined}
        onClick={() => app.openFrame(frame.handle)}
      >
        <span class="name">{frame.handle}</span>
        <span class="rows">{frame.rows === null ? '?' : formatCount(frame.rows)}</span>
        <span class="details">
          {formatBytes(frame.bytes)} · {frame.tier}
        </span>
        <TimeLeft app={app} frame={frame} />
      </button>
      {hasLocalSql(app.info.value) && (
        <IconButton
          icon="code"
          look="query"
          label={`Query ${frame.handle}`}
          title={`Query ${frame.handle}`}
          onClick={() => app.openQuery(`select *\nfrom ${quoteName(frame.handle)}\nlimit 1000`, 'local')}
        />
      )}
      <div id={columnsId} hidden={!isOpen.value}>
        {isOpen.value && (frame.columns ? <ColumnList columns={frame.columns} /> : <p class="nothing">Not read yet</p>)}
      </div>
    </li>
  );
}

function TimeLeft({ app, frame }: { readonly app: AppState; readonly frame: ListedFrame }): JSX.Element | null {
  const left = timeLeft(frame.expires, useNow(frame.expires === null ? undefined : 1000) + app.clockAheadMs.value);
  return left === undefined ? null : (
    <span class="expires" title={`Expires in ${left}`}>
      <Icon name="clock" />
      {left.split(' ')[0]}
    </span>
  );
}

/** The names and types of columns. */
export function ColumnList({ columns }: { readonly columns: readonly ColumnInfo[] }): JSX.Element {
  return (
    <ul class="columns">
      {columns.slice(0, MAX_COLUMNS).map(({ name, type }) => (
        <li key={name}>
          <span class="name">{visibleText(name)}</span>
          <span class="type">{type}</span>
        </li>
      ))}
      {columns.length > MAX_COLUMNS && (
        <li class="nothing">{formatCount(columns.length - MAX_COLUMNS)} more columns</li>
      )}
    </ul>
  );
}
