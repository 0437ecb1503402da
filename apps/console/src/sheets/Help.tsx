import type { JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import type { Command } from '../state/commands.ts';
import { Dialog } from './Dialog.tsx';
import { Key } from '../panes/Key.tsx';
import { takeTypedAhead } from './typed-ahead.ts';

const GROUPS: readonly Command['group'][] = ['Go to', 'Tabs', 'Query', 'Rows', 'Frame', 'Console'];

/** All keys of what is on the page now. */
export function Help({ app }: { readonly app: AppState }): JSX.Element {
  useLayoutEffect(() => void takeTypedAhead(app), [app]);
  const commands = app.commands.all.value.filter(({ key }) => key);
  return (
    <Dialog title="Keys" name="help" onClose={() => (app.sheet.value = undefined)}>
      <div class="groups">
        {GROUPS.map((group) => ({ group, found: commands.filter((command) => command.group === group) }))
          .filter(({ found }) => found.length > 0)
          .map(({ group, found }) => (
            <section key={group}>
              <h3>{group}</h3>
              <dl>
                {found.map(({ id, title, key }) => (
                  <div key={id}>
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
