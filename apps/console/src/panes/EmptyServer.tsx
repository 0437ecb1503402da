import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { describeFrame, keepRequest } from '@svc/client/internal';
import type { AppState } from '../state/app-state.ts';
import { canQuery, hasLocalSql, mayWrite } from '../state/server-state.ts';
import type { FrameTab } from '../state/tabs.ts';
import { CopyButton, ErrorBox } from '../widgets/ErrorBox.tsx';
import { Icon } from '../widgets/Icon.tsx';
import { Key } from '../widgets/Key.tsx';
import { toError } from '../api/api.ts';

/** What is shown without a tab: what can be done next. */
export function EmptyServer({ app }: { readonly app: AppState }): JSX.Element {
  if (!app.hasFrames.value) {
    return <div class="empty">{app.connection.value === 'loading' && <p role="status">Connecting…</p>}</div>;
  }
  return app.frames.value.length === 0 ? <FirstFrame app={app} /> : <NoTab app={app} />;
}

/** An empty server: three ways to the first frame. */
function FirstFrame({ app }: { readonly app: AppState }): JSX.Element {
  if (!mayWrite(app.info.value)) {
    return (
      <div class="empty">
        <h2>No frames yet.</h2>
        <p>Your token may read frames but not put any.</p>
      </div>
    );
  }
  const command = `curl${curlToken(app)} -T trades.csv ${app.api.url('frames/trades')}`;
  return (
    <div class="empty">
      <h2>No frames yet.</h2>
      <p>A frame is a table with a name. Put one here, then look at it, query it, plot it.</p>
      <button type="button" class="big-drop" onClick={() => (app.sheet.value = 'upload')}>
        <Icon name="upload" />
        <strong>Drop files here, or choose them</strong>
        <small>{app.info.value?.formats.in.join(', ')}</small>
      </button>
      <p>From a terminal:</p>
      <p class="command">
        <code>{command}</code>
        <CopyButton text={command} label="Copy the command" />
      </p>
      {hasLocalSql(app.info.value) && <SampleButton app={app} />}
    </div>
  );
}

function SampleButton({ app }: { readonly app: AppState }): JSX.Element {
  const isBusy = useSignal(false);
  const error = useSignal<Error | undefined>(undefined);
  const make = async (): Promise<void> => {
    isBusy.value = true;
    error.value = undefined;
    try {
      await app.api.send(keepRequest(SAMPLE_SQL, { engine: 'local', handle: SAMPLE_HANDLE }));
      await app.refreshFrames();
      app.openFrame(SAMPLE_HANDLE);
    } catch (thrown) {
      error.value = toError(thrown);
    }
    isBusy.value = false;
  };
  return (
    <>
      <p>
        Or try it:{' '}
        <button type="button" disabled={isBusy.value} onClick={() => void make()}>
          {isBusy.value ? 'Making sample data…' : 'Make sample data'}
        </button>
      </p>
      {error.value && <ErrorBox error={error.value} />}
    </>
  );
}

function NoTab({ app }: { readonly app: AppState }): JSX.Element {
  return (
    <div class="empty">
      <h2>Choose a frame</h2>
      <p>
        Choose one from the list, or type a name after <Key of="Ctrl+K" />.
      </p>
      {canQuery(app.info.value) ? (
        <button type="button" class="primary" onClick={() => app.openQuery('')}>
          <Icon name="code" /> New query
        </button>
      ) : (
        <NoEngine />
      )}
    </div>
  );
}

/** Why there is no editor. */
function NoEngine(): JSX.Element {
  return <p>This server has no SQL engine: its frames can be read, uploaded and downloaded.</p>;
}

/** The tab of a query at a server without an SQL engine: a link may have opened it. */
export function NoEditor(): JSX.Element {
  return (
    <div class="empty">
      <NoEngine />
    </div>
  );
}

/** A dropped, expired or unknown frame, or one the server has not read yet. */
export function MissingFrame({ app, tab }: { readonly app: AppState; readonly tab: FrameTab }): JSX.Element {
  if (!app.hasFrames.value) return <div class="empty" aria-busy="true" />;
  const unread = app.frames.value.find(({ handle }) => handle === tab.handle);
  if (unread !== undefined) return <UnreadFrame key={unread.version} app={app} handle={unread.handle} />;
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

/** Lets the server read the file of a frame listed without columns; then the list has them. */
function UnreadFrame({ app, handle }: { readonly app: AppState; readonly handle: string }): JSX.Element {
  const error = useSignal<Error | undefined>(undefined);
  useEffect(() => {
    describeFrame(app.api, handle)
      .then(() => app.refreshFrames())
      .catch((thrown: unknown) => (error.value = toError(thrown)));
  }, [app, handle, error]);
  return error.value ? <ErrorBox error={error.value} /> : <div class="empty" aria-busy="true" />;
}

/** The handle of the sample data. */
export const SAMPLE_HANDLE = 'ticks';

/** A million made-up trades of a day: a time, texts, numbers, and some nulls. */
export const SAMPLE_SQL = `select
  i as id,
  timestamp '2026-01-05 00:00:00' + to_microseconds(i * 86400) as ts,
  ['Amsterdam', 'Frankfurt', 'London', 'Zurich'][cast(hash(i) % 4 as integer) + 1] as venue,
  round(100 + 6 * sin(i / 130000) + 2 * sin(i / 31000) + 0.7 * sin(i / 4100) + 0.3 * sin(i / 777)
    + (hash(i * 7) % 1000) / 2500, 2) as price,
  round(0.01 + (hash(i * 13) % 10000) * (hash(i * 17) % 10000) / 8000000, 3) as size,
  case when hash(i * 3) % 2 = 0 then 'buy' else 'sell' end as side,
  case when hash(i * 5) % 50 > 0 then cast(hash(i * 11) % 9000 + 1000 as integer) end as trader
from range(1, 1000001) as numbers(i)`;

/** The option of curl with the token, if the server wants one; the token itself is never shown. */
export function curlToken(app: AppState): string {
  return app.info.value?.authentication.isRequired ? ' -H "Authorization: Bearer $SVC_TOKEN"' : '';
}
