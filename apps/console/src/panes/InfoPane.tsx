import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { download } from '../api/download.ts';
import { dropFrame, setFrameTtl } from '@svc/client/internal';
import { type FrameInfo, toError } from '../api/api.ts';
import type { AppState } from '../state/app-state.ts';
import { formatBytes, formatCount, timeLeft } from '../state/format.ts';
import { formatTime } from './sheets.tsx';
import { LIFETIMES } from '../state/lifetimes.ts';
import { mayWrite } from '../state/server-state.ts';
import { CopyButton, ErrorBox } from '../widgets/ErrorBox.tsx';
import { visibleText } from '../rows/row-source.ts';
import { curlToken } from './EmptyServer.tsx';
import { Icon, Picture } from '../widgets/Icon.tsx';
import { useNow } from '../widgets/hooks.ts';

interface PaneProps {
  readonly app: AppState;
  readonly frame: FrameInfo;
}

/** The metadata of a frame, its columns, and what can be done with the whole of it. */
export function InfoPane({ app, frame }: PaneProps): JSX.Element {
  return (
    <div class="info-pane">
      <section>
        <h2>Frame</h2>
        <dl>
          <Fact name="Name">{frame.handle}</Fact>
          <Fact name="Rows">{formatCount(frame.rows)}</Fact>
          <Fact name="Columns">{formatCount(frame.columns.length)}</Fact>
          <Fact name="Size">
            {formatBytes(frame.bytes)} · in {frame.tier === 'memory' ? 'memory and on disk' : 'files on disk'}
          </Fact>
          <Fact name="Created">{formatTime(Date.parse(frame.created))}</Fact>
          <Fact name="Version">
            <code>{frame.version}</code>
            <CopyButton text={frame.version} label="Copy the version" />
          </Fact>
        </dl>
      </section>
      <Downloads app={app} frame={frame} />
      {mayWrite(app.info.value) && (
        <>
          <Expiry app={app} frame={frame} />
          <Drop app={app} frame={frame} />
        </>
      )}
      <section class="wide">
        <h2>Columns</h2>
        <table>
          <thead>
            <tr>
              <th scope="col">#</th>
              <th scope="col">Name</th>
              <th scope="col">Type</th>
            </tr>
          </thead>
          <tbody>
            {frame.columns.map(({ name, type }, index) => (
              <tr key={name}>
                <td>{index + 1}</td>
                <td>{visibleText(name)}</td>
                <td class="type">{type}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const FORMATS = ['csv', 'ndjson', 'arrow', 'parquet'] as const;

function Downloads({ app, frame }: PaneProps): JSX.Element {
  const error = useSignal<Error | undefined>(undefined);
  const info = app.info.value;
  const maxRows = info?.limits.maxRows ?? null;
  const isTooLong = maxRows !== null && frame.rows > maxRows;
  const formats = FORMATS.filter((format) => info?.formats.out.includes(format));
  const start = (format: string): void => {
    const fileName = `${frame.handle}.${format === 'arrow' ? 'arrows' : format}`;
    error.value = undefined;
    download(app.api, { path: 'exp', params: { handle: frame.handle, fmt: format }, fileName }).catch(
      (thrown: unknown) => {
        const isCancelled = thrown instanceof DOMException && thrown.name === 'AbortError';
        if (!isCancelled) error.value = toError(thrown);
      },
    );
  };
  const command = `curl${curlToken(app)} -o ${frame.handle}.csv '${app.api.url('exp', { handle: frame.handle, fmt: 'csv' })}'`;
  return (
    <section>
      <h2>Download</h2>
      <p class="buttons">
        {formats.map((format) => (
          <button key={format} type="button" disabled={isTooLong} onClick={() => start(format)}>
            <Icon name="download" /> {format}
          </button>
        ))}
      </p>
      {isTooLong && (
        <p>The server sends at most {formatCount(maxRows)} rows at a time: download parts of it by a query.</p>
      )}
      {error.value && <ErrorBox error={error.value} />}
      <p class="command">
        <code>{command}</code>
        <CopyButton text={command} label="Copy the command" />
      </p>
    </section>
  );
}

function Expiry({ app, frame }: PaneProps): JSX.Element {
  const { error, isRunning, change } = useChange(app);
  const left = timeLeft(frame.expires, useNow(frame.expires === null ? undefined : 1000) + app.clockAheadMs.value);
  return (
    <section>
      <h2>Expiry</h2>
      <p>
        {left === undefined
          ? 'It is kept until it is dropped.'
          : `It expires in ${left}, at ${formatTime(Date.parse(frame.expires ?? ''))}.`}
      </p>
      <p class="buttons">
        {LIFETIMES.map(({ title, ttl }) => (
          <button
            key={ttl}
            type="button"
            disabled={isRunning}
            onClick={() => change(() => setFrameTtl(app.api, frame.handle, ttl))}
          >
            {title}
          </button>
        ))}
        <button
          type="button"
          disabled={isRunning || frame.expires === null}
          onClick={() => change(() => setFrameTtl(app.api, frame.handle, null))}
        >
          Keep
        </button>
      </p>
      <p class="note">The time counts from now.</p>
      {error && <ErrorBox error={error} />}
    </section>
  );
}

const TRASH = 'M2.5 4h11M6 4V2.25h4V4M4 4l.6 9.75h6.8L12 4M6.75 6.75v4.5M9.25 6.75v4.5';

function Drop({ app, frame }: PaneProps): JSX.Element {
  const isSure = useSignal(false);
  const { error, isRunning, change } = useChange(app);
  const drop = async (): Promise<void> => {
    await dropFrame(app.api, frame.handle);
    app.notify(`${frame.handle} is dropped.`);
  };
  return (
    <section>
      <h2>Drop</h2>
      {isSure.value ? (
        <p class="buttons">
          <button type="button" class="danger" disabled={isRunning} onClick={() => change(drop)}>
            Drop {frame.handle} for good
          </button>
          <button type="button" onClick={() => (isSure.value = false)}>
            Cancel
          </button>
        </p>
      ) : (
        <p class="buttons">
          <button type="button" onClick={() => (isSure.value = true)}>
            <Picture path={TRASH} /> Drop…
          </button>
        </p>
      )}
      {error && <ErrorBox error={error} />}
    </section>
  );
}

interface Change {
  /** Why the last change failed. */
  readonly error: Error | undefined;
  /** True if one is on its way: a second one would be refused. */
  readonly isRunning: boolean;
  /** Makes a change and loads the list again. */
  readonly change: (change: () => Promise<unknown>) => void;
}

/** Makes changes of the frame, one at a time. */
function useChange(app: AppState): Change {
  const error = useSignal<Error | undefined>(undefined);
  const isRunning = useSignal(false);
  const run = async (change: () => Promise<unknown>): Promise<void> => {
    error.value = undefined;
    isRunning.value = true;
    try {
      await change();
      await app.refreshFrames();
    } catch (thrown) {
      error.value = toError(thrown);
    }
    isRunning.value = false;
  };
  return { error: error.value, isRunning: isRunning.value, change: (change) => void run(change) };
}
