import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ErrorBox } from '../panes/ErrorBox.tsx';
import { FrameReplaced } from '../rows/load-window.ts';
import type { Asking } from './asking.ts';

/** Shows nothing for statements that are faster. */
const SHOWN_AFTER_MS = 300;

/** The progress of the statements of a pane, with a button that cancels them, and how they failed. */
export function AskBar(props: {
  readonly asking: Asking;
  /** What is being done: `Reading the chart`. */
  readonly label: string;
  readonly retry: () => void;
}): JSX.Element | null {
  const { asking, label, retry } = props;
  const { isRunning, since, running, failure, isCancelled } = asking.state.value;
  const now = useClock(isRunning);
  if (failure instanceof FrameReplaced) {
    return (
      <div class="ask-bar">
        <output>{failure.message}</output>
      </div>
    );
  }
  if (failure) {
    return (
      <ErrorBox error={failure}>
        <button type="button" onClick={retry}>
          Try again
        </button>
      </ErrorBox>
    );
  }
  if (isCancelled) {
    return (
      <div class="ask-bar">
        <output>Cancelled.</output>
        <button type="button" onClick={retry}>
          Try again
        </button>
      </div>
    );
  }
  const elapsed = now - since;
  if (!isRunning || elapsed < SHOWN_AFTER_MS) return null;
  const progress = running?.progress;
  const place = running?.state === 'queued' ? `, ${running.queuePosition ?? 1} in line` : '';
  const percent = typeof progress === 'number' ? `, ${Math.floor(progress * 100)} %` : '';
  return (
    <div class="ask-bar">
      <progress aria-label={label} max={1} {...(typeof progress === 'number' && { value: progress })} />
      <span>
        {label}: {(elapsed / 1000).toFixed(1)} s{percent}
        {place}
      </span>
      <button type="button" onClick={() => asking.cancel()}>
        Cancel
      </button>
    </div>
  );
}

/** Returns the time, and shows the component again while it runs. */
function useClock(isOn: boolean): number {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    if (!isOn) return undefined;
    setNow(performance.now());
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, [isOn]);
  return now;
}
