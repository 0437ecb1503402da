import type { JSX } from 'preact';
import type { EngineName } from '../api/types.ts';
import type { AppState } from '../state/app-state.ts';
import type { QueryTab } from '../state/tabs.ts';

const ENGINES: readonly { readonly name: EngineName; readonly about: string; readonly setting: string }[] = [
  { name: 'local', about: 'SQL over the frames of this server', setting: 'this server has no SQL engine' },
  { name: 'tsdb', about: 'SQL of the time-series database', setting: 'set SERVICE_TSDB_HTTP_URL' },
  { name: 'scheduler', about: 'SQL over the frames, on a cluster', setting: 'set SERVICE_SCHEDULER_URL' },
];

/** Where the SQL of a tab runs. An engine that the server does not have is shown with the setting that it needs. */
export function EngineSwitch({ app, tab }: { readonly app: AppState; readonly tab: QueryTab }): JSX.Element {
  const engines = app.info.value?.engines ?? [tab.engine];
  return (
    <select
      class="engine-switch"
      aria-label="Engine"
      title={ENGINES.find(({ name }) => name === tab.engine)?.about}
      value={tab.engine}
      onChange={({ currentTarget }) => {
        const chosen = ENGINES.find(({ name }) => name === currentTarget.value);
        if (chosen) app.updateTab(tab.id, { engine: chosen.name });
      }}
    >
      {ENGINES.map(({ name, setting }) => (
        <option key={name} value={name} disabled={!engines.includes(name)}>
          {engines.includes(name) ? name : `${name} (${setting})`}
        </option>
      ))}
    </select>
  );
}
