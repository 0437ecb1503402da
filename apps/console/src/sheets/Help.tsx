import type { JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import type { Command } from '../state/commands.ts';
import { Dialog } from './Dialog.tsx';
import { Key } from '../panes/Key.tsx';
import { takeTypedAhead } from './typed-ahead.ts';

const GROUPS: readonly Command['group'][] = ['Go to', 'Tabs', 'Query', 'Rows', 'Frame', 'Console'];

/** The keys that a grid takes itself. */
const GRID_KEYS: readonly Omit<Command, 'id' | 'run'>[] = [
  { key: 'Ctrl+Home', title: 'Go to the first row', group: 'Rows' },
  { key: 'Ctrl+End', title: 'Go to the last row', group: 'Rows' },
  { key: 'Ctrl+G', title: 'Go to a row or column', group: 'Rows' },
  { key: ' ', title: 'Show the whole cell', group: 'Rows' },
  { key: 'Ctrl+C', title: 'Copy the selected cells', group: 'Rows' },
  { key: 'Ctrl+Shift+C', title: 'Copy them with the names of the columns', group: 'Rows' },
  { key: 's', title: 'Sort by the column', group: 'Rows' },
  { key: 'f', title: 'Show the rows with the same value', group: 'Rows' },
  { key: 'Alt+Shift+ArrowRight', title: 'Make the column wider', group: 'Rows' },
];

/** All keys of what is on the page now, and those of rows. */
export function Help({ app }: { readonly app: AppState }): JSX.Element {
  useLayoutEffect(() => void takeTypedAhead(app), [app]);
  const commands = [...app.commands.all.value, ...GRID_KEYS].filter(({ key }) => key);
  return (
    <Dialog title="Keys" name="help" onClose={() => (app.sheet.value = undefined)}>
      <div class="groups">
        {GROUPS.map((group) => ({ group, found: commands.filter((command) => command.group === group) }))
          .filter(({ found }) => found.length > 0)
          .map(({ group, found }) => (
            <section key={group}>
              <h3>{group}</h3>
              <dl>
                {found.map(({ title, key }) => (
                  <div key={title}>
                    <dt>{key && <Key of={key} />}</dt>
                    <dd>{title}</dd>
                  </div>
                ))}
              </dl>
            </section>
          ))}
      </div>
      <p class="more">
        Keys without Ctrl or Alt work outside of text fields. The API of this server is described at{' '}
        <a href={app.api.url('docs')} target="_blank" rel="noreferrer">
          /docs
        </a>
        .
      </p>
    </Dialog>
  );
}
