import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { type Api, type ColumnInfo, toError } from '../api/api.ts';
import type { AppState } from '../state/app-state.ts';
import { formatCount } from '../state/format.ts';
import { visibleText } from '../rows/row-source.ts';
import { quotedText, quoteName } from '../state/quote-name.ts';
import { ColumnList } from './FrameItem.tsx';
import { Icon, IconButton } from '../widgets/Icon.tsx';
import { askTable } from '../api/statements.ts';

/** The tables of the time-series database behind the server, if there is one. */
export function TsdbTables({ app, filter }: { readonly app: AppState; readonly filter: string }): JSX.Element | null {
  const tables = useSignal<readonly string[]>([]);
  const failure = useSignal<Error | undefined>(undefined);
  const hasTsdb = app.info.value?.engines.includes('tsdb') === true;
  const load = (signal?: AbortSignal): void => {
    readTsdbTables(app.api, signal).then(
      (names) => {
        tables.value = names;
        failure.value = undefined;
      },
      (error: unknown) => {
        if (!signal?.aborted) failure.value = toError(error);
      },
    );
  };
  useEffect(() => {
    if (!hasTsdb) return undefined;
    const abort = new AbortController();
    load(abort.signal);
    return () => abort.abort();
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- it is another function at each render
  }, [hasTsdb, app.connection.value]);
  if (!hasTsdb) return null;
  const found = tables.value.filter((name) => name.toLowerCase().includes(filter.trim().toLowerCase()));
  return (
    <section aria-labelledby="tsdb-title">
      <h2 id="tsdb-title">
        TSDB
        <span class="count">{formatCount(found.length)}</span>
        <IconButton icon="refresh" label="Load the tables again" title="Load again" onClick={() => load()} />
      </h2>
      {failure.value && <p class="nothing">{failure.value.message}</p>}
      <ul>
        {found.map((name) => (
          <TableItem key={name} app={app} name={name} />
        ))}
      </ul>
    </section>
  );
}

function TableItem({ app, name }: { readonly app: AppState; readonly name: string }): JSX.Element {
  const isOpen = useSignal(false);
  const columns = useSignal<readonly ColumnInfo[]>([]);
  const toggle = (): void => {
    isOpen.value = !isOpen.value;
    if (!isOpen.value) return;
    readTsdbColumns(app.api, name).then(
      (found) => (columns.value = found),
      (error: unknown) => app.notify(toError(error).message),
    );
  };
  return (
    <li class="frame">
      <button
        type="button"
        class="quiet expand"
        aria-expanded={isOpen.value}
        aria-label={`Columns of ${visibleText(name)}`}
        onClick={toggle}
      >
        <Icon name="chevron" />
      </button>
      <button
        type="button"
        class="open"
        onClick={() => app.openQuery(`select *\nfrom ${quoteName(name)}\nlimit 1000`, 'tsdb')}
      >
        <span class="name">{visibleText(name)}</span>
      </button>
      {isOpen.value && <ColumnList columns={columns.value} />}
    </li>
  );
}

const MAX_TABLES = 1000;
const MAX_COLUMNS = 1000;

/** Returns the names of the tables of the time-series database, sorted. */
export async function readTsdbTables(api: Api, signal?: AbortSignal): Promise<readonly string[]> {
  const sql = `select table_name from tables() order by table_name limit ${MAX_TABLES}`;
  const { rows } = await askTable(api, sql, { engine: 'tsdb', signal });
  return rows.map(([name]) => String(name));
}

/** Returns the columns of a table of the time-series database. */
export async function readTsdbColumns(api: Api, table: string, signal?: AbortSignal): Promise<readonly ColumnInfo[]> {
  const sql = `select "column", type from table_columns(${quotedText(table)}) limit ${MAX_COLUMNS}`;
  const { rows } = await askTable(api, sql, { engine: 'tsdb', signal });
  return rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
}
